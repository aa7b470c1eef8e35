"""The estimator: fit, predict and their kin, with scikit-learn's names and without its import.

What a method needs is loaded when it is called: the class alone costs little more than numpy.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .parameters import Parameters

if TYPE_CHECKING:
    from ..model.model import Model
    from ..training.events import Observer
    from .tagger import Tagger


class NotFittedError(ValueError, AttributeError):
    """predict before fit."""


def not_fitted(estimator) -> Exception:
    """scikit-learn's own error where it is in use."""
    known = sys.modules.get("sklearn.exceptions")
    return (known.NotFittedError if known else NotFittedError)(f"this {type(estimator).__name__} is not fitted yet: call fit first")


class CRF(Parameters):
    """A linear-chain conditional random field.

    algorithm: one of `crftrain algorithms`; None is auto, which chooses. l2, l1: strengths, a number or "c/n" with n the number
    of sequences; None is "1/n", or 0 beside l1, and 0. template: for rows of columns, a built-in name, a file, or "auto".
    features, transitions: weights for what was "observed", or "full"; min_freq: rarer attributes are dropped. max_iter, tol: the
    algorithm's own if None. patience: steps without a better score on X_val; select: what decides there, "score" or "likelihood".
    cv: folds for cross-validation, by which l2 or l1 is chosen where it is "auto" or a list; cv_results_, best_params_ tell what was found.
    constraints: what labels may follow one another in predictions, as Tagger has it. n_jobs: threads. warm_start: go on from the
    last fit. verbose: 1 shows progress, 2 says more. options: the algorithm's own. engine: where fit lets a batch method compute: a
    distributed.Client, the address of its scheduler, or a number of processes (docs/cluster.md).

    >>> crf = CRF(l2="0.1/n", random_state=7)
    >>> crf.fit([[{"word": "a"}, {"word": "b"}]] * 5, [["X", "O"]] * 5)
    CRF(l2='0.1/n', random_state=7)
    >>> crf.predict([[{"word": "b"}], [{"word": "a"}, {"word": "b"}]])
    array([list(['O']), list(['X', 'O'])], dtype=object)
    >>> crf.classes_
    ['X', 'O']
    """

    def __init__(
        self,
        algorithm=None,
        *,
        l2=None,
        l1=None,
        template=None,
        features="observed",
        transitions="auto",
        min_freq=0,
        max_iter=None,
        tol=None,
        patience=None,
        select="score",
        cv=None,
        constraints=None,
        n_jobs=1,
        random_state=1,
        warm_start=False,
        verbose=0,
        options=None,
        engine=None,
    ):
        self.algorithm = algorithm
        self.l2 = l2
        self.l1 = l1
        self.template = template
        self.features = features
        self.transitions = transitions
        self.min_freq = min_freq
        self.max_iter = max_iter
        self.tol = tol
        self.patience = patience
        self.select = select
        self.cv = cv
        self.constraints = constraints
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.options = options
        self.engine = engine

    # ---- training

    def fit(
        self,
        X: Any,
        y: Iterable | None = None,
        *,
        X_val: Any = None,
        y_val: Iterable | None = None,
        groups: Iterable | None = None,
        callbacks: Iterable[Observer | Callable] = (),
        init_model: Model | CRF | str | os.PathLike | None = None,
    ) -> CRF:
        """Learn from sequences and their labels; X_val decides which step is kept. init_model gives the first weights.

        groups: a name for each sequence; those of one name are never in two folds.

        Ctrl-C ends training after the running step, with the model of that step.
        """
        from .fitting import fit

        return fit(self, X, y, X_val, y_val, callbacks, init_model, groups)

    def partial_fit(self, X: Any, y: Iterable | None = None, classes: Iterable[str] | None = None) -> CRF:
        """Go on learning from more sequences, with psa unless an algorithm is named; a strength c/n counts all sequences so far.

        classes: labels that will come later.

        >>> crf = CRF().partial_fit([[{"a"}]] * 5, [["X"]] * 5, classes=["X", "Y"]).partial_fit([[{"b"}]] * 5, [["Y"]] * 5)
        >>> crf.predict([[{"a"}, {"b"}]])[0]
        ['X', 'Y']
        """
        from .fitting import partial_fit

        return partial_fit(self, X, y, classes)

    def _take(self, model: Model) -> None:
        self.model_ = model
        vars(self).pop("_tagger", None)

    # ---- predictions

    @property
    def tagger_(self) -> Tagger:
        """The Tagger of the model."""
        self._fitted()
        if (made := vars(self).get("_tagger")) is None or made.constraints != self.constraints:
            from .tagger import Tagger

            made = self._tagger = Tagger(self.model_, constraints=self.constraints)
        return made

    def predict(self, X: Any) -> np.ndarray:
        """An array of one dimension with a list of labels for each sequence."""
        return _objects(self.tagger_.tag_all(self._sequences(X)))

    def predict_single(self, xseq: Iterable) -> list[str]:
        """The labels of one sequence."""
        return self.tagger_.tag(xseq)

    def predict_proba(self, X: Any) -> np.ndarray:
        """An array with a float array [tokens, classes] for each sequence, columns in the order of classes_."""
        return _objects(self.tagger_.marginals_of_all(self._sequences(X)))

    def predict_marginals(self, X: Any) -> np.ndarray:
        """An array with a list for each sequence of a dict for each token: label -> probability."""
        names = self.classes_
        return _objects([dict(zip(names, p, strict=True)) for p in table.tolist()] for table in self.predict_proba(X))

    def predict_marginals_single(self, xseq: Iterable) -> list[dict[str, float]]:
        """The same of one sequence."""
        return self.predict_marginals([xseq])[0]

    def decode(self, X: Any, n_best: int = 1) -> list:
        """(labels, their probability) of each sequence; with n_best a list of so many of them, best first."""
        found = self.tagger_.best(self._sequences(X), n_best)
        return list(found) if n_best > 1 else [ways[0] for ways in found]

    def sequence_proba(self, X: Any, y: Iterable | None = None) -> np.ndarray:
        """The probability that each sequence has just these labels, those of a Dataset or a file where y is None."""
        X = self._sequences(X)
        y = _labels(X, self.template) if y is None else y
        return np.array([self.tagger_.probability(xseq, yseq) for xseq, yseq in zip(X, y, strict=True)])

    def explain(self, xseq: Iterable, position: int, against: str | None = None, gold: str | None = None):
        """Why the token at a position of a sequence got its label; see Tagger.explain."""
        return self.tagger_.explain(xseq, position, against, gold)

    def score(self, X: Any, y: Iterable | None = None) -> float:
        """The share of tokens whose label is right."""
        from ..metrics import flat_accuracy_score

        X = self._sequences(X)
        return flat_accuracy_score(_labels(X, self.template) if y is None else y, self.predict(X))

    # ---- what was learnt

    @property
    def classes_(self) -> list[str]:
        """The labels, in the order of predict_proba's columns."""
        return list(self._fitted().vocabulary.labels)

    @property
    def attributes_(self) -> list[str]:
        """The names of the attributes that have weights."""
        layout, names = self._fitted().layout, self.model_.vocabulary.attributes.names()
        weighty: Any = np.add.reduceat(np.append(self.model_.w != 0, 0), layout.ptr[:-1])[: len(names)] if names else []
        size = np.diff(layout.ptr)
        return [name.decode("utf-8", "replace") for k, name in enumerate(names) if size[k] and weighty[k]]

    @property
    def state_features_(self) -> dict[tuple[str, str], float]:
        """{(attribute, label): weight}, without zeros."""
        model, names = self._fitted(), [name.decode("utf-8", "replace") for name in self.model_.vocabulary.attributes.names()]
        owner = np.repeat(np.arange(len(names)), np.diff(model.layout.ptr)).tolist()
        found = zip(owner, model.layout.node_labels().tolist(), model.w[: model.layout.ptr[-1]].tolist(), strict=True)
        labels = model.vocabulary.labels
        return {(names[a], labels[j]): weight for a, j, weight in found if weight}

    @property
    def transition_features_(self) -> dict[tuple[str, str], float]:
        """{(label, next label): weight}, without zeros."""
        model = self._fitted()
        labels, n = model.vocabulary.labels, model.layout.n_labels
        found = zip(model.layout.transition.tolist(), model.w[model.layout.transitions].tolist(), strict=True)
        return {(labels[pair // n], labels[pair % n]): weight for pair, weight in found if weight}

    # ---- files

    def save(self, path: str | os.PathLike, *, format: str | None = None) -> int:
        """Write the model, which `crftrain tag` and CRF.load read; the number of bytes.

        format: "crftrain", "crfsuite", "wapiti", "crfpp"; None goes by the end of the name, model.crfsuite, else crftrain.
        """
        from ..model.foreign import FORMATS, export

        ending = os.path.splitext(os.fspath(path))[1][1:]
        return export(self._fitted(), path, format or (ending if ending in FORMATS else "crftrain"))

    @classmethod
    def load(cls, path: str | os.PathLike, **parameters) -> CRF:
        """A fitted CRF with the model in a file, crftrain's own or one of another program that it reads."""
        from ..model.model import load

        crf = cls(**parameters)
        crf._take(load(path))
        return crf

    # ---- what scikit-learn asks of an estimator

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def __sklearn_tags__(self):
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=True),
            input_tags=InputTags(two_d_array=False, dict=True, string=True),
        )

    def _sequences(self, X):
        """What can be tagged at once; files are read as data with labels, by the model's template."""
        if not isinstance(X, str | os.PathLike):
            return X
        from .dataset import Dataset

        known = self._fitted().vocabulary
        return Dataset.read(X, template=known.template, format=known.format)

    def _fitted(self) -> Model:
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)
        return self.model_

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "_tagger"}


def _labels(X, template):
    """Those that the data have themselves."""
    from .dataset import as_dataset

    return as_dataset(X, template=template).labels


def _objects(values) -> np.ndarray:
    values = list(values)
    found = np.empty(len(values), object)
    for i, value in enumerate(values):
        found[i] = value
    return found
