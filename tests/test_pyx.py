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


def code_of(source):
    """Without docstrings and comments."""
    return re.sub(r'""".*?"""|#[^\n]*', "", source.read_text(encoding="utf-8"), flags=re.S)


def names_of(code):
    """What the top level of a source defines."""
    functions = re.findall(r"^(?:def|class|cdef [^=\n]*?|cpdef [^=\n]*?)\s*(\w+)\s*[(:]", code, re.M)
    values = re.findall(r"^((?:cdef \w+ )?[A-Za-z_]\w*(?:, [A-Za-z_]\w*)*) =", code, re.M)
    return {*functions, *(name.split(" ")[-1] for some in values for name in some.split(", "))} - {"enum", "extern"}


def test_files_that_are_one_module_define_no_name_twice():
    units = sorted(PACKAGE.rglob("_compiled.pyx"))
    assert units
    for unit in units:
        seen = {}
        for included in re.findall(r'^include "(.+)"', unit.read_text(encoding="utf-8"), re.M):
            for name in names_of(code_of(unit.parent / included)):
                assert name not in seen, f"{name} stands in {seen[name]} and {included} of {unit.parent.name}"
                seen[name] = included


def test_nobody_imports_a_file_that_is_part_of_a_module():
    for unit in sorted(PACKAGE.rglob("_compiled.pyx")):
        parts = "|".join(name.removesuffix(".pyx") for name in re.findall(r'^include "(.+)"', unit.read_text(encoding="utf-8"), re.M))
        family = re.compile(rf"(?:from|import) \S*\b{unit.parent.name}\.({parts})\b")
        beside = re.compile(rf"^\s*from \.({parts}) c?import", re.M)
        for source in (*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pyx"), *PACKAGE.rglob("*.pxd")):
            text = source.read_text(encoding="utf-8")
            assert not family.search(text), source
            assert source.parent != unit.parent or not beside.search(text), source
