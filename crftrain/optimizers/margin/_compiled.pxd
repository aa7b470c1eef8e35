"""What _compiled.pyx has for other modules."""

include "_margin.pxd"
