"""How tagged sentences are written, other than as columns with the label appended: write(sentence, labels, sure) -> bytes.

labels are bytes, sure says how probable they are (query.Sure).
"""

import json

from ..errors import DataError
from ..text.forms import hinted
from ..text.read import columns
from ..text.schemes import converted as in_other_scheme
from ..text.schemes import parsed, spans
from ..text.sure import head, shown


def as_read(form):
    """As the sentence was read, with its label where the form has it; as columns if it has no form."""
    from .tag import joined

    def write(sentence, labels, sure):
        if form is not None:
            return form.written(sentence, labels, sure)
        return head(sure) + b"\n".join([*map(joined, sentence.lines, shown(labels, sure)), b"", b""])

    return write


def in_scheme(write, scheme):
    """The same with tags of a scheme."""

    def in_scheme(sentence, labels, sure):
        return write(sentence, _converted(labels, scheme), sure)

    return in_scheme


def labels(scheme):
    """The labels alone."""
    return lambda sentence, labels, sure: head(sure) + b"\n".join([*shown(_converted(labels, scheme), sure), b"", b""])


def _converted(labels, scheme):
    return [label.encode() for label in in_other_scheme([label.decode() for label in labels], scheme)]


def tokens(sentence):
    """The first column of each line."""
    return [columns(line)[0].decode().replace("\u00a0", " ") for line in sentence.lines]


def _object(words, labels):
    found = {"tokens": words, "labels": labels}
    if any(parsed(label)[0] != "O" for label in labels):
        found["spans"] = [
            {"type": kind, "start": first, "end": end, "text": " ".join(words[first:end])} for kind, first, end in spans(labels)
        ]
    return found


def as_json(sentence, labels, sure):
    """An object a line: tokens, labels, spans of tokens with their types, probabilities if they are there."""
    if not sentence.lines:
        return b""
    found = _object(tokens(sentence), [label.decode() for label in labels])
    for span in found.get("spans", ()):
        if sure.chunks and (span["start"], span["end"]) in sure.chunks:
            span["probability"] = float(f"{sure.chunks[span['start'], span['end']]:.6g}")
    if sure.gold is not None:
        found["gold"] = sure.gold
    if sure.labels is not None:
        found["probabilities"] = [round(value, 6) for value in sure.labels]
    if sure.every is not None:
        found["marginals"] = {label: [round(value, 6) for value in values] for label, values in sure.every.items()}
    if sure.whole is not None:
        found["probability"] = float(f"{sure.whole:.6g}")
    return json.dumps(found, ensure_ascii=False).encode() + b"\n"


def inline(sentence, labels, sure=None):
    """A sentence a line: <PER>Ada Lovelace</PER> wrote; chunks without a type are words, and their tokens stand together."""
    words, labels = tokens(sentence), [label.decode() for label in labels]
    out, at = [], 0
    for kind, first, end in spans(labels):
        out += words[at:first]
        out.append(f"<{kind.strip('<>')}>{' '.join(words[first:end])}</{kind.strip('<>')}>" if kind else "".join(words[first:end]))
        at = end
    return " ".join(out + words[at:]).encode() + b"\n" if words else b""


def converted(record, target, scheme, conllu=None):
    """A labelled record in another format; conllu: the Form of CoNLL-U if that is the target."""
    rows = [columns(line) for line in record.lines]
    if (odd := next((i for i, row in enumerate(rows) if len(row) < 2), None)) is not None:
        expectation = hinted("2 columns or more, the label last", record.lines[odd])
        raise DataError(record.place(odd), "a token without a label", expectation)
    labels = [row[-1] for row in rows]
    if scheme:
        labels = _converted(labels, scheme)
    if target == "inline":
        return inline(record, labels)
    if target == "conllu":
        if isinstance(record, conllu.module.Tree):
            return conllu.written(record, labels)
        return conllu.module.made(conllu, [[*row[:-1], label] for row, label in zip(rows, labels, strict=True)], record.place)
    if target == "jsonl":
        found = {"tokens": [_text(row[0]) for row in rows], "tags": [label.decode() for label in labels]}
        if len({len(row) for row in rows}) == 1:
            found |= {f"column{k}": [_text(row[k]) for row in rows] for k in range(1, len(rows[0]) - 1)}
        return json.dumps(found, ensure_ascii=False).encode() + b"\n"
    if target == "pipes":
        return b" ".join(b"|".join([*row[:-1], label]) for row, label in zip(rows, labels, strict=True)) + b"\n"
    separator = b" " if isinstance(record.raw, tuple) and record.raw[0] and b"\t" not in record.lines[0] else b"\t"
    return b"\n".join([*(separator.join([*row[:-1], label]) for row, label in zip(rows, labels, strict=True)), b"", b""])


def _text(cell):
    return cell.decode().replace("\u00a0", " ")
