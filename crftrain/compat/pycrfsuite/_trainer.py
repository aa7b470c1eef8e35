"""Training under python-crfsuite's names."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from ... import whole
from ...api.blas import one_thread
from ...model.foreign import crfsuite
from ...model.model import Model, check_writable
from ...text._objects import Objects
from ...text._occurrences import translated
from ...text.encode import Corpus, Observations, StringTable, Vocabulary
from ...text.rare import without_rare
from ...training.heldout import HeldOutData
from ...training.train import train
from ._items import plain
from ._log import TrainLog
from ._logparser import TrainLogParser
from ._parameters import ALIASES, OURS, parameters_of, settings_of


class CRFSuiteError(Exception):
    """Training that failed."""

    def __init__(self, code):
        self.code = code
        super().__init__(f"error {code}")


class BaseTrainer:
    """Collects sequences and trains on them; a subclass need not call __init__."""

    def __new__(cls, *args, **kwargs):
        trainer = super().__new__(cls)
        trainer.verbose = True
        trainer.clear()
        trainer.select("lbfgs")
        return trainer

    def __init__(self, algorithm=None, params=None, verbose=True):
        if algorithm is not None:
            self.select(algorithm)
        if params is not None:
            self.set_params(params)
        self.verbose = verbose

    # ---- data

    def append(self, xseq, yseq, group=0):
        """Add a sequence and its labels, to a group that may be held out."""
        self._builder.add(plain(xseq), yseq)
        self._groups.append(group)

    def clear(self):
        """Forget all sequences."""
        self._labels, self._names, self._groups, self._taken = StringTable(), StringTable(), [], None
        self._builder = Objects(self._labels, self._names, learn=True)

    def _corpus(self):
        """All that was added; it stays, for another training."""
        seq, label, ptr, attr, value, _, _ = self._builder.take()
        corpus = Corpus(seq, label, Observations(ptr, attr, value), None, len(self._labels))
        self._taken = corpus if self._taken is None else _joined(self._taken, corpus)
        return self._taken

    # ---- parameters

    def select(self, algorithm, type="crf1d"):
        """Choose lbfgs, l2sgd, ap, pa or arow; its parameters are the defaults then."""
        algorithm = ALIASES.get(algorithm.lower(), algorithm.lower())
        if algorithm not in OURS or type != "crf1d":
            raise ValueError(f"Bad arguments: algorithm={algorithm!r}, type={type!r}")
        self._algorithm = algorithm
        self._values = {name: parameter.default for name, parameter in parameters_of(algorithm).items()}

    def params(self):
        """The names of the parameters of the algorithm."""
        return list(self._values)

    def get_params(self):
        """All parameters and their values."""
        return dict(self._values)

    def set_params(self, params):
        """Set several parameters."""
        for name, value in params.items():
            self.set(name, value)

    def get(self, name):
        """The value of a parameter."""
        self._known(name)
        return self._values[name]

    def set(self, name, value):
        """Set a parameter, from its value or a text; numbers keep six decimals, as in CRFsuite."""
        self._known(name)
        kind = type(parameters_of(self._algorithm)[name].default)
        if kind is bool:
            self._values[name] = bool(int(value))
        elif kind is float:
            self._values[name] = float(f"{float(value):f}")
        else:
            self._values[name] = kind(value)

    def help(self, name):
        """What a parameter is."""
        self._known(name)
        return parameters_of(self._algorithm)[name].help

    def _known(self, name):
        if name not in self._values:
            raise ValueError(f"Parameter not found: {name}")

    # ---- training

    def message(self, message):
        """Takes each line of the log; prints it if verbose."""
        if self.verbose:
            print(message, end="")

    def _before_train(self):
        pass

    def train(self, model, holdout=-1):
        """Train and write the model to a file of CRFsuite's format; without a name nothing is written."""
        self._before_train()
        if model:
            check_writable(model)
        corpus, groups = self._corpus(), np.array(self._groups, np.int64)
        sized = np.diff(corpus.seq) > 0
        learnt, held = (corpus.take(np.flatnonzero(sized & keep)) for keep in (groups != holdout, groups == holdout))
        log = TrainLog(self.message, self._algorithm, self._values, holdout, corpus.n_tokens)
        if learnt.n_sequences:
            trained = self._trained(learnt, held if holdout >= 0 and held.n_sequences else None, log)
        else:
            log.start({"n_features": 0}, "iteration")
            trained = empty_model()
        started = time.perf_counter()
        if model:
            whole.replace(model, crfsuite.image(trained))
        log.stored(trained, time.perf_counter() - started)

    def _trained(self, corpus, held, log):
        labels = [name.decode() for name in self._labels.names()]
        vocabulary = Vocabulary(labels, self._names, StringTable(), None, "items", 0, 0)
        settings = settings_of(self._algorithm, self._values, held_out=held is not None).check()
        attributes = vocabulary.attributes
        corpus = without_rare(corpus, vocabulary, settings.min_freq)
        log.corpus = corpus

        def scored(vocabulary):
            """The held-out sequences in the numbers of the training."""
            nodes = held.nodes
            nodes = Observations(*translated(nodes.ptr, nodes.attr, nodes.value, vocabulary.attributes.numbers_of(attributes)))
            return HeldOutData(replace(held, nodes=nodes), [labels[j] for j in held.label.tolist()], labels)

        with one_thread():
            model, _ = train(corpus, vocabulary, settings, log, heldout=scored if held is not None else None)
        return model


class Trainer(BaseTrainer):
    """A trainer that understands its log: on_... are called with its parts, and print them."""

    logparser = None

    def _before_train(self):
        self.logparser = TrainLogParser()

    def message(self, message):
        event = self.logparser.feed(message)
        if self.verbose and event is not None:
            more = {"featgen_progress": (self.logparser.featgen_percent,), "iteration": (self.logparser.last_iteration,)}
            getattr(self, f"on_{event}")(self.logparser.last_log, *more.get(event, ()))

    def on_start(self, log):
        print(log, end="")

    def on_featgen_progress(self, log, percent):
        print(log, end="")

    def on_featgen_end(self, log):
        print(log, end="")

    def on_prepared(self, log):
        print(log, end="")

    def on_prepare_error(self, log):
        print(log, end="")

    def on_iteration(self, log, info):
        print(log, end="")

    def on_optimization_end(self, log):
        print(log, end="")

    def on_end(self, log):
        print(log, end="")


def empty_model() -> Model:
    """What is learnt from nothing."""
    from ...chain.layout import Layout

    nothing, one = np.empty(0, np.int32), np.zeros(1, np.int64)
    layout = Layout(0, one, nothing, 0, nothing, one, nothing)
    return Model(Vocabulary([], StringTable(), StringTable(), None, "items", 0, 0), layout, np.empty(0), {})


def _joined(first: Corpus, second: Corpus) -> Corpus:
    """Two corpora of the same numbers as one."""
    if not second.n_sequences:
        return first
    a, b = first.nodes, second.nodes
    value: Any = None
    if a.value is not None or b.value is not None:
        value = np.concatenate([np.ones(len(part.attr)) if part.value is None else part.value for part in (a, b)])
    nodes = Observations(np.concatenate([a.ptr, b.ptr[1:] + a.ptr[-1]]), np.concatenate([a.attr, b.attr]), value)
    seq, label = np.concatenate([first.seq, second.seq[1:] + first.seq[-1]]), np.concatenate([first.label, second.label])
    return Corpus(seq, label, nodes, None, second.n_labels)
