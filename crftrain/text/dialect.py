"""Template dialects: the same lines mean slightly different things to CRF++ and to Wapiti. A line `#dialect NAME` chooses one.

    crftrain   outside of the sentence every macro gives _B-1, _B+2 and so on, and letters are Unicode's
    crfpp      the same, blanks at the ends of a line are part of it, and what CRF++ has not is an error: macros but %x, @, rows
               beyond 8, lines with *
    wapiti     outside stands the cell _x-1 .. _x-4, _x-#, or _x+1 .. _x+4, _x+#, to which macros are applied as to any other;
               patterns and capitals look at bytes, whose letters are ASCII's; lines begin with u, b or *; a # begins a comment
               wherever it stands

Models are exported to other programs right to the last border if they were learnt in the program's own dialect.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ._regex import Regex

LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


@dataclass(frozen=True)
class Dialect:
    """What a template's lines may hold and mean."""

    name: str
    kinds: str = "UuBb*"  # what lines may begin with
    macros: str = "xldpswtm"  # capitals go with them
    capitals: bool = True
    absolute: bool = True  # @ before a row
    furthest: int | None = None  # row
    lower: Callable = str.lower
    test: Callable | None = None  # a pattern -> the function of %t, where it is not that of the template's MACROS
    match: Callable | None = None  # the same for %m
    trimmed: bool = True  # white space at the ends of a line counts for nothing
    borders: tuple | None = None  # the cells before the sentence and after it, by distance; the last stands for all beyond

    def line(self, source):
        """A line as it counts: without what the dialect takes for a comment."""
        if not self.trimmed:
            return "" if source.startswith("#") else source
        source = source.strip(" \t\r")
        if self.borders and source:  # Wapiti
            source = source.partition("#")[0].rstrip()
            source = source[:1].lower() + source[1:]
        return "" if source.startswith("#") else source


def _bytes(cell):
    """The bytes of a cell as characters below 256, and back again (_text)."""
    return cell.encode("utf-8", "surrogateescape").decode("latin-1")


def _text(characters):
    return characters.encode("latin-1").decode("utf-8", "surrogateescape")


def _test(source):
    regex = Regex(_bytes(source), True)
    return lambda cell: "false" if regex.search(_bytes(cell)) is None else "true"


def _match(source):
    regex = Regex(_bytes(source), True)

    def match(cell):
        cell = _bytes(cell)
        return _text(cell[slice(*(regex.search(cell) or (0, 0)))])

    return match


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect("crftrain"),
        Dialect("crfpp", kinds="UB", macros="x", capitals=False, absolute=False, furthest=8, trimmed=False),
        Dialect(
            "wapiti",
            macros="xtm",
            lower=lambda cell: cell.translate(LOWER),
            test=_test,
            match=_match,
            borders=tuple(tuple(f"_x{sign}{k}" for k in (1, 2, 3, 4, "#")) for sign in "-+"),
        ),
    )
}
