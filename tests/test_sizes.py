"""How long a file and a function of the package may be (CONTRIBUTING.md)."""

import re
from pathlib import Path

import crftrain

PACKAGE = Path(crftrain.__file__).parent
FILE, FUNCTION, OPTIMIZER = 400, 45, 220
LONGER = {"compat/sklearn_crfsuite/_estimator.py: __init__"}  # the other library's own parameters, a line each
# In optimizers/; one idea each, which two files would tear.
OPTIMIZERS = {
    "average/_sampling.pyx",  # the four samplings
    "batch/_trust.py",  # a step and what it keeps for the next
    "loop/_sequential.pyx",  # the loop of all methods
    "weights/_lazy.pyx",  # a store with its checkpoint
    "weights/_rated.pyx",  # another
}
START = re.compile(r"( *)(?:async )?(?:def|cdef|cpdef)\b(?! *(?:class|struct|enum|extern|union))[^=]*?(\w+)\(")
C_START = re.compile(r"(?:static|INLINE|const|void|int|double)\b.*?(?:FN\()?(\w+)\)?\(")


def sources(*suffixes):
    """(path as written here, lines) of what is written by hand."""
    for path in sorted(PACKAGE.rglob("*")):
        if path.suffix in suffixes or path.name == "_simd.c":
            yield path.relative_to(PACKAGE).as_posix(), path.read_text(encoding="utf-8").splitlines()


def functions(lines):
    """(name, number of lines) of Python and Cython: from its first line to the last one that is indented more."""
    for start, line in enumerate(lines):
        found = START.match(line)
        if found:
            head = next(k for k in range(start, len(lines)) if lines[k].partition("  #")[0].rstrip().endswith((":", "nogil", ")", "*")))
            rest = (k for k in range(head + 1, len(lines)) if lines[k].strip() and not lines[k].startswith(found[1] + " "))
            end = next(rest, len(lines))
            yield found[2], len("\n".join(lines[start:end]).rstrip().split("\n"))


def functions_of_c(lines):
    start = name = None
    for number, line in enumerate(lines):
        found = C_START.match(line)
        if found and not line.endswith((";", "}")):
            start, name = number, found[1]
        if line == "}" and name:
            yield name, number + 1 - start
            name = None


def test_no_file_is_too_long():
    files = {path: len(lines) for path, lines in sources(".py", ".pyx", ".pxd", ".pxi", ".h")}
    assert {path for path, length in files.items() if length > FILE} == set()
    long = {path.removeprefix("optimizers/") for path, length in files.items() if path.startswith("optimizers/") and length > OPTIMIZER}
    assert long <= OPTIMIZERS


def test_no_function_is_too_long():
    found = [(path, *one) for path, lines in sources(".py", ".pyx", ".pxi") for one in functions(lines)]
    found += [(path, *one) for path, lines in sources(".h") for one in functions_of_c(lines)]
    assert len(found) > 1500
    assert {f"{path}: {name}" for path, name, length in found if length > FUNCTION} == LONGER
