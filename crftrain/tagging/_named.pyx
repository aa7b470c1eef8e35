"""Numbers of labels -> lists of their names: done under Python's lock for each token, so that threads wait for it."""


def named(list names, const int32_t[::1] labels, list sizes):
    """A list of names for each run of so many labels."""
    cdef Py_ssize_t t, first, end = 0, size
    cdef list runs = []
    if sum(sizes) != labels.shape[0] or min(sizes, default=0) < 0:
        raise ValueError(f"runs of {sum(sizes)} labels, expected {labels.shape[0]}")
    for size in sizes:
        first, end = end, end + size
        runs.append([names[labels[t]] for t in range(first, end)])
    return runs
