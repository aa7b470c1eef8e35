"""CoNLL-U: a token a line in ten columns with tabs between, comments before, an empty line after each sentence.

Fields are called as there, in any size: id form lemma upos xpos feats head deprel deps misc; feats.Number and misc.NER are single
values of FEATS and MISC. Words of several tokens (1-2) and empty nodes (1.1) are no tokens, and stay where they are.
"""

from .forms import Record, Runs, joined, wrong

NAMES = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
FIELDS = ("form", "upos")


def fields(form):
    """[(column, key of a value in it or None)] of the form's fields."""
    return [_field(name) for name in form.fields or FIELDS]


def _field(name):
    column, _, key = name.partition(".")
    if column.lower() not in NAMES or (key and column.lower() not in ("feats", "misc")):
        raise ValueError(f"a field {name!r}, expected {' '.join(NAMES)}, feats.KEY or misc.KEY")
    return NAMES.index(column.lower()), key.encode() or None


class Reader(Runs):
    def __init__(self, form):
        super().__init__(form)
        self.fields = fields(form)
        self.plain = all(key is None for _, key in self.fields) and [column for column, _ in self.fields]

    def record(self, lines, numbers, source):
        rows, where, is_token = [], [], []
        for line, number in zip(lines, numbers, strict=True):
            row = line.split(b"\t")
            is_token.append(row[0].isdigit())
            if is_token[-1]:
                if len(row) != 10:
                    raise wrong(source, number, f"{len(row)} columns with tabs between", "the 10 of CoNLL-U")
                rows.append([row[column] for column in self.plain] if self.plain else [_value(row[at], key) for at, key in self.fields])
                where.append(number)
            elif not line.startswith(b"#") and not row[0].replace(b"-", b"").replace(b".", b"").isdigit():
                raise wrong(source, number, f"a line that begins with {line[:20].decode(errors='replace')!r}", "a token, 1-2, 1.1 or #")
        return Record(joined(rows), source, where, (lines, is_token))


def _value(text, key):
    if key is None:
        return text
    return next((item[len(key) + 1 :] for item in text.split(b"|") if item.startswith(key + b"=")), b"_")


def _set(text, key, value):
    """FEATS or MISC with one value changed, taken away where it is _, in its place or at the end."""
    items = [] if text == b"_" else text.split(b"|")
    at = next((i for i, item in enumerate(items) if item.startswith(key + b"=")), len(items))
    items[at : at + 1] = [] if value == b"_" else [key + b"=" + value]
    return b"|".join(items) or b"_"


def written(form, record, labels):
    column, key = fields(form)[-1]
    lines, is_token = record.raw
    labels, out = iter(labels), []
    for line, token in zip(lines, is_token, strict=True):
        if token:
            row = line.split(b"\t")
            label = next(labels).replace(b"\xc2\xa0", b" ")
            row[column] = label if key is None else _set(row[column], key, label)
            line = b"\t".join(row)
        out.append(line)
    return b"\n".join(out) + b"\n\n"
