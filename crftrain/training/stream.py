"""Learning from a stream: what `crftrain learn --stream` does. No sentence is kept, and there need be no last one.

1. sentences become numbers CHUNK by CHUNK; new names get the next numbers                                       encode
2. where there is no more room for attributes, or there are new labels, the weights move to a larger layout      layout
   with room for GROWTH times as many; new weights are zero, all else that the algorithm knows goes with them
3. the algorithm takes the chunk in, its sequences in their order                                               optimizers
4. every `save_every` sentences, at the end and when interrupted the model is written                            model

There is a weight for each pair of attribute and label, so that memory grows with the names alone. What a chunk leaves to be
paid later stays unpaid: a step costs what its sequences' attributes cost, whatever the number of weights, and the result is that
of one pass in order over the same sentences in memory, as far as the labels were known from the first sentences on.

lambda/2 |w|^2 belongs to the mean over n sentences. The stream does not say what n is: `n_hint` does where a strength is c/n.
"""

import math
import time
import warnings

import numpy as np

from .. import __version__
from ..chain._problem import Problem
from ..chain._sequences import Sequences
from ..chain.layout import Resizing, complete, has_transitions
from ..errors import CrftrainWarning, DataError, ModelError, TrainingError
from ..model import model
from ..text import template as templates
from ..text.encode import CorpusBuilder, StringTable, Vocabulary
from ..text.read import sentences, source_names
from .events import SILENT, Log, Observers
from .loop import Outcome

CHUNK = 100  # sentences, rounded up to whole batches
SO_FAR = "so far"  # the reason for a model that the next one will replace
ROOM, GROWTH = 4096, 1.5  # attributes there is room for at first, and the factor when it is used up


class StreamLearner:
    """An algorithm whose layout grows with a vocabulary."""

    def __init__(self, algorithm, options, vocabulary, *, l2, l1, seed):
        self.algorithm, self.options, self.vocabulary = algorithm, options, vocabulary
        self.l2, self.l1, self.rng = l2, l1, np.random.default_rng(seed)
        self.layout = self.optimiser = None
        for refusal in algorithm.check(options, l2, l1, stream=True):
            raise TrainingError(algorithm.name, refusal)

    def learn(self, corpus):
        """The sum of the losses, each before it was learnt from."""
        if not self._has_room():
            self._make_room(corpus)
        return self.optimiser.take_in(Sequences(corpus, self.layout))

    def model(self):
        """(layout, w) of the names there are."""
        v = self.vocabulary
        exact = self._complete(len(v.attributes), len(v.pair_attributes))
        return exact, Resizing(self.layout, exact).weights(self.optimiser.settled())

    def _has_room(self):
        v, layout = self.vocabulary, self.layout
        return (
            layout is not None
            and len(v.labels) == layout.n_labels
            and len(v.attributes) <= layout.n_attributes
            and len(v.pair_attributes) < len(layout.pair_ptr)
        )

    def _make_room(self, corpus):
        v, old = self.vocabulary, self.layout
        held = (0, 0) if old is None else (old.n_attributes, len(old.pair_ptr) - 1)
        self.layout = self._complete(*map(_room, held, (len(v.attributes), len(v.pair_attributes))))
        before, problem = self.optimiser, Problem(corpus, self.layout, l2=self.l2, l1=self.l1)
        self.optimiser = self.algorithm.make(problem, np.zeros(self.layout.n_features), self.rng, **self.options)
        if before is not None:
            self.optimiser.restore(before.resized(Resizing(old, self.layout)))

    def _complete(self, n_attributes, n_pair_attributes):
        v = self.vocabulary
        return complete(len(v.labels), n_attributes, n_pair_attributes, transitions=has_transitions(v))


def _room(held, needed):
    """For how many names there shall be room."""
    return held if needed <= held else max(ROOM, int(GROWTH * needed))


def learn_stream(settings, observer=SILENT):
    """Learn from settings.paths until they end or are interrupted, and write the model; the Outcome."""
    model.check_writable(settings.model)
    with Log.to(settings.log) as log:
        return _Run(settings, Observers(log, observer), log).follow()


