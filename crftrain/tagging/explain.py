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

import numpy as np

from ..chain._sequences import Sequences
from ..text._strings import StringTable
from ..text.encode import Encoder
from ..text.printable import printable
from ._decoder import Decoder
from ._paths import Edges, best_paths, node_scores, parted, said


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
        self.names = replace(v, attributes=StringTable(), pair_attributes=StringTable())
        self.model, self.labels = model, v.labels
        self.encoder, self.decoder = Encoder(v, gold=gold), Decoder(model.layout, model.w)
        self.reader = Encoder(self.names, gold=gold, learn=True)

    def look(self, sentences, *, best=None, marginals=None):
        """Sentences made ready to be asked about; their labels and marginals may be known from tagging."""
        if best is None:
            sequences = Sequences(self.encoder.encode(sentences), self.model.layout)
            best, _, marginals = self.decoder.decode(sequences, marginals=True)
        return Looked(self, sentences, best, marginals)


class Looked:
    """Sentences, their labels and marginals, and the best labelling through every label of every token."""

    def __init__(self, explainer, sentences, labels, marginals):
        self.explainer, self.sentences, self.labels, self.marginals = explainer, sentences, labels, marginals
        model, layout, names = explainer.model, explainer.model.layout, explainer.names
        corpus = explainer.reader.encode(sentences)
        self.names = names.attributes.names()
        self.known = _numbers(self.names, model.vocabulary.attributes)
        self.read, self.seq, self.gold = corpus.nodes.attr, corpus.seq, corpus.label
        self.nodes = replace(corpus.nodes, attr=self.known[corpus.nodes.attr])
        pairs = corpus.pairs
        if pairs is not None:
            known = _numbers(names.pair_attributes.names(), model.vocabulary.pair_attributes)
            pairs = replace(pairs, attr=known[pairs.attr])
        self.edges = Edges(_transitions(layout, model.w), pairs, layout, model.w)
        self.psi = node_scores(self.nodes, layout, model.w)
        self.up, self.down, self.come_from, self.go_to = best_paths(self.seq, self.psi, self.edges)

    def runner_up(self, t):
        """The label whose best labelling comes next to that of the label which token t has."""
        scores = self.up[t] + self.down[t]
        scores[self.labels[t]] = -np.inf
        return int(np.argmax(scores))

    def wrong(self):
        """The tokens whose label is not the gold one, where there is one."""
        sentences, labels = self.sentences, self.explainer.labels
        gold = [label for sentence in sentences for label in self.explainer.encoder.gold_labels(sentence) or [None] * len(sentence.lines)]
        return [t for t, (mine, theirs) in enumerate(zip(self.labels.tolist(), gold, strict=True)) if theirs not in (None, labels[mine])]

    def explain(self, t, against=None):
        """The Explanation of a token, counted over all sentences, against a label: the gold one if it is wrong, else the runner-up."""
        model, names = self.explainer.model, self.explainer.labels
        s = int(np.searchsorted(self.seq, t, "right")) - 1
        sentence, position, a = self.sentences[s], t - int(self.seq[s]), int(self.labels[t])
        gold = self.explainer.encoder.gold_labels(sentence)
        gold = gold and gold[position]
        if against is None:
            against = names.index(gold) if gold in names and gold != names[a] else self.runner_up(t)
        best = self.up[t] + self.down[t]
        transitions, pairs, others, changed = parted(self.seq, self.psi, self.edges, self.come_from, self.go_to, s, t, a, against)
        return Explanation(
            place=sentence.place(position),
            sequence=s,
            position=position,
            label=names[a],
            against=names[against],
            gold=gold,
            probability=float(self.marginals[t, a]),
            margin=float(best[a] - best[against]),
            attributes=self._attributes(t, said(self.nodes, model.layout, model.w, best, t, a, against)),
            others=others,
            transitions=transitions,
            pairs=pairs,
            changed=[(k - int(self.seq[s]), names[i], names[j]) for k, i, j in changed],
        )

    def _attributes(self, t, parts):
        names, labels = self.read[self.nodes.ptr[t] : self.nodes.ptr[t + 1]], self.explainer.labels
        found = [
            Attribute(self.names[name].decode(errors="replace"), value, for_a, for_b, number >= 0, labels[without])
            for name, number, value, for_a, for_b, without in zip(names.tolist(), *(part.tolist() for part in parts), strict=True)
        ]
        return sorted(found, key=lambda attribute: -abs(attribute.difference))


def _numbers(names, table):
    """int32: the model's numbers of names, -1 for those it has not."""
    return np.fromiter(map(table.get, names), np.int32, len(names))


def _transitions(layout, w):
    """float64[L, L]: the scores of label pairs, 0 without a weight."""
    trans = np.zeros(layout.n_labels**2)
    trans[layout.transition] = w[layout.transitions]
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
