"""What collects sequences as numbers, whatever their format."""

from libc.stdint cimport int32_t, int64_t, uint32_t

from ._strings cimport Growing, StringTable as Table


cdef struct Key:                    # an attribute of the token at hand
    int64_t at                      # its text: base + at
    int64_t length
    double value
    uint32_t hash


cdef class Builder:
    cdef Table labels, nodes, pairs
    cdef bint learn                 # new names get numbers; else they are dropped
    cdef bint valued                # a value other than 1 was seen
    cdef int64_t n_tokens, n_nodes, n_pairs
    cdef Growing seq, label, node_ptr, node_attr, node_value, pair_ptr, pair_attr
    cdef Growing buffer             # the sentence's lines
    cdef Growing keys               # Key of the attributes of one token

    cdef int start(self) except -1
    cdef int add_label(self, const char* name, int64_t length) except -1
    cdef int add_attributes(self, Table table, const char* base, Key* keys, Py_ssize_t n, Growing out) except -1
    cdef int start_values(self) except -1
    cdef int end_token(self) except -1
    cdef int end_sequence(self) except -1
