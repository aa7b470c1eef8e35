"""What a Decoder is asked for sequences, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass

TYPE_CHECKING = False  # as typing has it, which is not worth its loading

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Query:
    """One question for all sequences of a corpus; the best labels are always part of the answer."""

    probabilities: bool = False  # of the best labellings
    marginals: bool = False
    posterior: bool = False  # the best labels are those with the largest sum of marginals, not the most probable sequence
    n: int = 1  # labellings, best first
    chunks: tuple | None = None  # evaluate.chunk_rules(labels): how probable is each chunk of the best labels
    known: np.ndarray | None = None  # bool[T, L]: the labels that each token may have; the rest is decoded given these


@dataclass(frozen=True)
class Sure:
    """How sure the labels of one sentence are, as far as it was asked."""

    gold: list | None = None  # the labels that the data have
    labels: list | None = None  # the probability of each
    every: dict | None = None  # {label: its probability at each token}
    whole: float | None = None  # of all together
    chunks: dict | None = None  # {(first token, token behind the last): probability}


@dataclass(frozen=True)
class Decoded:
    """The answer: labels of all tokens one after the other; log p of each sequence's best labelling; P(y_t = j).

    ranked: for each sequence (scores float64[k], labels int32[k, T]) of its k <= n best labellings. What was not asked for is None. A
    sequence for which nothing is legal has log p -inf; then its labels mean nothing.
    """

    labels: np.ndarray
    scores: np.ndarray | None = None  # of each sequence's labelling
    log_p: np.ndarray | None = None
    marginals: np.ndarray | None = None
    log_z: np.ndarray | None = None
    ranked: list | None = None
    chunks: tuple | None = None  # first tokens, tokens behind the last, probabilities
    impossible: np.ndarray | None = None  # bool for each sequence, where something was constrained
