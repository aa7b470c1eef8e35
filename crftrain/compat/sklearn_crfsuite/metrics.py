"""scikit-learn's scores of single labels, which stand in lists of lists; scikit-learn has to be there."""

from functools import wraps

from ...metrics import sequence_accuracy_score
from .utils import flatten

__all__ = ["flat_accuracy_score", "flat_classification_report", "flat_f1_score", "flat_fbeta_score", "flat_precision_score"]
__all__ += ["flat_recall_score", "sequence_accuracy_score"]


def _flat(name):
    """A function of sklearn.metrics, of the labels in one list."""

    @wraps(_flat)
    def score(y_true, y_pred, *args, **kwargs):
        from sklearn import metrics

        return getattr(metrics, name)(flatten(y_true), flatten(y_pred), *args, **kwargs)

    score.__name__ = score.__qualname__ = f"flat_{name}"
    score.__doc__ = f"sklearn.metrics.{name} of the labels in one list."
    return score


flat_accuracy_score = _flat("accuracy_score")
flat_precision_score = _flat("precision_score")
flat_recall_score = _flat("recall_score")
flat_f1_score = _flat("f1_score")


def flat_fbeta_score(y_true, y_pred, beta, **kwargs):
    """sklearn.metrics.fbeta_score of the labels in one list."""
    from sklearn import metrics

    return metrics.fbeta_score(flatten(y_true), flatten(y_pred), beta=beta, **kwargs)


def flat_classification_report(y_true, y_pred, labels=None, **kwargs):
    """sklearn.metrics.classification_report of the labels in one list."""
    from sklearn import metrics

    return metrics.classification_report(flatten(y_true), flatten(y_pred), labels=labels, **kwargs)
