"""Explanations of Python's data."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import DataError
from ..tagging.explain import Explainer, Explanation
from ..text._objects import Objects
from ..text._strings import StringTable
from .dataset import Rows, corpus_of, rows_of


class ObjectExplainer(Explainer):
    """Reads what a Tagger tags: sequences of attributes, or with a template of rows of columns."""

    def __init__(self, model):
        super().__init__(model)
        self.objects = None
        if model.vocabulary.template is None:
            self.objects = Objects(StringTable(), self.apart.attributes, learn=True)

    def encode(self, sentences):
        if self.objects is None:
            return super().encode(sentences)
        self.objects.add_all([sentence.xseq for sentence in sentences])
        return corpus_of(self.objects, len(self.labels))


def explain(tagger, xseq: Iterable, position: int, against: str | None = None, gold: str | None = None) -> Explanation:
    """Why a token of a sequence got its label; see Tagger.explain."""
    xseq = list(xseq)
    if not -len(xseq) <= position < len(xseq):
        raise IndexError(f"token {position} of {len(xseq)}")
    position %= len(xseq)
    if against is not None and against not in tagger.labels:
        raise DataError("", f"the label {against!r}", "one of the model's")
    explainer = ObjectExplainer(tagger.model)
    if explainer.objects is None:
        sentence = rows_of(xseq, None, 0)
    else:
        sentence = Rows([b""] * len(xseq), "X", 0)
        sentence.xseq = xseq
    decoded = tagger.decoded([xseq], marginals=True)
    looked = explainer.look([sentence], best=decoded.labels, marginals=decoded.marginals)
    looked.gold = [gold if t == position else None for t in range(len(xseq))]
    number = None if against is None else tagger.labels.index(against)
    if number == decoded.labels[position]:
        raise DataError("", f"the label {against!r}, which the token has", "another one")
    return looked.explain(position, number)
