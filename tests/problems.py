"""Seeded generators of small corpora, layouts and weights; KINDS has one of each kind that the kernels tell apart."""

from dataclasses import dataclass, replace

import numpy as np

from crftrain.chain._problem import Problem
from crftrain.chain._sequences import Sequences
from crftrain.chain.layout import Layout, arrange, number
from crftrain.tagging._decoder import Decoder
from crftrain.tagging.query import Query
from crftrain.text.encode import Corpus, Observations, StringTable, Vocabulary
from crftrain.text.template import Template

PLAIN, PAIRS, BOTH, NONE = "U:%x[0,0]\nB\n", "U:%x[0,0]\nB:%x[0,0]\n", "U:%x[0,0]\nB:%x[0,0]\nB\n", "U:%x[0,0]\n"


@dataclass(frozen=True)
class Instance:
    """A corpus and the weights it has."""

    corpus: Corpus
    vocabulary: Vocabulary
    layout: Layout

    def problem(self, **options):
        return Problem(self.corpus, self.layout, **options)

    def decode(self, w, **wanted):
        """(labels, log p of the best paths or None, marginals or None)"""
        decoded = self.decoded(w, **wanted)
        return decoded.labels, decoded.log_p, decoded.marginals

    def decoded(self, w, legal=None, **wanted):
        """The answer to Query(**wanted)."""
        return Decoder(self.layout, w, legal).decode(Sequences(self.corpus, self.layout), Query(**wanted))

    def weights(self, seed=0, scale=1.0):
        return np.random.default_rng(seed).normal(0, scale, self.layout.n_features)


def vocabulary(n_labels, n_attributes, n_pair_attributes=0, template=PLAIN):
    """Names for so many labels and attributes."""
    nodes, pairs = ([b"%s%d" % (kind, k) for k in range(n)] for kind, n in ((b"U", n_attributes), (b"B", n_pair_attributes)))
    tables = StringTable.from_names(nodes), StringTable.from_names(pairs)
    return Vocabulary([f"Y{j}" for j in range(n_labels)], *tables, Template.parse(template, "generated"), "conll", 2, 1)


def corpus(rng, *, sequences=5, length=(1, 4), labels=3, attributes=8, per_token=(1, 3), values=False, pair_attributes=0, noise=0.3):
    """Random sequences whose labels follow their first attribute but for some noise, so that there is something to learn."""
    lengths = rng.integers(length[0], length[1] + 1, sequences)
    seq = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    nodes = _observations(rng, rng.integers(per_token[0], per_token[1] + 1, seq[-1]), attributes, values)
    leading = np.append(nodes.attr, rng.integers(0, attributes))[nodes.ptr[:-1]]
    label = np.where(rng.random(seq[-1]) < noise, rng.integers(0, labels, seq[-1]), leading % labels).astype(np.int32)
    pairs = None
    if pair_attributes:
        count = rng.integers(1, 3, seq[-1])
        count[seq[:-1]] = 0  # the first token of a sequence has no label pair
        pairs = _observations(rng, count, pair_attributes, False)
    return Corpus(seq, label, nodes, pairs, labels)


def _observations(rng, count, attributes, values):
    """Occurrences without repetition within a token; values of both signs if asked for."""
    attr = [rng.choice(attributes, min(k, attributes), replace=False) for k in count]
    ptr = np.concatenate([[0], np.cumsum([len(own) for own in attr])]).astype(np.int64)
    attr = np.concatenate([*attr, np.empty(0)]).astype(np.int32)
    return Observations(ptr, attr, rng.normal(0, 1.5, len(attr)) if values else None)


def instance(seed=0, *, features="observed", transitions="full", template=PLAIN, dense=True, lattice="auto", **shape):
    """A corpus, its vocabulary and its layout; dense: the attributes seen with many labels come first, as in training."""
    rng = np.random.default_rng(seed)
    made = corpus(rng, **shape)
    names = vocabulary(made.n_labels, shape.get("attributes", 8), shape.get("pair_attributes", 0), template)
    rows = number(made, names) if dense and features == "observed" else 0
    layout = arrange(made, names, features=features, transitions=transitions, dense=rows)
    return Instance(made, names, replace(layout, lattice=lattice))


KINDS = {
    "plain": {},
    "no attribute is dense": {"dense": False},
    "full": {"features": "full"},
    "observed transitions": {"transitions": "observed"},
    "arcs": {"transitions": "observed", "lattice": "arcs"},
    "arcs between all labels": {"lattice": "arcs", "features": "full"},
    "no transitions": {"template": NONE},
    "real values": {"values": True},
    "real values, full": {"values": True, "features": "full"},
    "pair attributes": {"template": BOTH, "pair_attributes": 4},
    "pair attributes, full": {"template": BOTH, "pair_attributes": 4, "features": "full", "transitions": "observed"},
    "pair attributes alone": {"template": PAIRS, "pair_attributes": 4, "values": True},
    "one label": {"labels": 1},
    "sequences of length 1": {"length": (1, 1)},
    "tokens without attributes": {"per_token": (0, 2)},
    "no attributes at all": {"per_token": (0, 0), "length": (2, 4)},
    "eight labels": {"labels": 8, "length": (1, 3), "features": "full"},
    "nine labels": {"labels": 9, "length": (1, 3)},
    "many labels": {"labels": 26, "length": (1, 2), "attributes": 12, "sequences": 4},
    "many labels, full": {"labels": 26, "length": (1, 2), "attributes": 3, "features": "full"},
}


def kind(name, seed=0):
    return instance(seed, **KINDS[name])


def larger(seed=0, **changes):
    """Enough sequences for training to mean something."""
    return instance(seed, **{"sequences": 80, "length": (2, 12), "labels": 4, "attributes": 60, "per_token": (2, 6), **changes})


def lattice(psi, e, label=None):
    """(Instance, w) of one sequence with just these scores: psi[T][L], and e[L][L] for all positions or e[T][L][L].

    One attribute a token owns its row of psi; e is the plain transitions, or one pair attribute a token.
    """
    length, n_labels = psi.shape
    ptr, attr = np.arange(length + 1, dtype=np.int64), np.arange(length, dtype=np.int32)
    pairs, weights = None, [psi.ravel(), e.ravel()]
    if e.ndim == 3:
        pairs = Observations(np.maximum(ptr - 1, 0), np.arange(length - 1, dtype=np.int32), None)
        weights[1] = e[1:].ravel()
    label = np.zeros(length, np.int32) if label is None else np.asarray(label, np.int32)
    made = Corpus(np.array([0, length], np.int64), label, Observations(ptr, attr, None), pairs, n_labels)
    names = vocabulary(n_labels, length, length - 1 if pairs else 0, PLAIN if pairs is None else PAIRS)
    return Instance(made, names, arrange(made, names, features="full")), np.concatenate(weights)


def text(seed=0, *, sentences=40, words=30, labels=("B-X", "I-X", "O"), length=(1, 9), noise=0.1):
    """Sentences of `word class label` lines, the label mostly the class' own; as text for a file."""
    rng = np.random.default_rng(seed)
    lines = []
    for size in rng.integers(length[0], length[1] + 1, sentences):
        for word in rng.integers(0, words, size):
            label = rng.integers(0, len(labels)) if rng.random() < noise else word % len(labels)
            lines.append(f"w{word} c{word % 5} {labels[label]}")
        lines.append("")
    return "\n".join(lines) + "\n"
