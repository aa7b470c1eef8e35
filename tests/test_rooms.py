"""Rooms: what each part of the package may import. Lower rooms know nothing of higher ones (ARCHITECTURE.md)."""

import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "crftrain"
ORDER = ("errors", "whole", "text", "_kernels", "chain", "optimizers", "model", "tagging", "metrics", "training", "cluster")
ORDER += ("api", "sklearn", "compat", "report", "cli")
OUTSIDE = {"", "__init__", "__main__"}  # the package itself and its version
BESIDES = {("_kernels", "text"), ("model", "optimizers")}  # lower in ORDER, and yet not to be imported
IMPORT = re.compile(r"^\s*from (\.+)([\w.]*) c?import ([^\n#]*)", re.M)


def rooms_imported(path):
    """The rooms whose parts a module imports, as written."""
    place = path.relative_to(PACKAGE).parent.parts
    for dots, module, names in IMPORT.findall(path.read_text(encoding="utf-8")):
        base = place[: len(place) - (len(dots) - 1)]
        parts = [*base, *(module.split(".") if module else [])]
        yield from [parts[0]] if parts else [name.strip().split(" ")[0] for name in names.strip("()").split(",")]


def modules():
    return [path for path in sorted(PACKAGE.rglob("*")) if path.suffix in (".py", ".pyx", ".pxd")]


def room_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(path.suffix)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_from_its_own_room_and_lower_ones_alone(path):
    room = room_of(path)
    if room in OUTSIDE:
        return
    for other in set(rooms_imported(path)) - {"__version__"}:
        assert other in ORDER, f"{path} imports {other}, which no room is called"
        assert ORDER.index(other) <= ORDER.index(room) and (room, other) not in BESIDES, f"{room} may not import {other}"


def test_every_room_has_its_place():
    assert {room_of(path) for path in modules()} - OUTSIDE <= set(ORDER)
