"""What the estimator's fit and partial_fit do: parameters to Settings, data to a corpus, a Model and what came of it back."""

from __future__ import annotations

import contextlib
import os
import signal
import warnings
from dataclasses import replace

import numpy as np

from ..errors import DataError, SettingsError
from ..model.model import Model, load
from ..text.encode import Vocabulary
from ..text.rare import without_rare
from ..training.constrained import learn_legally
from ..training.events import Observer, Observers, last_event
from ..training.heldout import HeldOutData
from ..training.settings import DEFAULT_ONLINE, Settings
from ..training.signals import StopSignal
from ..training.train import train
from ..training.update import copied, with_strengths
from .blas import one_thread
from .callbacks import Asked, History, ProgressBar, Told
from .cross_validation import Folds
from .dataset import as_dataset
from .estimator import CRF

CLIENT = "tcp://of.the.client"  # what settings say of a Client, which knows where its workers are

# How the parameters are called among the settings of a training.
NAMES = {"folds": "cv", "lambdas": "l2", "l1s": "l1", "passes": "max_iter", "threads": "n_jobs", "seed": "random_state"}
NAMES |= {"dev": "X_val", "workers": "engine"}


def fit(crf, X, y, X_val, y_val, callbacks, init_model, groups=None):
    """The estimator, fitted."""
    where = {} if crf.engine is None else {"workers": crf.engine if isinstance(crf.engine, int | str) else CLIENT}
    settings = _settings(crf, validated=X_val is not None, **where)
    corpus, vocabulary = as_dataset(X, y, template=crf.template).for_training()
    corpus = without_rare(corpus, vocabulary, settings.min_freq)
    init = crf.model_ if init_model is None and crf.warm_start and crf.__sklearn_is_fitted__() else _model(init_model)
    more = {"heldout": _held_out(X_val, y_val), "init": init, "groups": _groups(groups, corpus.n_sequences, settings)}
    with _workers(crf.engine, settings.threads) as cluster:
        return _trained(crf, corpus, vocabulary, settings, callbacks, cluster=cluster, **more)


def _workers(engine, threads):
    """A context with a Cluster, or None."""
    if engine is None:
        return contextlib.nullcontext()
    from ..cluster.cluster import connect

    return connect(engine, threads=threads)


def _groups(groups, n, settings):
    """A list of as many names, or None."""
    if groups is None:
        return None
    if not (settings.folds or settings.searches):
        raise SettingsError("", "groups without cv", "cv=5, or l2='auto'")
    groups = [str(group) for group in groups]
    if len(groups) != n:
        raise DataError("groups", f"{len(groups)} of them", f"{n}, one for each sequence")
    return groups


def partial_fit(crf, X, y, classes):
    """The estimator, having learnt more."""
    fitted = crf.__sklearn_is_fitted__()
    data = as_dataset(X, y, template=crf.model_.vocabulary.template if fitted else crf.template)
    online = {"algorithm": crf.algorithm or DEFAULT_ONLINE}
    if not fitted:
        settings = _settings(crf, **online, passes=crf.max_iter or 1)
        corpus, vocabulary = data.for_training()
        _add_labels(corpus, vocabulary, classes)
        return _trained(crf, corpus, vocabulary, settings, more_facts={"n_learnt": corpus.n_sequences})
    settings = _settings(crf, **online, update=True, init="the model")
    vocabulary = copied(crf.model_.vocabulary)
    corpus = data.grown_into(vocabulary)
    _add_labels(corpus, vocabulary, classes)
    if vocabulary.legal is not None:
        corpus, _ = learn_legally(corpus, vocabulary, vocabulary.legal.said, lambda i, k: f"X[{i}][{k}]")
    settings, n = with_strengths(settings, crf.model_, corpus.n_sequences)
    return _trained(crf, corpus, vocabulary, settings, init=crf.model_, more_facts={"n_learnt": n})


