"""crftrain: linear-chain conditional random fields, trained and applied from the command line."""

import os

# Sums must not depend on how many threads a BLAS takes: same seed and same --threads give the same bits.
for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

__version__ = "0.1.0"
