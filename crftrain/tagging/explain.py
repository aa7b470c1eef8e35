"""Why this label, and not that one?

The score of a labelling is a sum over attributes and label pairs. So is the difference between the best labelling that has label A at
token t and the best that has B there, and only positions where the two part contribute:

    difference  =  attributes of t          value (w[attribute, A] - w[attribute, B]), for each
                +  other tokens             the same in sum, where the two labellings differ elsewhere
                +  transitions              of the plain B line, along both labellings
                +  pair attributes          of B lines with macros, along both

It is positive where A is the label of the best labelling; then it is the margin of the decision. An attribute without weights is
one that training has not seen (or a penalty made worthless). Were an attribute of t absent, the best labelling through label j
would lose just its weight for j: that tells what the token's label would be then, without decoding anew.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ..chain._sequences import Sequences
from ..errors import DataError
from ..text._strings import StringTable
from ..text.encode import Encoder
from ..text.printable import printable
from ._decoder import Decoder
from ._paths import Edges, best_paths, node_scores, parted, said
from .query import Query


@dataclass(frozen=True)
class Attribute:
    """What one attribute of the token says."""

    name: str
    value: float
    weight: float  # for the label, times the value
    against: float  # for the other label, times the value
    known: bool  # whether the model has weights for it
    without: str  # the token's label were it absent

    @property
    def difference(self):
        return self.weight - self.against


@dataclass(frozen=True)
class Explanation:
    """One decision: the parts add up to the margin."""

    place: str  # FILE:LINE
    sequence: int  # of those that were explained, from 0
    position: int  # in the sequence, from 0
    label: str
    against: str
    gold: str | None
    probability: float  # of the label
    margin: float
    attributes: list  # of Attribute, the greatest difference first
    others: float  # attributes of other tokens whose labels change too
    transitions: float
    pairs: float
    changed: list = field(default_factory=list)  # (position, label, label on the other path) of those tokens

    @property
    def parts(self):
        """What adds up to the margin."""
        return [*(attribute.difference for attribute in self.attributes), self.others, self.transitions, self.pairs]

    def as_json(self, top=None):
        shown = self.attributes[:top]
        return {
            "place": self.place,
            "sequence": self.sequence,
            "position": self.position,
            "label": self.label,
            "against": self.against,
            "gold": self.gold,
            "probability": self.probability,
            "margin": self.margin,
            "attributes": [
                {
                    "name": a.name,
                    "value": a.value,
                    "weight": a.weight,
                    "against": a.against,
                    "difference": a.difference,
                    "without": a.without,
                }
                for a in shown
                if a.known
            ],
            "rest": sum(a.difference for a in self.attributes[len(shown) :]),
            "unknown": [a.name for a in self.attributes if not a.known],
            "other_tokens": self.others,
            "transitions": self.transitions,
            "pair_attributes": self.pairs,
            "changed": [{"position": k, "label": label, "against": other} for k, label, other in self.changed],
        }


class Explainer:
    """A model that gives reasons."""

    def __init__(self, model, *, gold="auto"):
        v = model.vocabulary
        # the names that sentences bring are kept apart from the model's, so that unknown ones have a number too
        self.apart = replace(v, attributes=StringTable(), pair_attributes=StringTable())
        self.model, self.labels = model, v.labels
        self.encoder, self.decoder = Encoder(v, gold=gold), Decoder(model.layout, model.calibrated_w)
        self.reader = Encoder(self.apart, gold=gold, learn=True)
        self.names, self.known, self.known_pairs = [], np.empty(0, np.int32), np.empty(0, np.int32)

    def look(self, sentences, *, best=None, marginals=None):
        """Sentences made ready to be asked about; their labels and marginals may be known from tagging."""
        if best is None:
            sequences = Sequences(self.encoder.encode(sentences), self.model.layout)
            decoded = self.decoder.decode(sequences, Query(marginals=True))
            best, marginals = decoded.labels, decoded.marginals
        return Looked(self, sentences, best, marginals)

    def encode(self, sentences):
        """The Corpus of the sentences in the numbers of `apart`."""
        return self.reader.encode(sentences)

    def read(self, sentences):
        """(nodes, pairs, seq, the number in self.names of each node attribute): attributes by the model's numbers, -1 for unknown ones."""
        corpus, v, apart = self.encode(sentences), self.model.vocabulary, self.apart
        new = [apart.attributes.name(k) for k in range(len(self.names), len(apart.attributes))]
        self.names += new
        self.known = np.concatenate([self.known, _numbers(new, v.attributes)])
        pairs = corpus.pairs
        if pairs is not None:
            new = [apart.pair_attributes.name(k) for k in range(len(self.known_pairs), len(apart.pair_attributes))]
            self.known_pairs = np.concatenate([self.known_pairs, _numbers(new, v.pair_attributes)])
            pairs = replace(pairs, attr=self.known_pairs[pairs.attr])
        return replace(corpus.nodes, attr=self.known[corpus.nodes.attr]), pairs, corpus.seq, corpus.nodes.attr


