"""Feature templates: how a token's columns, and its neighbours', become attributes.

    U05:%x[-1,0]/%x[0,0]        the line's text is the attribute, each macro replaced by what it finds: U05:in/the

1) The first letter says what the attribute is tied to: `U` to the token's label, `B` to its label and the one before, `*` to
   both (small letters too). A `B` or `*` line without macros asks for the plain transitions.
2) A macro is % letter [row, column, argument]. The row counts from the token, or with @ from the ends of the sentence; outside
   of it every macro gives CRF++'s text: `_B-1` for the place before the first token, `_B+1` for the one after the last.
3) A letter other than x names a function of the cell, a capital the same with the result in lower case: MACROS is the list.

A line is compiled to pieces: bytes that stay, and Macro. Functions take a cell and return its text, so that whoever expands can work
each out once for each distinct cell. CRF++'s templates mean here what they mean there, and Wapiti's with a line `#dialect wapiti`
among them (dialect.py), but for its `%x[*col,..]`.
"""

import os
import re
from dataclasses import dataclass, field
from functools import lru_cache

from ..errors import TemplateError
from ._regex import Regex
from .dialect import DIALECTS, Dialect

BUILTIN = os.path.join(os.path.dirname(__file__), "templates")


@dataclass(frozen=True)
class Macro:
    """One reference to a cell."""

    row: int  # from the token; absolute: from 0, or from -1 at the end
    absolute: bool
    column: int
    function: object  # a Function, the same object for the same one; None: the cell itself


@dataclass(frozen=True, eq=False)
class Function:
    """A macro's function of a cell: str -> str."""

    letter: str  # of the macro; small: the result is as it comes, capital: in lower case
    argument: int | str | None
    call: object

    def __call__(self, cell):
        return self.call(cell)


@dataclass(frozen=True)
class Line:
    """A compiled template line."""

    pieces: tuple  # of bytes and Macro
    number: int  # in the template, from 1


@dataclass(frozen=True)
class Template:
    """A parsed template; text is the source as it was given."""

    text: str
    name: str
    unigrams: tuple = field(compare=False)  # Lines whose attributes go with a label
    bigrams: tuple = field(compare=False)  # Lines with macros whose attributes go with a label pair
    plain_transitions: bool = field(compare=False)
    why: str = field(default="", compare=False)  # it was chosen, where nobody named one
    dialect: Dialect = field(default=DIALECTS["crftrain"], compare=False)

    @classmethod
    def parse(cls, text, name):
        """The Template, or a TemplateError with the place of the first line that means nothing."""
        lines = text.removeprefix("\ufeff").split("\n")
        dialect = _declared(lines, name) or DIALECTS["crftrain"]
        unigrams, bigrams, plain, functions = [], [], 0, {}
        for number, source in enumerate(map(dialect.line, lines), 1):
            if not source:
                continue
            place, kind = f"{name}:{number}", source[0].upper()
            if source[0] not in dialect.kinds:
                wanted = "U, B or" if dialect.kinds == "UB" else "U, B, * or"
                raise TemplateError(place, f"a line that begins with {source[0]!r}", f"{wanted} a comment with #")
            line = Line(_pieces(source, place, functions, dialect), number)
            macros = any(isinstance(piece, Macro) for piece in line.pieces)
            if kind in "U*":
                unigrams.append(line)
            if kind in "B*" and macros:
                bigrams.append(line)
            elif kind in "B*" and plain:
                raise TemplateError(place, "a second line that asks for plain transitions", f"one, as on line {plain}")
            elif kind in "B*":
                plain = number
        if not unigrams and not bigrams and not plain:
            raise TemplateError(name, "an empty template", "lines such as U00:%x[0,0]")
        return cls(text, name, tuple(unigrams), tuple(bigrams), plain > 0, dialect=dialect)

    def __reduce__(self):
        return Template.parse, (self.text, self.name)

    @property
    def sources(self):
        """(number, text) of the lines that mean something, as they stand there."""
        lines = enumerate(map(self.dialect.line, self.text.removeprefix("\ufeff").split("\n")), 1)
        return [(number, line) for number, line in lines if line]

    @property
    def macros(self):
        """(line, macro) for every macro."""
        lines = {line.number: line for line in (*self.unigrams, *self.bigrams)}  # a * line is in both
        return [(line, piece) for line in lines.values() for piece in line.pieces if isinstance(piece, Macro)]

    @property
    def columns(self):
        """The largest column used, plus 1."""
        return max((macro.column + 1 for _, macro in self.macros), default=0)

    def place(self, line):
        return f"{self.name}:{line.number}"

    def check(self, n_columns, label_column):
        """A TemplateError if a macro names the label, or a column that the data have not."""
        for line, macro in self.macros:
            if macro.column >= n_columns:
                raise TemplateError(self.place(line), f"column {macro.column}", f"0 to {n_columns - 1} as the data have")
            if macro.column == label_column:
                raise TemplateError(self.place(line), f"column {macro.column}, which is the label", "a column that is not")


