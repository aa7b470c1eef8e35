"""Steps that remember the last gradient of each unit: the files of this folder as one module (setup.py says why)."""

include "_store.pyx"
include "_sampling.pyx"
include "_table.pyx"
include "_sag.pyx"
include "_saga.pyx"
include "_svrg.pyx"
include "_proximal.pyx"