@dataclass(frozen=True)
class Decisions:
    """Some tokens, two labels for each, and what the difference is made of; label numbers throughout."""

    tokens: np.ndarray
    labels: np.ndarray
    against: np.ndarray
    margin: np.ndarray
    sums: np.ndarray  # [k][3] transitions, pair attributes, other tokens
    changed: list  # of [(token, label, other label)]
    ptr: np.ndarray  # the attributes of token k are ptr[k] .. ptr[k+1]-1 of what follows
    name: np.ndarray  # number in the explainer's names
    known: np.ndarray  # bool
    value: np.ndarray
    weight: np.ndarray  # for the label, times the value
    other: np.ndarray  # for the other one
    without: np.ndarray


class Looked:
    """Sentences, their labels and marginals, and the best labelling through every label of every token."""

    def __init__(self, explainer, sentences, labels, marginals):
        self.explainer, self.sentences, self.labels, self.marginals = explainer, sentences, labels, marginals
        model = explainer.model
        self.nodes, pairs, self.seq, self.named = explainer.read(sentences)
        self.edges = Edges(_transitions(model.layout, model.w), pairs, model.layout, model.w)
        self.psi = node_scores(self.nodes, model.layout, model.w)
        if legal := model.layout.legal:
            self.psi[self.seq[:-1]] += np.where(legal.first, 0.0, -np.inf)
            self.psi[self.seq[1:] - 1] += np.where(legal.last, 0.0, -np.inf)
        self.up, self.down, self.come_from, self.go_to = best_paths(self.seq, self.psi, self.edges)

    @cached_property
    def gold(self):
        """The gold labels as they stand in the data, None where there are none."""
        encoder = self.explainer.encoder
        return [label for sentence in self.sentences for label in encoder.gold_labels(sentence) or [None] * len(sentence.lines)]

    def wrong(self):
        """The tokens whose label is not the gold one, where there is one."""
        names = self.explainer.labels
        return [t for t, (mine, gold) in enumerate(zip(self.labels.tolist(), self.gold, strict=True)) if gold not in (None, names[mine])]

    def decisions(self, tokens, against=None):
        """The Decisions on tokens, in rising order, counted over all sentences; against: a label for all of them.

        Else it is the gold label where that is another one that the model has, or the runner-up: the label whose best labelling is next.
        """
        tokens, model = np.asarray(tokens, np.int64), self.explainer.model
        best, rows = self.up[tokens] + self.down[tokens], np.arange(len(tokens))
        labels = self.labels[tokens].astype(np.int32)
        if against is None:
            others = best.copy()
            others[rows, labels] = -np.inf
            against, number = others.argmax(axis=1).astype(np.int32), {name: k for k, name in enumerate(self.explainer.labels)}
            gold = np.array([number.get(self.gold[t], -1) for t in tokens.tolist()], np.int32)
            against = np.where((gold >= 0) & (gold != labels) & (best[rows, gold] > -np.inf), gold, against)
        else:
            against = np.full(len(tokens), against, np.int32)
        if (never := best[rows, against] == -np.inf).any():
            t = int(tokens[never.argmax()])
            s = int(np.searchsorted(self.seq, t, "right")) - 1
            found = f"no legal labels have {self.explainer.labels[against[never.argmax()]]} there"
            raise DataError(self.sentences[s].place(t - int(self.seq[s])), found, "a label that is possible")
        sums, changed = parted(self.seq, self.psi, self.edges, self.come_from, self.go_to, tokens, labels, against)
        ptr, value, weight, other, without = said(self.nodes, model.layout, model.w, best, tokens, labels, against)
        inside = np.repeat(self.nodes.ptr[tokens] - ptr[:-1], np.diff(ptr)) + np.arange(ptr[-1])
        margin = best[rows, labels] - best[rows, against]
        named, known = self.named[inside], self.nodes.attr[inside] >= 0
        return Decisions(tokens, labels, against, margin, sums, changed, ptr, named, known, value, weight, other, without)

    def explain(self, t, against=None):
        """The Explanation of a token, counted over all sentences, against a label: the gold one if it is wrong, else the runner-up."""
        d, names = self.decisions([t], against), self.explainer.labels
        s = int(np.searchsorted(self.seq, t, "right")) - 1
        first, a = int(self.seq[s]), int(d.labels[0])
        transitions, pairs, others = d.sums[0].tolist()
        return Explanation(
            place=self.sentences[s].place(t - first),
            sequence=s,
            position=t - first,
            label=names[a],
            against=names[d.against[0]],
            gold=self.gold[t],
            probability=float(self.marginals[t, a]),
            margin=float(d.margin[0]),
            attributes=self._attributes(d),
            others=others,
            transitions=transitions,
            pairs=pairs,
            changed=[(k - first, names[i], names[j]) for k, i, j in d.changed[0]],
        )

    def _attributes(self, d):
        """Of the first of some decisions."""
        names, labels = self.explainer.names, self.explainer.labels
        rows = (part.tolist() for part in (d.name, d.value, d.weight, d.other, d.known, d.without))
        found = [
            Attribute(names[name].decode(errors="replace"), value, weight, other, known, labels[without])
            for name, value, weight, other, known, without in zip(*rows, strict=True)
        ]
        return sorted(found, key=lambda attribute: -abs(attribute.difference))


