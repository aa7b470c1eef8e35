"""Which template lines are worth having: from the lines of the given template and the built-in ones, forwards and backwards.

1. all lines together are one template; the sentences are encoded once with it, and each occurrence knows its line    Lines
2. a model with all lines, on four fifths of the sentences, is scored on the last fifth                                Trial
3. a line's worth is what the held-out likelihood loses without it: lbfgs goes on from the weights of all, less its own
4. the lines worth least go, half of the candidates fewer at each refusal, while the score stays within CLEAR of the best
5. those that went come back, the best one first, where the likelihood rises by it

Lines of label pairs, and those that begin with *, stay as the template has them. Weights of lines that are left out stay at 0, so all
trainings have one layout, and their corpora are columns of one.
"""

import time
from dataclasses import dataclass, replace

import numpy as np

from .. import optimizers
from ..chain._problem import Problem
from ..chain._sequences import Sequences, order_occurrences
from ..chain.layout import arrange, number
from ..errors import SettingsError, TemplateError
from ..tagging._decoder import Decoder
from ..tagging.evaluate import Evaluation
from ..text.encode import Observations
from ..text.template import Template, builtin, builtin_names
from .dealing import assign
from .events import Unheard
from .loop import Asked, Limits, fit
from .train import Training, fit_point

PARTS = 5  # of which one is held out
CLEAR = 0.1  # percent of F1 or accuracy that may be lost while lines go
STEPS, TOL = 12, 1e-2  # of a trial that goes on from the weights of all lines
BACK = 5  # lines at most that come back


@dataclass(frozen=True)
class Score:
    score: float  # percent of F1, or of accuracy
    likelihood: float  # the mean log p of the held-out sequences


class Lines:
    """The union of templates: `sources` are the bodies of its U lines, without their names."""

    def __init__(self, template, n_columns, label_column):
        own, self.fixed = _bodies(template), [source for _, source in template.sources if source[0] not in "Uu"]
        others = [body for name in builtin_names() for body in _bodies(builtin(name)) if _reads(body, n_columns, label_column)]
        self.sources = list(dict.fromkeys([*own, *others]))
        self.given = np.array([body in own for body in self.sources])
        self.template = self.of(np.ones(len(self.sources), bool), f"{template.name} and the built-in ones")

    def of(self, wanted, name):
        """The Template of some of the lines."""
        lines = [f"U{k:03d}:{body}" for k, (body, taken) in enumerate(zip(self.sources, wanted, strict=True)) if taken]
        return Template.parse("\n".join([*lines, *self.fixed, ""]), name)

    def of_attributes(self, table):
        """int64[A]: the line of each attribute, -1 for what always stays."""
        heads = {f"U{k:03d}".encode(): k for k in range(len(self.sources))}
        return np.array([heads.get(name.partition(b":")[0], -1) for name in table.names()], np.int64)


def _bodies(template):
    """The U lines without what stands before the colon."""
    return [source.partition(":")[2] for _, source in template.sources if source[0] in "Uu" and ":" in source]


def _reads(body, n_columns, label_column):
    """Whether the data have what a line looks at."""
    try:
        Template.parse(f"U:{body}", body).check(n_columns, label_column)
    except TemplateError:
        return False
    return True


