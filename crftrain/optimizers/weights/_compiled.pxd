"""What _compiled.pyx has for other modules."""

include "_lazy.pxd"
include "_descent.pxd"
include "_penalised.pxd"
include "_prox.pxd"
include "_rated.pxd"
include "_soft.pxd"