def _settings(crf, *, validated=False, **more):
    """What a training is asked for by the parameters; SettingsError if it cannot be done."""
    held_out = {"dev": "X_val", "select": crf.select} if validated else {}
    own = {
        "algorithm": crf.algorithm,
        "options": crf.options,
        "lambdas": crf.l2,
        "l1s": crf.l1,
        "features": crf.features,
        "transitions": crf.transitions,
        "min_freq": crf.min_freq,
        "passes": crf.max_iter,
        "folds": crf.cv,
        "tol": crf.tol,
        "patience": crf.patience,
        "threads": _threads(crf.n_jobs),
        "seed": _seed(crf.random_state),
    }
    settings = Settings(**{**own, **held_out, **more}).check(lambda name: NAMES.get(name, name))
    if len(settings.points) > 1 and not settings.folds:
        raise SettingsError("", "l2 and l1 that are lists", "one strength each, or cv=5; GridSearchCV tries several")
    return settings


def _trained(crf, corpus, vocabulary, settings, callbacks=(), **how):
    history, folds, callbacks = History(), Folds(), list(callbacks)
    observers = [callback for callback in callbacks if isinstance(callback, Observer)]
    functions = Asked([callback for callback in callbacks if not isinstance(callback, Observer)])
    shown = [ProgressBar()] * (crf.verbose > 0) + [Told()] * (crf.verbose > 1)
    with StopSignal(signals=(signal.SIGINT,)) as stop:
        observer = Observers(history, folds, *observers, functions, *shown, stop)
        with one_thread():
            model, outcome = train(corpus, vocabulary, settings, observer, **how)
        observer.end(last_event(outcome, None))
    if stop.interrupted:
        warnings.warn(f"{stop.interrupted}: the model is that of step {outcome.iteration}", stacklevel=4)
    crf._take(replace(model, w=_as_in_a_file(model.w)))
    crf.history_ = history.steps
    crf.n_iter_, crf.objective_, crf.gap_ = outcome.iteration, outcome.objective, outcome.gap
    crf.converged_, crf.stop_reason_ = outcome.converged, outcome.reason
    crf.best_iteration_ = outcome.best_iteration
    crf.best_score_ = outcome.dev_score if outcome.dev else None
    for name in ("cv_results_", "best_params_", "best_index_"):
        vars(crf).pop(name, None)
    if folds.found is not None:
        crf.cv_results_, crf.best_index_ = folds.results(), folds.found.best
        crf.best_params_ = crf.cv_results_["params"][crf.best_index_]
        crf.best_score_ = float(crf.cv_results_["mean_test_score"][crf.best_index_])
    return crf


def _as_in_a_file(w: np.ndarray) -> np.ndarray:
    """As numbers of 4 bytes, which is what is saved: a loaded model predicts the same."""
    with np.errstate(over="ignore"):
        return w.astype(np.float32).astype(np.float64)


def _model(given) -> Model | None:
    if given is None or isinstance(given, Model):
        return given
    return given._fitted() if isinstance(given, CRF) else load(given)


def _held_out(X_val, y_val):
    """A function of the training's vocabulary -> HeldOutData, or None."""
    if X_val is None:
        if y_val is not None:
            raise DataError("y_val", "labels without X_val", "both or neither")
        return None

    def held_out(vocabulary: Vocabulary):
        data = as_dataset(X_val, y_val, template=vocabulary.template)
        data = data.take(np.flatnonzero(np.diff(data.corpus.seq)))
        if not len(data):
            raise DataError("X_val", "no sequences", "at least one, with tokens")
        gold = [label for labels in data.labels for label in labels]
        return HeldOutData(data.numbered_as(vocabulary), gold, vocabulary.labels)

    return held_out


def _add_labels(corpus, vocabulary: Vocabulary, classes) -> None:
    vocabulary.labels += [label for label in classes or () if label not in vocabulary.labels]
    corpus.n_labels = len(vocabulary.labels)


def _threads(n_jobs):
    """n_jobs as scikit-learn has it: None is 1, -1 all processors."""
    return 1 if n_jobs is None else (os.cpu_count() or 1) if n_jobs == -1 else n_jobs


def _seed(random_state):
    """A number, drawn where it is not given or given as a generator."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**31))
    if hasattr(random_state, "randint"):
        return int(random_state.randint(2**31 - 1))
    return random_state
