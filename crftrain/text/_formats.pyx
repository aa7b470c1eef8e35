"""What reads bytes of formats: these files as one module (setup.py says why)."""

include "_utf8.pyx"
include "_conllu.pyx"
include "_jsonlines.pyx"
