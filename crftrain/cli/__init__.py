"""The commands. Whoever imports them is a program of its own, which decides for the process."""

import os

# Sums must not depend on how many threads a BLAS takes: same seed and same --threads give the same bits.
for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
