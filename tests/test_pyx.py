"""Laws of the compiled sources that no test run on one Python would notice."""

import re
from pathlib import Path

import crftrain

PACKAGE = Path(crftrain.__file__).parent
POINTERS = {"end"}  # of C, where [-1] is what stands before


def test_compiled_code_counts_from_the_front():
    """Modules are compiled without wraparound: x[-1] of a Python object fails from Python 3.14 on; of a view it reads astray."""
    for source in sorted([*PACKAGE.rglob("*.pyx"), *PACKAGE.rglob("*.pxi")]):
        code = re.sub(r'""".*?"""|#[^\n]*', "", source.read_text(encoding="utf-8"), flags=re.S)
        found = set(re.findall(r"(\w+)\[-\d+\]", code)) - POINTERS
        assert not found, f"{source}: {found}"
