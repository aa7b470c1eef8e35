"""What the perceptron, PA, AROW and MIRA share outside their loops: a pass, when to stop, checkpoints, options."""

import numpy as np

from ...errors import TrainingError
from ..average._shared import vectors
from ..base import Algorithm, Optimiser, Option, Step, counted

EPSILON = Option("epsilon", 0.0, "stop when the mean loss of a pass is below this", minimum=0.0)
AVERAGING = "the result is the mean of the weights after each step"
AUGMENT = Option("augment", 0.0, "bonus of a wrong label in the search for the path to learn from; 0: the path that tag finds", minimum=0.0)
CALIBRATION = (
    "Nothing here is a likelihood: the model tags as it was trained to, but its marginals and probabilities are not calibrated (they\n"
    "are too sure, since weights grow with the margin), and the exact objective that the last line and the log tell is only for\n"
    "comparison. What the steps print is the mean loss of the pass, by the weights of the moment. --lambda does not apply."
)


def mistake_driven(steps, *options, summary, reference, details="", **fixed):
    """The Algorithm with these steps; `fixed` are arguments of theirs that are no options."""

    def build(objective, w, rng, **options):
        return MistakeDriven(objective, w, rng, steps, **fixed, **options)

    return Algorithm(
        summary=summary,
        reference=reference,
        solves=frozenset({"no-l2"}),
        options=options,
        optimiser=MistakeDriven,
        build=build,
        memory=memory,
        passes=100,
        details=details + CALIBRATION,
    )


def memory(facts, options):
    """w, v and d, and the mean."""
    return {"weights, what is kept of each, and their mean": vectors(facts, 2) + 8 * facts.n_features}


class MistakeDriven(Optimiser):
    """An algorithm around MarginSteps: a step is one pass over the sequences in a new order."""

    online = True

    def __init__(self, objective, w, rng, steps, *, epsilon, averaging=False, **options):
        super().__init__(objective, w, rng)
        self.epsilon = epsilon
        self.steps = steps(objective, w, averaging=averaging, **options)
        self.mean = np.empty_like(w) if averaging else w
        self.passes = 0

    def step(self):
        loss = self.steps.learn(self.rng.permutation(self.objective.n_sequences))
        self.passes += 1
        if not self.steps.write(self.w, self.mean):
            raise TrainingError(f"pass {self.passes}", "a weight is not finite", "smaller feature values or smaller steps")
        wrong = self.steps.wrong / self.objective.n_tokens
        return Step(loss, exact=False, note=f"{100 * wrong:.2f} % of the labels wrong", done=self._done(loss))

    def _done(self, loss):
        if loss < self.epsilon:
            return f"mean loss below {self.epsilon:g}"
        return "" if self.steps.updates or self.steps.look_at_all() else "a pass that changed nothing"

    def solution(self):
        return self.mean

    def state(self):
        return {**self.steps.state(), "w": np.array(self.w), "passes": np.array([self.passes])}

    def restore(self, state):
        self.steps.restore(state["w"], state)
        self.passes = counted(state, "passes")
        self.steps.write(self.w, self.mean)
