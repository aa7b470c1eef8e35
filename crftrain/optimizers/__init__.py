"""The algorithms: one file each in the folder of its family, whose name is the value of -a (batch/newton_cg.py <-> -a newton-cg)."""

from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.resources import files

FAMILIES = ("average", "descent", "dual", "margin", "batch", "choice")


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
