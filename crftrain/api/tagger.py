"""A model at work on Python's data: load once, tag from many threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from ..chain._sequences import Sequences, order_occurrences
from ..errors import DataError, SettingsError
from ..model.model import Model, load
from ..tagging._decoder import Decoder
from ..tagging._single import Single, named
from ..tagging.query import Query
from ..text.encode import Corpus, Vocabulary
from ..text.legal import SCHEMES
from .dataset import Dataset, Renumbering, Row, encoder_of, refuse_frame, rows_in, together
from .rows import PlainRows, suits

if TYPE_CHECKING:
    from ..tagging.explain import Explanation

PORTION = 256  # sequences that are decoded at once


class Tagger:
    """Tags sequences with a model, which is a Model or the path of one; what a sequence may be is what the model was learnt from.

    constraints: the scheme that labels obey, "iob1", "iob2", "bioes", "bmes" or "auto", or a dict of scheme, forbid and allow, which are
    lists of label pairs such as "O I-*" and "^ I-PER".

    >>> from crftrain import CRF
    >>> crf = CRF().fit([[{"a"}, {"b"}]] * 3, [["X", "Y"]] * 3)
    >>> tagger = Tagger(crf.model_)
    >>> tagger.tag([{"a"}, {"b"}])
    ['X', 'Y']
    >>> tagger.tag([["b"]])
    ['Y']
    """

    def __init__(self, model: Model | str | os.PathLike, *, constraints: str | dict | None = None):
        self.model = model if isinstance(model, Model) else load(model)
        self.constraints = constraints
        self._decoder = Decoder(self.model.layout, self.model.calibrated_w, _legal(self.model, constraints))
        self._list = list(self.model.vocabulary.labels)
        self._names = np.array(self._list, object)
        self._local = threading.local()  # buffers serve one thread
        self._alone = constraints is None and self.model.layout.legal is None and self.model.vocabulary.template is None
        self._scorer = None
        self._plain = constraints is None and suits(self.model)
        self._numbers: WeakKeyDictionary[Vocabulary, Renumbering] = WeakKeyDictionary()

    @property
    def labels(self) -> list[str]:
        """The labels, in the order of the marginals' columns."""
        return list(self._names)

    def tag(self, xseq: Iterable) -> list[str]:
        """The most probable labels of one sequence."""
        if self._alone and not isinstance(xseq, Row):
            return self._single().tag(xseq)
        return next(self.tag_all([xseq]))

    def tag_all(self, X: Iterable) -> Iterator[list[str]]:
        """The labels of each sequence, in their order; faster than one call for each."""
        for labels, sizes in self._labelled(X):
            yield from named(self._list, labels, sizes)

    def _labelled(self, X):
        """(label numbers of all tokens, the size of each sequence) of some sequences at a time."""
        for some in self._some(X):
            labels = self._plain_rows().labels(some) if self._plain and isinstance(some, list) else None
            if labels is not None:
                yield labels, list(map(len, some))
            else:
                corpus, sizes = self._corpus(some)
                yield self._decoded(corpus).labels, sizes

    def marginals(self, xseq: Iterable) -> np.ndarray:
        """float64[tokens, labels]: the probability of each label at each token of one sequence."""
        return next(self.marginals_of_all([xseq]))

    def marginals_of_all(self, X: Iterable) -> Iterator[np.ndarray]:
        """The same of each sequence, in their order."""
        for corpus, sizes in self._portions(X):
            found = self._decoded(corpus, marginals=True).marginals
            for first, size in _places(sizes):
                yield found[first : first + size]

    def best(self, X: Iterable, n: int = 1) -> Iterator[list[tuple[list[str], float]]]:
        """For each sequence its n most probable labellings, best first, each with its probability; fewer where there are no more.

        >>> from crftrain import CRF
        >>> tagger = Tagger(CRF().fit([[{"a"}, {"b"}]] * 3, [["X", "Y"]] * 3).model_)
        >>> [[labels for labels, p in ways] for ways in tagger.best([[{"a"}], []], 2)]
        [[['X'], ['Y']], [[]]]
        """
        for corpus, sizes in self._portions(X):
            decoded = self._decoded(corpus, probabilities=True, n=n)
            found, k = self._names[decoded.labels].tolist(), 0
            for first, size in _places(sizes):
                if not size:
                    yield [([], 1.0)]
                    continue
                if n == 1:
                    yield [(found[first : first + size], float(np.exp(decoded.log_p[k])))]
                else:
                    scores, ways = decoded.ranked[k]
                    probabilities = np.exp(scores - decoded.log_z[k]).tolist()
                    yield list(zip(self._names[ways].tolist(), probabilities, strict=True))
                k += 1

    def probability(self, xseq: Iterable, yseq: Sequence[str | set[str] | None]) -> float:
        """The probability that the sequence has these labels; None is any label, a set of labels one of them.

        So a span from token 1 to 2 has the probability of [None, "B-X", "I-X", {...}], with what may follow it in the set.

        >>> from crftrain import CRF
        >>> tagger = Tagger(CRF().fit([[{"a"}, {"b"}]] * 3, [["X", "Y"]] * 3).model_)
        >>> round(sum(tagger.probability([{"a"}, {"b"}], [y, z]) for y in "XY" for z in "XY"), 9)
        1.0
        >>> tagger.probability([{"a"}, {"b"}], ["X", None]) > tagger.probability([{"a"}, {"b"}], ["X", "Y"])
        True
        """
        (corpus, _), yseq = next(self._portions([xseq])), list(yseq)
        number = {name: j for j, name in enumerate(self._names)}
        if len(yseq) != corpus.n_tokens:
            raise DataError("", f"{corpus.n_tokens} tokens and {len(yseq)} labels", "one label for each token")
        allowed = np.ones((len(yseq), len(number)), bool)
        for t, label in enumerate(yseq):
            if label is not None:
                labels = {label} if isinstance(label, str) else set(label)
                if unknown := labels - number.keys():
                    raise DataError("", f"the label {sorted(unknown)[0]!r}", "one of the model's")
                allowed[t] = False
                allowed[t, [number[name] for name in labels]] = True
        if not yseq:
            return 1.0
        sequences = self._sequences(corpus)
        queries = (Query(probabilities=True, known=known) for known in (allowed, None))
        some, all_ = (self._decoder.decode(sequences, query).log_z[0] for query in queries)
        return float(np.exp(some - all_))

    def explain(self, xseq: Iterable, position: int, against: str | None = None, gold: str | None = None) -> Explanation:
        """Why the token at a position of a sequence got its label and not another one: what adds up to the margin between the two.

        The other label is `against`; else the gold label, if it is given and another one; else the runner-up.

        >>> from crftrain import CRF
        >>> tagger = Tagger(CRF().fit([[{"a"}, {"b"}]] * 3, [["X", "Y"]] * 3).model_)
        >>> found = tagger.explain([{"a"}, {"b", "new"}], 1)
        >>> found.label, found.against, [a.name for a in found.attributes if not a.known]
        ('Y', 'X', ['new'])
        >>> abs(sum(found.parts) - found.margin) < 1e-9
        True
        """
        from .explaining import explain

        return explain(self, xseq, position, against, gold)

    def decoded(self, X: list, **what):
        """What the decoder says of sequences, the empty ones left out."""
        return self._decoded(self._corpus(X)[0], **what)

    def _sequences(self, corpus: Corpus) -> Sequences:
        order_occurrences(corpus, self.model.layout)  # which nobody else looks at, so that no copy is needed
        return Sequences(corpus, self.model.layout)

    def _decoded(self, corpus: Corpus, **asked) -> Any:
        return self._decoder.decode(self._sequences(corpus), Query(**asked))

    def _some(self, X):
        """Some sequences at a time, lists or Datasets."""
        if (rows := together(X)) is not None:
            X = rows
        if isinstance(X, Dataset):
            yield from X.portions(PORTION)
            return
        refuse_frame(X)
        X = iter(X)
        for first in X:
            yield list(chain((first,), islice(X, PORTION - 1)))

    def _portions(self, X):
        """(corpus without its empty sequences, the size of each sequence) of some sequences at a time."""
        return map(self._corpus, self._some(X))

    def _renumbering(self, vocabulary: Vocabulary) -> Renumbering:
        """From the numbers of a Dataset, which are looked for once."""
        if (found := self._numbers.get(vocabulary)) is None:
            found = self._numbers[vocabulary] = Renumbering(vocabulary, self.model.vocabulary)
        return found

    def _single(self) -> Single:
        """What tags single sequences of this thread."""
        if (single := getattr(self._local, "single", None)) is None:
            model = self.model
            single = self._local.single = Single(model.vocabulary.attributes, self._names, model.layout, model.w, self._scorer)
            self._scorer = single.scorer
        return single

    def _plain_rows(self) -> PlainRows:
        """What tags rows of this thread."""
        if (rows := getattr(self._local, "rows", None)) is None:
            rows = self._local.rows = PlainRows(self.model)
        return rows

    def _encoded(self, X: list) -> Corpus:
        if not hasattr(self._local, "encode"):
            self._local.encode = encoder_of(self.model.vocabulary)
        return self._local.encode(X)

    def _corpus(self, X: list | Dataset):
        """(corpus without its empty sequences, the size of each sequence)"""
        if isinstance(X, Dataset):
            corpus = self._renumbering(X.vocabulary).of(X.corpus)
        elif self.model.vocabulary.template is None:
            corpus = self._encoded(X)
        else:
            X = [rows_in(xseq, i) for i, xseq in enumerate(X)]
            return self._encoded(X), list(map(len, X))
        return _without_empty(corpus), np.diff(corpus.seq).tolist()

    def __reduce__(self):
        return _again, (self.model, self.constraints)


def _again(model, constraints):
    return Tagger(model, constraints=constraints)


def _legal(model, constraints):
    """What may follow what; None: everything."""
    if constraints is None:
        return None
    asked = {"scheme": constraints} if isinstance(constraints, str) else dict(constraints)
    if asked.get("scheme") not in (None, *SCHEMES) or asked.keys() - {"scheme", "forbid", "allow"}:
        known = f"one of {', '.join(SCHEMES)}, or a dict of scheme, forbid and allow"
        raise SettingsError("", f"constraints {constraints!r}", known)
    return model.legal(**asked)


def _without_empty(corpus: Corpus) -> Corpus:
    """Sequences without tokens leave no trace but in `seq`."""
    seq = np.concatenate([[0], corpus.seq[1:][np.diff(corpus.seq) > 0]])
    return Corpus(seq, corpus.label, corpus.nodes, corpus.pairs, corpus.n_labels)


def _places(sizes):
    first = 0
    for size in sizes:
        yield first, size
        first += size
