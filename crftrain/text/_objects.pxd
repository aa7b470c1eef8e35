"""Sequences that are Python objects, for whoever goes on with their numbers."""

from libc.stdint cimport int64_t

from ._encode cimport Builder


cdef class Objects(Builder):
    cdef Py_ssize_t number, token       # the place that errors speak of; number -1: there is one sequence alone

    cdef object place(self, bint in_token)
    cdef int add_one(self, xseq, yseq, Py_ssize_t number) except -1
    cdef int go_back(self, int64_t tokens, int64_t nodes) except -1
    cdef int add_labels(self, yseq) except -1
    cdef int add_token(self, x) except -1
    cdef int add_item(self, x, Py_ssize_t prefix, Py_ssize_t length, int depth) except -1
    cdef int add_names(self, names) except -1
    cdef int add_named(self, name, value, Py_ssize_t prefix, Py_ssize_t length, int depth) except -1
    cdef double number_of(self, name, value) except? -1
    cdef Py_ssize_t start_name(self, name, Py_ssize_t prefix, Py_ssize_t length) except -1
    cdef int append(self, const char* p, Py_ssize_t n) except -1
    cdef int add_key(self, Py_ssize_t at, double value) except -1
