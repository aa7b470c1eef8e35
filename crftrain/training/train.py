"""From a corpus to a model, and nothing is written.

1. weights are counted; how much memory they take is said before it is taken  layout
2. for each regularisation strength: train, warm-started from the last one    loop, optimizers
3. the chosen weights and what is to be said of them are the model            model
"""

import time
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from .. import __version__
from ..chain._parts import even, even_work, shared_numbers
from ..chain._problem import Problem
from ..chain._sequences import order_occurrences
from ..chain.checksum import checksum
from ..chain.layout import Layout, arrange, number
from ..chain.memory import free_memory
from ..chain.sharded import sharded
from ..chain.sizes import sizes
from ..errors import TrainingError
from ..model.model import Model
from ..model.warmstart import initial_weights, widened
from ..text.encode import Corpus, Vocabulary
from . import checkpoint
from .events import MEGABYTE, SILENT, ending, last_event, limits, model_facts, run_facts, scores_text, start_event
from .folds import FoldsInterrupted, cross_validate
from .loop import Asked, HeldOut, Limits, Plateau, fit
from .proof import DEFAULT, Goal, Prover
from .repeats import fold_again, train_again
from .search import along, following
from .strength import Strength
from .tried import Tried, table

WALKED = 7  # strengths that a search for the best seldom needs more than
VECTORS = 4  # as long as its weights, that a shard holds while it is asked: what comes, what goes, and copies of both on the way


class Numbered:
    """Data ready to be learnt from, wherever they are: vocabulary, layout, n_sequences, n_tokens, objective(), sizes, checksum()."""

    vocabulary: Vocabulary
    layout: Layout

    @property
    def elsewhere(self):
        """Whether the objective is summed in other processes."""
        return False

    @property
    def n_sequences(self) -> int:
        raise NotImplementedError

    @property
    def n_tokens(self) -> int:
        raise NotImplementedError

    @property
    def facts(self):
        """The numbers that logs and models speak of."""
        return {
            "n_sequences": self.n_sequences,
            "n_tokens": self.n_tokens,
            "n_labels": len(self.vocabulary.labels),
            "n_attributes": len(self.vocabulary.attributes) + len(self.vocabulary.pair_attributes),
            "n_features": self.layout.n_features,
        }


@dataclass
class Training(Numbered):
    """A corpus ready to be learnt from."""

    corpus: Corpus
    vocabulary: Vocabulary
    dense: int
    layout: Layout
    encode_seconds: float
    cluster: Any = None  # where its shards are, if not here: place(make, recipes) gives an engine
    placed: Any = field(default=None, repr=False)  # the objective over them

    @property
    def n_sequences(self):
        return self.corpus.n_sequences

    @property
    def n_tokens(self):
        return self.corpus.n_tokens

    @property
    def elsewhere(self):
        return self.cluster is not None

    def objective(self, settings, l2, l1):
        """What is minimised."""
        if settings.shards or self.elsewhere:
            return self._over_shards(settings).at(l2=l2, l1=l1)
        return Problem(self.corpus, self.layout, l2=l2, l1=l1, threads=settings.threads)

    def _over_shards(self, settings):
        """The same without a penalty; shards are made once."""
        if self.placed is None:
            cuts = even(self.corpus, settings.shards or self.cluster.n_workers)
            self.placed = sharded(self.corpus, self.layout, cuts, threads=settings.threads, cluster=self.cluster)
        return self.placed

    @property
    def sizes(self):
        """And those that an algorithm's memory depends on besides."""
        return sizes(self.corpus, self.layout)

    def copies(self, threads):
        """Numbers that threads sum apart."""
        return shared_numbers(self.corpus, self.layout, even_work(self.corpus, threads)) if threads > 1 else 0

    @property
    def n_bytes(self):
        """Of the corpus."""
        return sum(array.nbytes for array in self.corpus.arrays())

    def checksum(self):
        """Of the corpus."""
        check = 0
        for array in self.corpus.arrays():
            check = checksum(array, check)
        return check


