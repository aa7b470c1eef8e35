"""Ascent in the dual: the files of this folder as one module (setup.py says why)."""

include "_dual.pyx"
include "_lifted.pyx"
include "_oeg.pyx"
include "_sdca.pyx"
