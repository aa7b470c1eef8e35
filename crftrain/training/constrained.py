"""Learning over legal labellings alone: what is legal is settled when the labels are known, and gold labels have to keep to it.

    legal = learn_legally(corpus, vocabulary, rules, places)     vocabulary.legal is set; a DataError names the first label that breaks it

on_illegal says what is done about sentences whose labels break the rules: "error"; "fix", the same chunks in the rules' scheme where
that is legal, else the legal labels that differ in the fewest places; "drop", they are left out.
"""

import warnings

import numpy as np

from ..errors import CrftrainWarning, DataError
from ..text.legal import END, START, Legal
from ..text.schemes import SCHEMES, converted


def learn_legally(corpus, vocabulary, rules, place, on_illegal="error"):
    """(The corpus to learn from, the sequences of the given one that it has); vocabulary.legal is set.

    rules: scheme, forbid and allow, as Legal.of has them. place(i, k) says where token k of sequence i stands.
    """
    vocabulary.legal = legal = Legal.of(vocabulary.labels, **rules, transitions=_counted(corpus, len(vocabulary.labels)))
    odd = legal.broken(corpus.seq, corpus.label)
    everything = np.arange(corpus.n_sequences)
    if not odd.any():
        return corpus, everything
    t = int(odd.argmax())
    i = int(np.searchsorted(corpus.seq, t, "right")) - 1
    where, found = place(i, t - int(corpus.seq[i])), _finding(corpus, vocabulary.labels, legal, i, t)
    if on_illegal == "error":
        raise DataError(where, found, "labels that are legal; --on-illegal fix or drop does something about those that are not")
    bad = np.unique(np.searchsorted(corpus.seq, np.flatnonzero(odd), "right") - 1)
    keep = everything
    if on_illegal == "drop":
        keep = np.setdiff1d(everything, bad)
        if not len(keep):
            raise DataError(where, f"{found}, and no sentence is legal", "rules that the data keep to")
        corpus = corpus.take(keep)
    else:
        for i in bad.tolist():
            _fix(corpus.label[corpus.seq[i] : corpus.seq[i + 1]], vocabulary.labels, legal, place(i, 0))
    done = "left out" if on_illegal == "drop" else "given legal ones"
    told = f"{len(bad):,} of {len(everything):,} sentences have labels that are not legal, and are {done}; the first: {where}: {found}"
    warnings.warn(told, CrftrainWarning, stacklevel=2)
    return corpus, keep


def _counted(corpus, n):
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
