"""Steps of stochastic gradient descent and what is like it: the files of this folder as one module (setup.py says why)."""

include "_transform.pyx"
include "_ngd.pyx"
include "_psa.pyx"
include "_sleeping.pyx"
include "_adagrad.pyx"
include "_smd.pyx"
