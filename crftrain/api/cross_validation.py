"""What cross-validation found, in the form of scikit-learn's searches."""

from __future__ import annotations

import numpy as np

from ..training.events import Observer


class Folds(Observer):
    """Keeps what the folds found; found: a training.folds.Folded, or None."""

    found = None

    def folded(self, folded):
        self.found = folded

    def results(self) -> dict:
        """cv_results_: arrays with a place for each strength that all folds have seen. The best is that of the pooled predictions."""
        found = self.found
        params = [{"l2": str(l2), "l1": str(l1)} for l2, l1 in found.strengths]
        scores = np.array([[score for score, _ in point.parts] for point in found.points])
        seconds = np.array([[seconds for _, seconds in point.parts] for point in found.points])
        mean = scores.mean(axis=1)
        results = {"mean_fit_time": seconds.mean(axis=1), "std_fit_time": seconds.std(axis=1)}
        for name in ("l2", "l1"):
            results[f"param_{name}"] = np.ma.MaskedArray([one[name] for one in params], mask=False, dtype=object)
        results["params"] = params
        results |= {f"split{k}_test_score": scores[:, k] for k in range(scores.shape[1])}
        results |= {"mean_test_score": mean, "std_test_score": scores.std(axis=1)}
        results["rank_test_score"] = np.array([1 + int((mean > one).sum()) for one in mean], np.int32)
        return results | {"pooled_test_score": np.array([point.evaluation.score for point in found.points])}
