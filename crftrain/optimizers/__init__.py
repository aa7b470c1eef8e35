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
