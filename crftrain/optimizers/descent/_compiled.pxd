"""What _compiled.pyx has for other modules."""

include "_transform.pxd"
include "_sleeping.pxd"
