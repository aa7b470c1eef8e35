"""What _tangent asks of it, for one sequence."""

from libc.stdint cimport int64_t

from .._kernels cimport Lattice, Tokens, Weights


cdef bint other_way(const Weights* W, const Weights* V, bint ad, const Tokens* s, int64_t i, double scale, Lattice* X,
                    Lattice* dX) noexcept nogil
