"""What _compiled.pyx has for other modules."""

include "_gradient.pxd"
include "_sequential.pxd"
include "_ordered.pxd"
include "_blockwise.pxd"