def train(
    corpus,
    vocabulary,
    settings,
    observer=SILENT,
    *,
    heldout=None,
    init=None,
    started=None,
    groups=None,
    cluster=None,
    more_facts=MappingProxyType({}),
):
    """(Model, Outcome) of training on a corpus, which is renumbered in place, as the settings ask.

    heldout(vocabulary) gives HeldOutData in the numbers of the training. init is a model to start from; with settings.update its
    weights all stay. groups: the name of each sequence's group, for cross-validation. cluster: where its shards are, if not here. The
    model also says more_facts.
    """
    training = replace(numbered(settings, corpus, vocabulary, started), cluster=cluster)
    return train_numbered(training, settings, observer, heldout=heldout, init=init, groups=groups, more_facts=more_facts)


def train_numbered(training, settings, observer=SILENT, *, heldout=None, init=None, groups=None, more_facts=MappingProxyType({})):
    """The same of data that are numbered already."""
    vocabulary, more_facts = training.vocabulary, {**limits(settings), **more_facts}
    if init is not None and settings.update:
        training = replace(training, layout=widened(training.layout, init, vocabulary))
    w = np.zeros(training.layout.n_features)
    if init is not None:
        w, placed = initial_weights(init, vocabulary, training.layout)
        if not settings.update:
            observer.say(f"{settings.init or 'the first model'}: {placed:,} of its weights are the start")
    heldout = heldout and heldout(vocabulary)
    observer.say(describe(settings, training, heldout))
    if training.elsewhere:
        objective = training.objective(settings, 0.0, 0.0)
        objective.engine.check_room([VECTORS * 8 * share.layout.n_features for share in objective.shares])
        observer.say(spread(objective))
    with observer.busy():
        if observer.interrupted:
            raise KeyboardInterrupt
        if settings.folds or (settings.searches and not heldout):
            with observer.idle():  # there is nothing yet that could be saved
                folded = _folded(settings, training, observer, groups)
            if settings.repeat and not heldout:
                with observer.idle():
                    again = fold_again(_as_folds_say(settings, folded, None), training, fit_point, observer, groups, folded)
                more_facts = {**more_facts, "repeats": again}
            w = folded.start if settings.searches and init is None and not heldout else w
            settings, more_facts = _as_folds_say(settings, folded, heldout), {**more_facts, "folds": folded.facts}
        outcome, facts = _follow_path(settings, training, w, heldout, observer)
        if settings.repeat and heldout:
            one = replace(settings, lambdas=(Strength(facts["lambda"]),), l1s=(Strength(facts["l1"]),))
            more_facts = {**more_facts, "repeats": train_again(one, training, fit_point, observer, heldout, outcome.dev)}
    if vocabulary.legal is not None:
        more_facts = {**more_facts, "legal": vocabulary.legal.said}
    return Model(vocabulary, training.layout, outcome.w, {**facts, **more_facts}), outcome


def _folded(settings, training, observer, groups):
    """What cross-validation found, which is told; where it is interrupted, what was finished."""
    try:
        folded, interrupted = cross_validate(settings, training, fit_point, observer, groups), None
    except FoldsInterrupted as error:
        folded, interrupted = error.folded, error
    observer.say(folded.report())
    observer.folded(folded)
    if interrupted is not None:
        raise interrupted
    return folded


def _as_folds_say(settings, folded, heldout):
    """The settings with the chosen strength; held-out data choose for themselves."""
    if heldout:
        return settings
    l2, l1 = folded.strengths[folded.best]
    return replace(settings, lambdas=(l2,), l1s=(l1,))


def numbered(settings, corpus, vocabulary, started=None):
    """A Training, once there are a corpus and its vocabulary."""
    started = time.perf_counter() if started is None else started
    dense = number(corpus, vocabulary) if settings.features == "observed" else 0
    layout = arrange(corpus, vocabulary, features=settings.features, transitions=settings.transitions, dense=dense)
    order_occurrences(corpus, layout)
    return Training(corpus, vocabulary, dense, layout, time.perf_counter() - started)


