"""What _compiled.pyx has for other modules."""

include "_store.pxd"
include "_sampling.pxd"
include "_table.pxd"
include "_sag.pxd"