def builtin_names():
    return sorted(name[:-4] for name in os.listdir(BUILTIN) if name.endswith(".txt"))


@lru_cache
def builtin(name):
    """The built-in template of that name."""
    if name not in builtin_names():
        raise TemplateError(name, "no built-in template", "one of " + ", ".join(builtin_names()))
    with open(os.path.join(BUILTIN, f"{name}.txt"), encoding="utf-8") as file:
        return Template.parse(file.read(), name)


def load(name, dialect=None):
    """The built-in template of that name, or the template file at that path; in a dialect, if it does not name one itself."""
    if name in builtin_names():
        return _in_dialect(builtin(name).text, name, dialect) if dialect else builtin(name)
    try:
        with open(os.fspath(name), "rb") as file:
            data = file.read()
        return _in_dialect(data.decode("utf-8"), str(name), dialect)
    except UnicodeDecodeError as error:
        place = f"{name}:{data.count(10, 0, error.start) + 1}"
        raise TemplateError(place, f"byte 0x{data[error.start]:02x} is not utf-8", "a template in utf-8") from None
    except (OSError, ValueError) as error:
        known = "a template file or one of " + ", ".join(builtin_names())
        raise TemplateError(name, f"cannot be read: {getattr(error, 'strerror', None) or error}", known) from None


def _in_dialect(text, name, dialect):
    """The Template of a text, with a line at its end that says the dialect."""
    declared = _declared(text.split("\n"), name)
    if dialect is None or (declared and declared.name == dialect):
        return Template.parse(text, name)
    if declared:
        raise TemplateError(name, f"a template in the dialect {declared.name}", f"one in the dialect {dialect}, or none named")
    return Template.parse(text.rstrip("\n") + f"\n#dialect {dialect}\n", name)


def choice(template):
    """What to tell of a template that was chosen; nothing where it was named, or for items."""
    return f"template: {template.name}, chosen for {template.why} (-t chooses another)" if template is not None and template.why else ""


def _declared(lines, name):
    """The Dialect that a line `#dialect NAME` asks for, or None."""
    for number, line in enumerate(lines, 1):
        if match := re.match(r"#dialect[ \t]+(\S+)[ \t\r]*\Z", line):
            if match[1] not in DIALECTS:
                raise TemplateError(f"{name}:{number}", f"dialect {match[1]}", "one of " + ", ".join(DIALECTS))
            return DIALECTS[match[1]]
    return None


# ---- macros

HEAD = re.compile(r"\[ *(@?) *([+-]?[0-9]+) *, *([0-9]+) *")
NUMBER = re.compile(r", *([0-9]+) *")
REGEX = re.compile(r', *"((?:[^"\\]|\\.)*)" *')


def _prefix(n):
    return lambda cell: cell[:n]


def _suffix(n):
    return lambda cell: cell[-n:]


def _digits(_):
    return lambda cell: "".join("0" if c.isdecimal() else c for c in cell)


def _shape(n):
    """X for capitals, x for small letters, a for letters without case, 0 for digits, the rest as it is; runs cut to n if there is an n."""

    def shape(cell):
        text = "".join("X" if c.isupper() or c.istitle() else "x" if c.islower() else "a" if c.isalpha() else c for c in cell)
        text = "".join("0" if c.isdecimal() else c for c in text)
        return re.sub(rf"(?s)(.)\1{{{n},}}", lambda run: run[1] * n, text) if n else text

    return shape


