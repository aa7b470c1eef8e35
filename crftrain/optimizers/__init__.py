"""The algorithms: one file each in the folder of its family, whose name is the value of -a (batch/newton_cg.py <-> -a newton-cg)."""

from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.resources import files

FAMILIES = ("average", "descent", "dual", "margin", "batch")


@cache
def _families():
    """{name of an algorithm: its family}: the listing of the families' folders is the registry."""
    return {
        entry.name.removesuffix(".py").replace("_", "-"): family
        for family in FAMILIES
        for entry in files(__name__).joinpath(family).iterdir()
        if entry.name.endswith(".py") and not entry.name.startswith("_")
    }


def names():
    """The names of all algorithms, sorted."""
    return sorted(_families())


def get(name):
    """The declaration of one algorithm; KeyError if there is none of that name."""
    family = _families()[name]
    return replace(import_module(f"{__name__}.{family}.{name.replace('-', '_')}").ALGORITHM, name=name)


def refusal(algorithm, l2, l1):
    """Why an algorithm does not solve this objective; empty if it does."""
    if l1 and "l1" not in algorithm.solves:
        able = [name for name in names() if "l1" in get(name).solves]
        return f"{algorithm.name} cannot solve --l1" + (f"; these can: {', '.join(able)}" if able else "")
    if l2 and "l2" not in algorithm.solves:
        return f"{algorithm.name} has no penalty: it takes no --lambda above 0"
    if not l2 and "no-l2" not in algorithm.solves:
        return f"{algorithm.name} needs --lambda above 0"
    return ""