def describe(settings, training, heldout=None):
    """What is about to be trained and what it will take; TrainingError if that is more than the machine has free."""
    facts, algorithm = training.sizes, settings.algorithm
    facts.threads, facts.l1 = settings.threads, max(l1.number for _, l1 in settings.points)
    facts.l2 = min(l2.at(training.n_sequences) for l2, _ in settings.points)
    parts = algorithm.memory(facts, settings.options)
    copies = facts.n_features * bool(heldout) + training.copies(settings.threads)
    if copies:
        parts["copies for threads and held-out data"] = 8 * copies
    if settings.folds and settings.several:  # they go on side by side from strength to strength
        parts["folds side by side"] = (settings.folds - 1) * sum(parts.values())
    if settings.searches and not heldout:
        parts["weights of what is tried"] = 8 * facts.n_features * WALKED
    need, free = sum(parts.values()), free_memory()
    told = ", ".join(f"{what} {size / MEGABYTE:,.0f} MB" for what, size in parts.items())
    if free is not None and need > free:
        found = f"{facts.n_features:,} features take {need / MEGABYTE:,.0f} MB ({told}), and {free / MEGABYTE:,.0f} MB are free"
        if not algorithm.adapts:
            raise TrainingError(algorithm.name, found, f"less: {algorithm.lighter}")
        told += f" (more than the {free / MEGABYTE:,.0f} MB that are free: {algorithm.lighter} take less)"
    attributes = training.facts["n_attributes"]
    n_pairs, every, pairs = len(training.layout.transition), facts.n_labels**2, ""
    if settings.transitions == "auto" and 0 < n_pairs < every:
        pairs = f"\nmany labels: the {n_pairs:,} label pairs seen have weights, not all {every:,} (transitions full: all)"
    return (
        f"{facts.n_sequences:,} sequences, {facts.n_tokens:,} tokens, {facts.n_labels:,} labels, {attributes:,} attributes\n"
        f"{facts.n_features:,} features; memory: {told}, corpus {training.n_bytes / MEGABYTE:,.0f} MB{pairs}"
    )


def spread(objective):
    """Where the shards are, and what a round of them costs."""
    own, n = sum(share.layout.n_features for share in objective.shares), len(objective.shares)
    tokens = f"{objective.n_tokens / max(n, 1):,.0f} tokens each"
    copies = f"every weight in {own / max(objective.n_features, 1):.2f} of them"
    return f"{objective.engine.n_workers} workers, {n} shards, {tokens}, {copies}; a round is {16 * own / MEGABYTE:,.1f} MB"


def monitors(settings, heldout, observer):
    """The monitors that every fit has, held-out scores first."""
    algorithm = settings.algorithm
    watching = [HeldOut(heldout, patience=settings.patience, last=settings.select == "last")] if heldout else []
    limits = Limits(
        steps=algorithm.passes if settings.passes is None else settings.passes,
        max_passes=settings.max_passes,
        max_seconds=settings.max_seconds,
        step_name=algorithm.step_name,
    )
    return [*watching, Asked(observer.step), *([] if settings.tol == 0 else [Plateau()]), limits]


def _tell(optimiser, observer):
    for text in optimiser.news():
        observer.say(text)


