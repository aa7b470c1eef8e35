"""A chain whose gold label pairs stand out."""

from libc.stdint cimport int32_t, int64_t

from ..._kernels cimport Lattice, Weights

cdef double lifted_oracle(Weights* W, const int32_t* y, int64_t T, double lift, Lattice* X, double* gold) noexcept nogil
