"""How much of a file training has not seen: tokens, and the attributes that the template makes of them."""

import numpy as np

from ...text.encode import CorpusBuilder, Encoder, StringTable, Vocabulary
from .findings import Finding, counted

AT_ONCE = 1000  # sentences whose numbers are kept


def check_unknown(data):
    train, word = data.train, data.table.word
    here, others = train.counts(word) > 0, [part for part in data.parts[1:] if part.n_tokens]
    for part in others:
        unknown = part.n_tokens - int(part.counts(word)[here].sum())
        share = unknown / part.n_tokens
        yield Finding(
            "unknown-tokens",
            "note",
            unknown,
            f"{counted(unknown, 'token')} of {part.name} ({share:.1%}) whose column {word} is not in {train.name}",
        )
    if others and any(True for _ in _whole(train)):
        vocabulary = _learnt(data)
        for part in others:
            unknown, total = _unknown(vocabulary, part)
            message = f"{unknown:,} of {total:,} attributes of {part.name} ({unknown / max(total, 1):.1%}) not in {train.name}"
            yield Finding("unknown-attributes", "note", unknown, message)


def _learnt(data):
    """The vocabulary of the training data."""
    vocabulary = Vocabulary([], StringTable(), StringTable(), data.template, data.format, 0, 0)
    learner = CorpusBuilder(vocabulary, label_column=data.label_option if data.items else data.table.label)
    for k, sentence in enumerate(_whole(data.train)):
        learner.add(sentence)
        if (k + 1) % AT_ONCE == 0:
            learner.take()  # the names alone are wanted
    learner.take()
    return vocabulary


def _unknown(vocabulary, part):
    """(attributes that the vocabulary has not, all), counted by occurrence."""
    encoder, known, total, waiting = Encoder(vocabulary, gold="yes"), 0, 0, []
    lines = 0 if vocabulary.template is None else len(vocabulary.template.unigrams)
    for sentence in _whole(part):
        waiting.append(sentence)
        if len(waiting) == AT_ONCE:
            known += len(encoder.encode(waiting).nodes.attr)
            waiting = []
        total += lines * len(sentence.lines) or sum(line.count(b"\t") for line in sentence.lines)
    known += len(encoder.encode(waiting).nodes.attr)
    return total - known, total


def _whole(part):
    """The sentences without a line of another number of columns."""
    broken = part.table.widths[part.line] != part.table.n_columns
    for i in np.flatnonzero(np.add.reduceat(broken, part.seq[:-1]) == 0).tolist():
        yield part.sentence(i)
