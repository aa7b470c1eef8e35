"""The way of a run under l1 and lambda, in three parts.

    beginning   BEGINNING passes of sgd-l1 from zero weights, whose rate falls quickly: each takes half as long as one of sag, which has to
                meet all sequences twice before its steps are those of a batch method.
    middle      owlqn, with the Hessian's diagonal at these weights (--precondition), until FEW iterations lower f by less than FEW times
                FLAT of it: sag gets on slowly there, on rare attributes and where lambda is small. There is none where vectors are long
                (_counts), nor, with fewer than MANY labels, where l1 is so strong that the last pass of the beginning lowered f by less
                than STEEP of it. With more an iteration of owlqn takes a quarter of sag's pass.
    end         sag, which is better at the last tenths of a per cent and at bounding the optimum.

Weights to start from, other than zero, take the place of the beginning. Where it has come to nothing better than zero, sag begins there.
"""

import math
from typing import NamedTuple

import numpy as np

from ..base import counted, no_better_than_zero
from ._counts import MANY

BEGINNING, FEW, FLAT, STEEP = 5, 5, 5e-4, 0.06
BEGIN, MIDDLE, END, ALONE = 0, 1, 2, 3  # ALONE: there are no parts, or no more


class Turn(NamedTuple):
    name: str
    part: int
    why: str
    anew: bool = False  # from zero weights


class Way:
    """Where a run is. between: whether owlqn may be in the middle."""

    def __init__(self, part, between):
        self.part, self.between = part, between
        self.lowered = [math.inf, math.inf]  # f, and by how much of it the last step of the beginning lowered that

    def see(self, step):
        """A step of the beginning."""
        if self.part == BEGIN:
            self.lowered = [step.objective, self.lowered[0] / step.objective - 1 if step.objective > 0 else 0.0]

    def turn(self, name, inner, facts):
        """What goes on in the place of inner, which is the algorithm of that name; None: it does itself."""
        if self.part == BEGIN and _has_begun(name, inner):
            return self._after_the_beginning(name, inner, facts)
        if self.part == MIDDLE and len(inner.recent) > FEW and inner.recent[-FEW][0] - inner.f < FEW * FLAT * inner.f:
            return Turn("sag", END, f"goes on, as {FEW} iterations lowered the objective by less than {FEW * FLAT:.2%} of it")
        return None

    def _after_the_beginning(self, name, inner, facts):
        if self.lowered[0] < math.inf and self._in_vain(inner, facts):
            return self.anew("as those that it has come to are no better")
        if self.between and (facts.n_labels >= MANY or not self.lowered[1] < STEEP):
            return Turn("owlqn", MIDDLE, "goes on with the Hessian's diagonal at these weights")
        if name != "sag":
            return Turn("sag", ALONE, "goes on from these weights")
        self.part = ALONE
        return None

    def _in_vain(self, inner, facts):
        """Whether the weights are no better than zero: looked at where the beginning's own estimate is not far below."""
        at_zero = facts.n_tokens * math.log(facts.n_labels) / facts.n_sequences  # less where labels are constrained
        return self.lowered[0] >= 0.5 * at_zero and no_better_than_zero(inner.objective, inner.w)

    def anew(self, why):
        return Turn("sag", ALONE, f"from zero weights, {why}", anew=True)

    def state(self):
        return {"part": np.array([self.part]), "lowered": np.array(self.lowered)}

    def restore(self, state):
        self.part, self.lowered = counted(state, "part", ALONE), state["lowered"].tolist()


def _has_begun(name, inner):
    """Whether the beginning is over, or weights are there that take its place."""
    return name != "sgd-l1" or inner.passes >= BEGINNING or (inner.passes == 0 and inner.w.any())