class _Run:
    """One stream, from its first sentence to its last."""

    def __init__(self, settings, observer, log):
        self.settings, self.save_every, self.observer, self.log = settings, settings.save_every, observer, log
        template = templates.load(settings.template, settings.dialect) if settings.template else None
        self.vocabulary = Vocabulary([], StringTable(), StringTable(), template, settings.vocabulary_format, 0, 0, settings.form)
        self.builder = CorpusBuilder(self.vocabulary, label_column=settings.label_column)
        l2, l1 = (strength.at(settings.n_hint) for strength in (settings.lambdas[0], settings.l1s[0]))
        self.learner = StreamLearner(settings.algorithm, settings.options, self.vocabulary, l2=l2, l1=l1, seed=settings.seed)
        batch = settings.options.get("batch", 1)
        self.chunk = -(-min(CHUNK, self.save_every) // batch) * batch
        self.waiting = 0  # sentences that are encoded but not learnt from
        self.n = self.n_tokens = 0
        self.loss, self.since = 0.0, 0  # of the sentences since the last model
        self.started, self.size = time.perf_counter(), 0

    def follow(self):
        self.log.write("start", **self._facts(), version=__version__)
        with self.observer.busy():
            try:
                for sentence in self._arriving():
                    self._take(sentence)
            except DataError:
                self._learn()
                if self.n:
                    self._save("the stream broke off")
                raise
            self._learn()
            if not self.n:
                if self.observer.interrupted:
                    raise KeyboardInterrupt
                raise DataError(source_names(self.settings.paths), "no sentences", "one token a line and a blank line after each sentence")
            reason = "interrupted" if self.observer.interrupted else "end of the stream"
            w = self._save(reason)
        self.log.write("end", **self._progress(), reason=reason, model_bytes=self.size)
        return Outcome(w, reason, False, self.n, 1.0, time.perf_counter() - self.started, model_bytes=self.size)

    def _arriving(self):
        """The sentences. An interruption while one is waited for ends the stream; any other is heeded when there is a model."""
        for path in self.settings.paths:
            stream = sentences(path, encoding=self.settings.encoding, form=self.vocabulary.form)
            while not self.observer.interrupted:
                try:
                    with self.observer.idle():
                        sentence = next(stream, None)
                except KeyboardInterrupt:
                    if not self.observer.interrupted:
                        raise
                    return
                if sentence is None:
                    break
                yield sentence

    def _take(self, sentence):
        self.builder.add(sentence)
        self.waiting += 1
        if self.waiting == self.chunk:
            self._learn()
            if self.n // self.save_every > (self.n - self.chunk) // self.save_every:
                self._save(SO_FAR)

    def _learn(self):
        if not self.waiting:
            return
        corpus = self.builder.take()
        if not self.n and (told := templates.choice(self.vocabulary.template)):
            self.observer.say(told)
        self.loss += self.learner.learn(corpus)
        self.n, self.n_tokens = self.n + self.waiting, self.n_tokens + corpus.n_tokens
        self.since, self.waiting = self.since + self.waiting, 0

    def _save(self, reason):
        layout, w = self.learner.model()
        progress = self._progress()
        facts = {**self._facts(), "version": __version__, "reason": reason}
        try:
            self.size = model.save(self.settings.model, self.vocabulary, layout, w, facts, rescue=reason != SO_FAR)
        except ModelError as error:
            if reason != SO_FAR:
                raise
            warnings.warn(f"{error}; learning goes on", CrftrainWarning, stacklevel=2)
        loss = "" if math.isnan(progress["loss"]) else f", loss {progress['loss']:.4f}"
        self.observer.say(f"{reason}: {self.n:,} sequences, {self.n / progress['seconds']:,.0f} a second{loss}; {self.size:,} bytes")
        self.log.write("step", **progress)
        self.loss, self.since = 0.0, 0
        return w

    def _facts(self):
        v, settings = self.vocabulary, self.settings
        n_labels, n_attributes = len(v.labels), len(v.attributes) + len(v.pair_attributes)
        return {
            "algorithm": settings.algorithm.name,
            "options": settings.options,
            "n_sequences": self.n,
            "n_tokens": self.n_tokens,
            "n_labels": n_labels,
            "n_attributes": n_attributes,
            "lambda": self.learner.l2,
            "l1": self.learner.l1,
            "seed": settings.seed,
            "features": "full",
            "transitions": "full",
        }

    def _progress(self):
        """The loss is the mean over the sentences since the last model, each before it was learnt from."""
        return {
            "n_sequences": self.n,
            "n_attributes": len(self.vocabulary.attributes) + len(self.vocabulary.pair_attributes),
            "seconds": time.perf_counter() - self.started,
            "loss": self.loss / self.since if self.since else math.nan,
        }