def fit_point(settings, training, *, point=0, w=None, heldout=None, before=None, watching=(), observer=SILENT, goal=None):
    """Train at one strength of the path; returns (outcome, optimiser).

    From zero unless w is given, which changes in place; `before` is the optimiser of the point before, which may go on
    with more than its weights. watching: monitors besides the usual ones. goal: another one than the settings say.
    """
    algorithm, n = settings.algorithm, training.n_sequences
    l2, l1 = (strength.at(n) for strength in settings.points[point])
    problem = training.objective(settings, l2, l1) if before is None else before.objective.at(l2=l2, l1=l1)
    w = np.zeros(problem.n_features) if w is None else w
    rng = np.random.default_rng(settings.seed)
    if before is not None and before.can_move_to(problem):
        optimiser, rng = before, before.rng
        optimiser.move_to(problem)
    else:
        optimiser = algorithm.make(problem, w, rng, **settings.options)
    _tell(optimiser, observer)
    scorer = heldout.scorer(training.layout, select=settings.select, threads=settings.threads) if heldout else None
    watching = [Asked(lambda progress: _tell(optimiser, observer)), *monitors(settings, scorer, observer), *watching]
    prover = Prover(problem, optimiser, goal or Goal.of(problem, settings.tol, default_slope=algorithm.tol))
    run, start = run_facts(settings, training, problem), None
    if settings.resume:
        start = checkpoint.restore(settings.resume, run, problem, optimiser, rng, [prover, *watching])
    if settings.checkpoint:
        writer = checkpoint.Checkpoint(
            settings.checkpoint, settings.checkpoint_every, run, optimiser, rng, monitors=[prover, *watching], observer=observer
        )
        watching = [*watching, writer]
    return fit(problem, optimiser, prover=prover, monitors=watching, trace=settings.trace, start=start, traffic=problem.traffic), optimiser


def _follow_path(settings, training, w, heldout, observer):
    """Train at each strength, each from where the one before ended; (the chosen outcome, its facts)."""
    chosen, optimiser, many, k, tried, most = None, None, settings.several, 0, [], ()
    path = along(settings)
    point = next(path)
    while point is not None:
        one, where = point.settings, {"path": k} if many else {}
        event = {**where, **start_event(one, training, 0), "encode_seconds": training.encode_seconds, "version": __version__}
        observer.start(event, one.algorithm.step_name)
        if many:
            observer.say(f"{point.name}:")
        w, before = (w, optimiser) if point.goes_on or k == 0 else (np.zeros(len(w)), None)
        outcome, optimiser = fit_point(one, training, w=w, heldout=heldout, before=before, observer=observer)
        observer.say(ending(outcome, one.algorithm))
        tried.append(Tried.of(one.points[0], outcome.dev, [outcome], outcome.seconds))
        value = (outcome.dev_score, *(strength.number for strength in one.points[0]))
        if chosen is None or heldout is None or value > most:  # of equals the strongest
            kept, best, most = outcome.w.copy() if many else outcome.w, point, value
            chosen = replace(outcome, w=kept), model_facts(one, training, 0, outcome)
        if many:
            observer.end({**where, **last_event(outcome, None), **{name: event[name] for name in ("lambda", "l1")}})
        if observer.interrupted:
            break
        point, k = following(path, outcome.dev_score, (outcome.dev or {}).get("likelihood", np.nan)), k + 1
    if settings.searches and heldout and not observer.interrupted:
        chosen = _finished(replace(best.settings, tol=settings.tol), training, chosen, heldout, observer)
    if many:
        observer.say("\n".join(table(tried)))
        scores = f"{scores_text(chosen[0].dev)}; {tried[0].why(settings.select, len(tried))}" if heldout else ""
        observer.say(f"kept: {best.name}: {scores or 'the last one; held-out data (--dev) or --folds would choose'}")
        if heldout:  # else nothing was chosen: the last one's model is what training it alone from there on would give
            chosen = chosen[0], {**chosen[1], "tried": [one.facts for one in tried]}
    return chosen


def _finished(settings, training, chosen, heldout, observer):
    """The chosen (outcome, facts), gone on with to the tolerance that was not needed to choose by."""
    before = chosen[0]
    proved = before.proved if before.proved_last is None else before.proved_last
    if settings.tol is not None or (proved is not None and proved <= DEFAULT):
        return chosen
    outcome, _ = fit_point(settings, training, w=before.w.copy(), heldout=heldout, observer=observer)
    observer.say(ending(outcome, settings.algorithm))
    if observer.interrupted and outcome.dev_score < before.dev_score:
        return chosen
    return outcome, model_facts(settings, training, 0, outcome)
