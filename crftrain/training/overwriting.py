"""Outputs that are inputs, by whatever name or link they are reached: found before anything is opened."""

import os
import stat

OUTPUTS = ("model", "log", "report", "checkpoint", "folds_out")  # settings of learn and update that name what is written


def overwritten(outputs, inputs, *, allowed, named):
    """A sentence for each (name, path) that would be written over another one; what (output, input) may be one file is allowed."""
    for k, (name, path) in enumerate(outputs):
        for other, read in inputs:
            if (name, other) not in allowed and _same_file(path, read):
                yield f"{named(name)} {os.fspath(path)} would overwrite {os.fspath(read)}, which is {named(other)}"
        for other, written in outputs[:k]:
            if _same_file(path, written) or _same_place(path, written):
                yield f"{named(name)} and {named(other)} are both {os.fspath(path)}"


def identity(path):
    """What is the same for all paths that lead to one file, through links or not; None where there is no such file."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _same_file(path, other):
    found = identity(path)
    return found is not None and found == identity(other)


def _same_place(path, other):
    """Whether two paths lead to where no file is yet."""
    return os.fspath(path) != "-" and not os.path.exists(path) and os.path.realpath(path) == os.path.realpath(other)
