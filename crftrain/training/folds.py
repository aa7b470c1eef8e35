"""Cross-validation: every sequence is tagged once, by a model that has not seen it, and all are scored together."""

from dataclasses import replace

import numpy as np

from ..chain.layout import arrange
from ..errors import CrftrainError
from .events import Unheard
from .heldout import score_corpus


def cross_validate(settings, training, fit_point, observer):
    """A report of all predictions together; sequence i belongs to fold i mod N.

    Attributes that only the left-out fold has get no weights. fit_point(settings, training) trains. A checkpoint is of the training
    on everything alone: that of a fold would take its place, and nothing could go on from it.
    """
    corpus, folds = training.corpus, settings.folds
    settings = replace(settings, checkpoint=None, resume=None)
    if folds > corpus.n_sequences:
        raise CrftrainError("", f"{folds} folds of {corpus.n_sequences} sequences", "no more folds than sequences")
    fold, evaluation = np.arange(corpus.n_sequences) % folds, None
    for k in range(folds):
        rest, left_out = corpus.take(np.flatnonzero(fold != k)), corpus.take(np.flatnonzero(fold == k))
        layout = arrange(rest, training.vocabulary, features=settings.features, transitions=settings.transitions, dense=training.dense)
        outcome, _ = fit_point(settings, replace(training, corpus=rest, layout=layout), observer=Unheard(observer))
        if observer.interrupted:
            raise KeyboardInterrupt
        evaluation = score_corpus(layout, outcome.w, left_out, training.vocabulary.labels, evaluation)
    return f"{folds} folds, each tagged by a model of the others:\n{evaluation.report()}"
