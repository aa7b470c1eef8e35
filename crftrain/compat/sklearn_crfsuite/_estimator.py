"""The estimator of sklearn-crfsuite over crftrain."""

from __future__ import annotations

import os

import numpy as np

from ...api.parameters import Parameters
from ...api.tagger import Tagger
from .. import pycrfsuite
from ..pycrfsuite._items import plain
from ._files import FileResource

try:
    from sklearn.base import BaseEstimator
except ImportError:

    class BaseEstimator(Parameters):  # type: ignore[no-redef]
        """get_params, set_params and repr without scikit-learn."""


# parameter -> CRFsuite's name
NAMES = {
    "min_freq": "feature.minfreq",
    "all_possible_states": "feature.possible_states",
    "all_possible_transitions": "feature.possible_transitions",
    **{name: name for name in ("c1", "c2", "max_iterations", "num_memories", "epsilon", "period", "delta", "linesearch", "max_linesearch")},
    **{f"calibration_{name}": f"calibration.{name}" for name in ("eta", "rate", "samples", "candidates", "max_trials")},
    "pa_type": "type",
    **{name: name for name in ("c", "error_sensitive", "averaging", "variance", "gamma")},
}


class LinePerIterationTrainer(pycrfsuite.Trainer):
    """Prints a line for each iteration."""

    def on_iteration(self, log, info):
        shown = [f"Iter {info['num']:<3}", f"time={info.get('time', 0):<5.2f}", f"loss={info.get('loss', 0):<8.2f}"]
        shown += [f"active={info['active_features']:<5}"] if "active_features" in info else []
        print(" ".join([*shown, f"feature_norm={info.get('feature_norm', 0):<5.2f}"]))

    def on_optimization_end(self, log):
        print("=" * 48)


class CRF(BaseEstimator):
    """sklearn-crfsuite's CRF: its parameters, None for CRFsuite's defaults; the model is a file of CRFsuite's format.

    predict returns np.array(lists, dtype=object) as there, which has two dimensions where all sequences are equally long; predict1d
    has one always.
    """

    def __init__(
        self,
        algorithm=None,
        min_freq=None,
        all_possible_states=None,
        all_possible_transitions=None,
        c1=None,
        c2=None,
        max_iterations=None,
        num_memories=None,
        epsilon=None,
        period=None,
        delta=None,
        linesearch=None,
        max_linesearch=None,
        calibration_eta=None,
        calibration_rate=None,
        calibration_samples=None,
        calibration_candidates=None,
        calibration_max_trials=None,
        pa_type=None,
        c=None,
        error_sensitive=None,
        averaging=None,
        variance=None,
        gamma=None,
        verbose=False,
        model_filename=None,
        keep_tempfiles=False,
        trainer_cls=None,
    ):
        self.algorithm = algorithm
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.c1 = c1
        self.c2 = c2
        self.max_iterations = max_iterations
        self.num_memories = num_memories
        self.epsilon = epsilon
        self.period = period
        self.delta = delta
        self.linesearch = linesearch
        self.max_linesearch = max_linesearch
        self.calibration_eta = calibration_eta
        self.calibration_rate = calibration_rate
        self.calibration_samples = calibration_samples
        self.calibration_candidates = calibration_candidates
        self.calibration_max_trials = calibration_max_trials
        self.pa_type = pa_type
        self.c = c
        self.error_sensitive = error_sensitive
        self.averaging = averaging
        self.variance = variance
        self.gamma = gamma
        self.verbose = verbose
        self.model_filename = model_filename
        self.keep_tempfiles = keep_tempfiles
        self.trainer_cls = trainer_cls
        self.modelfile = FileResource(model_filename, keep_tempfiles, suffix=".crfsuite", prefix="model")
        self._log = self._tagger = None

    def fit(self, X, y, X_dev=None, y_dev=None):
        """Train; scores on X_dev, y_dev go to the log of each iteration."""
        if (X_dev is None) != (y_dev is None):
            raise ValueError("Pass both X_dev and y_dev to use the holdout data")
        self._tagger = None
        self.modelfile = FileResource(self.model_filename, self.keep_tempfiles, suffix=".crfsuite", prefix="model")
        self.modelfile.refresh()
        given = {name: getattr(self, parameter) for parameter, name in NAMES.items() if getattr(self, parameter) is not None}
        trainer = (self.trainer_cls or LinePerIterationTrainer)(algorithm=self.algorithm, params=given, verbose=self.verbose)
        for group, sequences, labels in ((0, X, y), (1, X_dev, y_dev)):
            if sequences is not None:
                for xseq, yseq in zip(sequences, labels, strict=True):
                    trainer.append(xseq, yseq, group)
        trainer.train(self.modelfile.name, holdout=-1 if X_dev is None else 1)
        self._log = trainer.logparser
        return self

    def predict(self, X):
        """The labels of each sequence, as np.array(lists, dtype=object)."""
        return np.array(list(self._ours.tag_all(map(plain, X))), dtype=object)

    def predict1d(self, X):
        """The same, always with one dimension."""
        return _one_dimension(self._ours.tag_all(map(plain, X)))

    def predict_single(self, xseq):
        """The labels of one sequence."""
        return self._ours.tag(plain(xseq))

    def predict_marginals(self, X):
        """A list for each sequence of a dict for each token: label -> probability."""
        names = self._ours.labels
        tables = self._ours.marginals_of_all(map(plain, X))
        return np.array([[dict(zip(names, row, strict=True)) for row in table.tolist()] for table in tables], dtype=object)

    def predict_marginals_single(self, xseq):
        """The same of one sequence."""
        return list(self.predict_marginals([xseq])[0])

    def score(self, X, y):
        """The share of tokens whose label is right."""
        from ...metrics import flat_accuracy_score

        return flat_accuracy_score(y, self.predict1d(X))

    @property
    def _ours(self) -> Tagger:
        if self.tagger_ is None:
            from ...api.estimator import not_fitted

            raise not_fitted(self)
        return self.tagger_._opened()

    @property
    def tagger_(self):
        """A pycrfsuite.Tagger with the model, or None."""
        if self._tagger is None and self.modelfile.name is not None:
            self._tagger = pycrfsuite.Tagger()
            self._tagger.open(self.modelfile.name)
        return self._tagger

    @property
    def training_log_(self):
        """What the log of training said."""
        return self._log

    @property
    def _info(self):
        return None if self.tagger_ is None else self.tagger_.info()

    @property
    def classes_(self):
        """The labels, in the order of the model."""
        return None if self.tagger_ is None else self.tagger_.labels()

    @property
    def size_(self):
        """Bytes of the model."""
        return None if self.tagger_ is None else os.path.getsize(self.modelfile.name)

    @property
    def num_attributes_(self):
        """How many attributes have weights."""
        return None if self.tagger_ is None else len(self._ours.model.vocabulary.attributes)

    @property
    def attributes_(self):
        """Their names, by number."""
        return None if self.tagger_ is None else list(self._info.attributes)

    @property
    def state_features_(self):
        """{(attribute, label): weight}"""
        return None if self.tagger_ is None else self._info.state_features

    @property
    def transition_features_(self):
        """{(label, next label): weight}"""
        return None if self.tagger_ is None else self._info.transitions

    def __sklearn_is_fitted__(self):
        return self.modelfile.name is not None and os.path.exists(self.modelfile.name)

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "_tagger"} | {"_tagger": None}


def _one_dimension(values):
    values = list(values)
    found = np.empty(len(values), object)
    found[:] = values
    return found
