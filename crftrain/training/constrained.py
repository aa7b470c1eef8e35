"""Learning over legal labellings alone: what is legal is settled when the labels are known, and gold labels have to keep to it.

    legal = learn_legally(corpus, vocabulary, rules, places)     vocabulary.legal is set; a DataError names the first label that breaks it

on_illegal says what is done about sentences whose labels break the rules: "error"; "fix", the same chunks in the rules' scheme where
that is legal, else the legal labels that differ in the fewest places; "drop", they are left out.
"""

import warnings
from dataclasses import dataclass

import numpy as np

from ..errors import CrftrainWarning, DataError
from ..text.legal import END, START, Legal
from ..text.schemes import SCHEMES, converted


@dataclass(frozen=True)
class Odd:
    """What was found of labels that are not legal, in a corpus or in a part of one."""

    n: int  # sequences
    bad: int  # of them have such labels
    first: tuple | None = None  # (where, what) is the first of these labels
    kept: np.ndarray | None = None  # the sequences that are learnt from


def learn_legally(corpus, vocabulary, rules, place, on_illegal="error"):
    """(The corpus to learn from, the sequences of the given one that it has); vocabulary.legal is set.

    rules: scheme, forbid and allow, as Legal.of has them. place(i, k) says where token k of sequence i stands.
    """
    vocabulary.legal = Legal.of(vocabulary.labels, **rules, transitions=counted(corpus, len(vocabulary.labels)))
    corpus, odd = keep_legal(corpus, vocabulary.labels, vocabulary.legal, place, on_illegal)
    tell([odd], on_illegal)
    return corpus, odd.kept


def keep_legal(corpus, labels, legal, place, on_illegal):
    """(The corpus to learn from, the Odd of the given one); nothing is done about errors yet."""
    odd, everything = legal.broken(corpus.seq, corpus.label), np.arange(corpus.n_sequences)
    if not odd.any():
        return corpus, Odd(len(everything), 0, kept=everything)
    t = int(odd.argmax())
    i = int(np.searchsorted(corpus.seq, t, "right")) - 1
    first = place(i, t - int(corpus.seq[i])), _finding(corpus, labels, legal, i, t)
    bad, kept = np.unique(np.searchsorted(corpus.seq, np.flatnonzero(odd), "right") - 1), everything
    if on_illegal == "drop":
        kept = np.setdiff1d(everything, bad)
        corpus = corpus.take(kept)
    elif on_illegal == "fix":
        for i in bad.tolist():
            _fix(corpus.label[corpus.seq[i] : corpus.seq[i + 1]], labels, legal, place(i, 0))
    return corpus, Odd(len(everything), len(bad), first, kept)


def tell(parts, on_illegal):
    """What the Odd of all parts come to: an error, a warning, or nothing."""
    first = next((odd.first for odd in parts if odd.first), None)
    if first is None:
        return
    n, bad, (where, found) = sum(odd.n for odd in parts), sum(odd.bad for odd in parts), first
    if on_illegal == "error":
        raise DataError(where, found, "labels that are legal; --on-illegal fix or drop does something about those that are not")
    if on_illegal == "drop" and bad == n:
        raise DataError(where, f"{found}, and no sentence is legal", "rules that the data keep to")
    done = "left out" if on_illegal == "drop" else "given legal ones"
    told = f"{bad:,} of {n:,} sentences have labels that are not legal, and are {done}; the first: {where}: {found}"
    warnings.warn(told, CrftrainWarning, stacklevel=3)


def counted(corpus, n):
    """int64[n, n]: how often label j follows i."""
    inside = np.ones(len(corpus.label), bool)
    inside[corpus.seq[:-1]] = False
    counts = np.zeros((n, n), np.int64)
    np.add.at(counts, (corpus.label[:-1][inside[1:]], corpus.label[1:][inside[1:]]), 1)
    return counts


def _finding(corpus, labels, legal, i, t):
    """What is not legal about token t of sequence i."""
    first, last = int(corpus.seq[i]), int(corpus.seq[i + 1]) - 1
    label, before = int(corpus.label[t]), int(corpus.label[t - 1])
    if t == first and not legal.first[label]:
        return f"the pair {START} {labels[label]}, which is not legal"
    if t > first and not legal.pairs[before, label]:
        return f"the pair {labels[before]} {labels[label]}, which is not legal"
    return f"the pair {labels[int(corpus.label[last])]} {END}, which is not legal"


def _fix(labels, names, legal, where):
    """The label numbers of one sequence, changed in place."""
    number, scheme = {name: j for j, name in enumerate(names)}, legal.said.get("scheme")
    if scheme in SCHEMES:
        same = [number.get(name, -1) for name in converted([names[j] for j in labels.tolist()], scheme)]
        if min(same) >= 0 and legal.allows(same):
            labels[:] = same
            return
    nearest = legal.nearest(labels)
    if nearest is None:
        raise DataError(where, f"no labels for these {len(labels)} tokens are legal", "rules that the data can keep to")
    labels[:] = nearest
