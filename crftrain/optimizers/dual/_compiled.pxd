"""What _compiled.pyx has for other modules."""

include "_dual.pxd"
include "_lifted.pxd"