def _test(source):
    regex = Regex(source)
    return lambda cell: "false" if regex.search(cell) is None else "true"


def _match(source):
    regex = Regex(source)
    return lambda cell: cell[slice(*(regex.search(cell) or (0, 0)))]


MACROS = {  # letter: what the argument is, whether it has to be there, argument -> function
    "x": (None, False, None),
    "l": (None, False, lambda _: str.lower),
    "d": (None, False, _digits),
    "p": (NUMBER, True, _prefix),
    "s": (NUMBER, True, _suffix),
    "w": (NUMBER, False, _shape),
    "t": (REGEX, True, _test),
    "m": (REGEX, True, _match),
}


def _pieces(source, place, functions, dialect):
    """The line's text cut at its macros; functions are shared by letter and argument."""
    pieces, at = [], 0
    while at < len(source):
        start = source.find("%", at)
        if start != at:
            pieces.append(source[at : start if start >= 0 else None].encode())
        if start < 0:
            break
        macro, at = _macro(source, start, place, functions, dialect)
        pieces.append(macro)
    return tuple(pieces)


def _macro(source, start, place, functions, dialect):
    """(Macro, where it ends) of the macro that starts there."""
    letter = source[start + 1 : start + 2]
    if letter.lower() not in MACROS:
        raise TemplateError(place, f"unknown macro {source[start : start + 2]!r}", "one of %" + " %".join(sorted(dialect.macros)))
    if letter.lower() not in dialect.macros or (letter.isupper() and not dialect.capitals):
        raise TemplateError(place, f"macro %{letter}", f"%{' %'.join(sorted(dialect.macros))}, as the dialect {dialect.name} has")
    kind, needed, make = MACROS[letter.lower()]
    head = HEAD.match(source, start + 2)
    if not head:
        raise TemplateError(place, f"{source[start : start + 24]!r}", f"%{letter}[row,column] with numbers")
    at, argument = head.end(), None
    if kind and (match := kind.match(source, at)):
        at, argument = match.end(), match[1]
    elif needed:
        wanted = '"a pattern"' if kind is REGEX else "a number"
        raise TemplateError(place, f"{source[start : start + 24]!r}", f"{wanted} as the third argument of %{letter}")
    if source[at : at + 1] != "]":
        raise TemplateError(place, f"{source[start : at + 1]!r}", f"] after %{letter}{source[start + 2 : at]}")
    row, column, absolute = _number(head[2], place), _number(head[3], place), head[1] == "@"
    if (absolute and not dialect.absolute) or (dialect.furthest is not None and abs(row) > dialect.furthest):
        wanted = f"rows from -{dialect.furthest} to {dialect.furthest}, as the dialect {dialect.name} has"
        raise TemplateError(place, f"row {head[1]}{row}", wanted)
    if absolute and row == 0:
        raise TemplateError(place, "row @0", "@1, the first token, or @-1, the last")
    if kind is NUMBER and argument is not None:
        argument = _number(argument, place)
        if argument == 0:
            raise TemplateError(place, f"0 as the third argument of %{letter}", "1 or more")
    function = _function(letter, argument, make, place, functions, dialect)
    return Macro(row - (absolute and row > 0), absolute, column, function), at + 1


def _number(text, place):
    digits = text.lstrip("+-0") or "0"
    if len(digits) > 9:
        raise TemplateError(place, f"the number {text[:24]}", "at most 999999999")
    return -int(digits) if text.startswith("-") else int(digits)


def _function(letter, argument, make, place, functions, dialect):
    key = (letter, argument)
    if key not in functions:
        make = {"t": dialect.test, "m": dialect.match}.get(letter.lower()) or make
        try:
            function = make(argument) if make else None
        except ValueError as error:
            raise TemplateError(place, f"pattern {argument!r}", str(error)) from None
        function = _lowered(function, dialect.lower) if letter.isupper() else function
        functions[key] = None if function is None else Function(letter, argument, function)
    return functions[key]


def _lowered(function, lower):
    """The result in lower case."""
    return lower if function is None else lambda cell: lower(function(cell))
