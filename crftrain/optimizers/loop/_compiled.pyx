"""The loop over units, and what it does with one: the files of this folder as one module (setup.py says why)."""

include "_gradient.pyx"
include "_sequential.pyx"
include "_ordered.pyx"
include "_blockwise.pyx"
