"""Loops over vectors as long as the weights: the files of this folder as one module (setup.py says why)."""

include "_long.pyx"
include "_orthant.pyx"
include "_scaling.pyx"
