"""Steps after mistakes: the files of this folder as one module (setup.py says why)."""

include "_margin.pyx"
include "_rules.pyx"