class Trial:
    """Trainings on four fifths of a corpus with some of the lines."""

    def __init__(self, settings, corpus, vocabulary, line_of):
        self.settings, self.vocabulary = settings, vocabulary
        dense = number(corpus, vocabulary)
        self.line_of = line_of(vocabulary.attributes)
        fold = assign(np.diff(corpus.seq), PARTS, corpus=corpus)
        self.left, self.rest = corpus.take(np.flatnonzero(fold == 0)), corpus.take(np.flatnonzero(fold != 0))
        self.layout = arrange(self.rest, vocabulary, transitions=settings.transitions, dense=dense)
        order_occurrences(self.rest, self.layout)
        l2, l1 = settings.points[0]
        self.l2, self.l1 = l2.at(self.rest.n_sequences), l1.at(self.rest.n_sequences)
        self.owner = np.repeat(self.line_of, np.diff(self.layout.ptr))
        self.n = 0

    def score(self, wanted, w):
        """Score of weights with some of the lines."""
        left, names = self._part(self.left, wanted), self.vocabulary.labels
        best = Decoder(self.layout, w).decode(Sequences(left, self.layout)).labels.tolist()
        evaluation = Evaluation(labels=names)
        for first, end in zip(left.seq.tolist(), left.seq[1:].tolist(), strict=False):
            evaluation.add([names[j] for j in left.label[first:end].tolist()], [names[j] for j in best[first:end]])
        return Score(evaluation.score, -Problem(left, self.layout).value(w))

    def fresh(self, wanted, observer):
        """(Score, weights) of a training from zero."""
        self.n += 1
        part = Training(self._part(self.rest, wanted), self.vocabulary, self.layout.dense, self.layout, 0.0)
        asked = replace(self.settings, tol=TOL, threads=self.settings.threads, checkpoint=None, resume=None)
        outcome, _ = fit_point(asked, part, observer=Unheard(observer))
        return self.score(wanted, outcome.w), outcome.w

    def without(self, wanted, w, observer):
        """(Score, weights) with fewer lines than w has, from the rest of w."""
        self.n += 1
        w = np.where((self.owner < 0) | wanted[self.owner], w[: len(self.owner)], 0.0)
        w = np.concatenate([w, self._tail])
        problem = Problem(self._part(self.rest, wanted), self.layout, l2=self.l2, l1=self.l1, threads=self.settings.threads)
        algorithm = optimizers.get("owlqn" if self.l1 else "lbfgs")
        opt = algorithm.make(problem, w, np.random.default_rng(self.settings.seed), **algorithm.defaults())
        outcome = fit(problem, opt, tol=TOL, monitors=[Asked(Unheard(observer).step), Limits(steps=STEPS)])
        return self.score(wanted, outcome.w), outcome.w

    def keep_tail(self, w):
        """The weights that are no line's: label pairs and their attributes."""
        self._tail = w[len(self.owner) :]

    def _part(self, corpus, wanted):
        """The corpus with the occurrences of some lines."""
        if wanted.all():
            return corpus
        nodes = corpus.nodes
        keep = (self.line_of < 0) | wanted[self.line_of]
        taken = keep[nodes.attr]
        ptr = np.concatenate([[0], np.cumsum(taken)])[nodes.ptr]
        value = None if nodes.value is None else nodes.value[taken]
        return replace(corpus, nodes=Observations(ptr.astype(np.int64), nodes.attr[taken], value))


def search(settings, observer, read):
    """The Template of the lines that are worth having; read(template) -> (Corpus, Vocabulary) of the training files."""
    started = time.perf_counter()
    _, vocabulary = read(settings.template)
    if vocabulary.template is None:
        raise SettingsError("", "items have no template to search", "data in columns")
    lines = Lines(vocabulary.template, vocabulary.n_columns, vocabulary.label_column)
    corpus, vocabulary = read(lines.template)
    trial = Trial(settings, corpus, vocabulary, lines.of_attributes)
    start, _ = trial.fresh(lines.given, observer)
    observer.say(f"the given template, {lines.given.sum()} lines: {_text(start)}")
    wanted, best = _searched(lines, trial, observer)
    told = f"{wanted.sum()} of {len(wanted)} lines: {_text(best)}, {trial.n} trainings, {time.perf_counter() - started:.1f} s"
    if best.score < start.score:
        wanted, told = lines.given, f"{told}: no better than the given template, which stays"
    observer.say(told)
    return lines.of(wanted, "lines found")


def _searched(lines, trial, observer):
    """(bool[lines], Score): steps 2 to 5."""
    every = np.ones(len(lines.sources), bool)
    best, w = trial.fresh(every, observer)
    trial.keep_tail(w)
    observer.say(f"all {len(every)} lines: {_text(best)}")
    worth = np.empty(len(every))
    for k, body in enumerate(lines.sources):
        if observer.interrupted:
            raise KeyboardInterrupt
        found, _ = trial.without(every & (np.arange(len(every)) != k), w, observer)
        worth[k] = best.likelihood - found.likelihood
        observer.say(f"{best.score - found.score:+7.2f} {worth[k]:+9.4f}  {body}")
    wanted, best = _fewer(every, worth, best, w, trial, observer)
    return _back(wanted, worth, best, w, trial, observer)


def _fewer(wanted, worth, best, w, trial, observer):
    """The lines without those that are worth least."""
    order, middle = np.argsort(worth, kind="stable").tolist(), max(0.0, np.median(worth))
    candidates = [k for k in order if worth[k] <= middle]
    n, top, least = len(candidates), best, best.score - CLEAR
    while n and candidates:
        fewer = wanted.copy()
        fewer[candidates[:n]] = False
        found, _ = trial.without(fewer, w, observer)
        observer.say(f"{fewer.sum()} lines: {_text(found)}")
        if found.score >= least and found.likelihood >= top.likelihood - abs(top.likelihood) * 0.01:
            wanted, best, candidates = fewer, found, candidates[n:]
            least = max(least, found.score - CLEAR)
            n = min(n, len(candidates))
        else:
            n //= 2
    return wanted, best


def _back(wanted, worth, best, w, trial, observer):
    """The lines with some of those that went."""
    for k in sorted(np.flatnonzero(~wanted).tolist(), key=lambda k: -worth[k])[:BACK]:
        more = wanted.copy()
        more[k] = True
        found, _ = trial.without(more, w, observer)
        if found.likelihood > best.likelihood and found.score >= best.score:
            wanted, best = more, found
    return wanted, best


def _text(found):
    return f"score {found.score:.2f}, likelihood {found.likelihood:.4f}"
