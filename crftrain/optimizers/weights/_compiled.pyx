"""Stores of weights that are brought up to date when they are looked at: the files of this folder as one module (setup.py says why)."""

include "_lazy.pyx"
include "_descent.pyx"
include "_penalised.pyx"
include "_prox.pyx"
include "_rated.pyx"
include "_soft.pyx"
