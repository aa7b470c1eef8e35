"""The weights of sparse blocks, one by one as sequences meet them."""

from libc.stdint cimport int64_t

from .._kernels cimport Tokens

cdef list set_listed(Tokens* s, layout, int64_t first, int64_t last)
