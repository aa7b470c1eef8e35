"""CoNLL-U: a token a line in ten columns with tabs between, comments before, an empty line after each sentence.

Fields are called as there, in any size: id form lemma upos xpos feats head deprel deps misc; feats.Number and misc.NER are single
values of FEATS and MISC. Words of several tokens (1-2) and empty nodes (1.1) are no tokens, and stay where they are.
"""

from functools import lru_cache

from ..errors import DataError
from ._formats import Fields, tokens
from .forms import Form, Record, Runs, wrong

NAMES = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
FIELDS = ("form", "upos")
PROBABILITY = Fields([(NAMES.index("misc"), b"Probability")])


def fields(form):
    """[(column, key of a value in it or None)] of the form's fields."""
    return [_field(name) for name in form.fields or FIELDS]


def _field(name):
    column, _, key = name.partition(".")
    if column.lower() not in NAMES or (key and column.lower() not in ("feats", "misc")):
        raise ValueError(f"a field {name!r}, expected {' '.join(NAMES)}, feats.KEY or misc.KEY")
    return NAMES.index(column.lower()), key.encode() or None


@lru_cache
def compiled(form):
    """The form's fields as what cuts lines."""
    return Fields(fields(form))


class Tree(Record):
    """A sentence and all its lines."""

    __slots__ = ()

    @property
    def numbers(self):
        at = tokens(self.raw)
        return [self.number - at[0] + i for i in at]


class Reader(Runs):
    def __init__(self, form):
        super().__init__(form)
        self.fields = compiled(form)

    def record(self, lines, number, source):
        rows, first, odd = self.fields.rows(lines)
        if odd >= 0:
            raise wrong(source, number + odd, *_fault(lines.split(b"\n")[odd]))
        return Tree(rows, source, number + max(first, 0), lines)


def _fault(line):
    cells = line.split(b"\t")
    if cells[0].isdigit():
        return f"{len(cells)} columns with tabs between", "the 10 of CoNLL-U"
    return f"a line that begins with {line[:20].decode(errors='replace')!r}", "a token, 1-2, 1.1 or #"


def target(names):
    """The Form of what is made of columns with those names; ValueError where it cannot be."""
    found = [_field(name) for name in names]
    if (0, None) in found or len(set(found)) < len(found):
        raise ValueError("tokens are numbered by themselves, and a field can be written once")
    return Form("conllu", tuple(names))


def made(form, rows, place):
    """A sentence of rows of cells, one for each field of the form; _ stands elsewhere. place(i) is where the i-th row was read."""
    wanted = fields(form)
    odd = next((i for i, row in enumerate(rows) if len(row) != len(wanted)), None)
    if odd is not None:
        names = " ".join(form.fields or FIELDS)
        raise DataError(place(odd), f"{len(rows[odd])} columns", f"{len(wanted)}: {names} (--fields names others)")
    text = b"".join(b"%d%b\n" % (i, (len(NAMES) - 1) * b"\t_") for i in range(1, len(rows) + 1)) + b"\n"
    for field, values in zip(wanted, zip(*rows, strict=True), strict=True):
        text = Fields([field]).written(text[:-2], values)
    return text


def written(form, record, labels, sure=None):
    """A label's probability is a value of MISC, a sentence's a comment."""
    text = compiled(form).written(record.raw, labels)
    if sure is not None and sure.labels is not None:
        text = PROBABILITY.written(text[:-2], [b"%.6f" % p for p in sure.labels])
    return text if sure is None or sure.whole is None else b"# probability = %.6g\n" % sure.whole + text