def _numbers(names, table):
    """int32: the model's numbers of names, -1 for those it has not."""
    return np.fromiter(map(table.get, names), np.int32, len(names))


def _transitions(layout, w):
    """float64[L, L]: the scores of label pairs, 0 without a weight."""
    trans = np.zeros(layout.n_labels**2)
    trans[layout.transition] = w[layout.transitions]
    if layout.legal is not None:
        trans[~layout.legal.pairs.ravel()] = -np.inf
    return trans.reshape(layout.n_labels, layout.n_labels)


# ---- in words


def in_words(explanation, words, *, top=None):
    """Lines of text; words: those of the sentence."""
    e, words = explanation, list(map(printable, words))
    around = " ".join(f"[{word}]" if k == e.position else word for k, word in enumerate(words) if abs(k - e.position) <= 4)
    gold = "" if e.gold in (None, e.label) else f", gold is {e.gold}"
    yield f"{e.place}  {around}"
    yield f"  {e.label} with probability {e.probability:.3f}{gold}; over {e.against} by {e.margin:.4f}, which is the sum of"
    known = [attribute for attribute in e.attributes if attribute.known]
    width = max([len(printable(attribute.name)) for attribute in known[:top]] + [24])
    for a in known[:top]:
        absent = "" if a.without == e.label else f"   without it: {a.without}"
        yield f"    {a.difference:+9.4f}  {printable(a.name):<{width}}  {e.label} {a.weight:+.4f}, {e.against} {a.against:+.4f}{absent}"
    rest = known[top:] if top is not None else []
    if rest:
        yield f"    {sum(a.difference for a in rest):+9.4f}  {len(rest)} more attributes"
    yield f"    {e.transitions:+9.4f}  transitions"
    if e.pairs:
        yield f"    {e.pairs:+9.4f}  attributes of label pairs"
    if e.changed:
        text = ", ".join(f"{words[k]} {label} (not {other})" for k, label, other in e.changed)
        yield f"    {e.others:+9.4f}  other tokens: {text}"
    unknown = [printable(attribute.name) for attribute in e.attributes if not attribute.known]
    if unknown:
        yield f"  never seen in training: {'  '.join(unknown)}"
