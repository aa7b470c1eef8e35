"""The algorithms: one file each, whose name is the value of -a (newton_cg.py <-> -a newton-cg)."""

from dataclasses import replace
from importlib import import_module
from importlib.resources import files

_NOT_ALGORITHMS = {"base"}


def names():
    """The names of all algorithms, sorted: the directory listing is the registry."""
    stems = (entry.name.removesuffix(".py") for entry in files(__name__).iterdir() if entry.name.endswith(".py"))
    return sorted(stem.replace("_", "-") for stem in stems if not stem.startswith("_") and stem not in _NOT_ALGORITHMS)


def get(name):
    """The declaration of one algorithm; KeyError if there is none of that name."""
    if name not in names():
        raise KeyError(name)
    return replace(import_module(f"{__name__}.{name.replace('-', '_')}").ALGORITHM, name=name)
