"""Rates of blocks: weights that are seldom met take longer steps.

    r = c^-POWER, c the sum of an attribute's squared values over the corpus, scaled so that its mean over occurrences is 1

With r = 1 a step is as long as the constants of the sequences allow, which add up over their attributes, rare and frequent ones alike;
a rare one would bear more. On CoNLL-2000 with c1 = c2 = 0.1 powers of 0.2 to 0.3 were as good, and better than 0 and than 0.5, the power
that AdaGrad's rates have in the long run; with c1 = 0.1, c2 = 0.01 on JNLPBA 0.3 was better than 0.2.
"""

import numpy as np

from ...text._occurrences import counted, squares

POWER = 0.25


def rates(corpus, layout, gold_counts):
    """(float64[blocks], float64[transitions])"""
    nodes = corpus.nodes
    met = counted(nodes.attr, layout.n_attributes) if nodes.value is None else squares(nodes.attr, nodes.value, layout.n_attributes)
    counts = np.maximum(met, 1e-3)
    pairs = gold_counts[layout.transitions]
    pairs = np.abs(pairs) + max(1.0, pairs.sum()) / max(1, len(pairs))  # those never seen are expected, too
    blocks = np.ones(layout.n_blocks)
    own = blocks[: layout.n_attributes]
    own[:] = counts**-POWER
    scale = counts.sum() / (counts @ own) if len(nodes.attr) else 1.0
    own *= scale
    return blocks, scale * pairs**-POWER
