"""What follows from an objective's value and gradient."""


cdef class Measures:
    cdef public double l2, l1, passes
    cdef object first_gap       # at w = 0, once it was asked for
