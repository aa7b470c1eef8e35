"""sklearn-crfsuite's names: `from crftrain.compat import sklearn_crfsuite`, or in its place in sys.modules."""

from ._estimator import CRF

__all__ = ["CRF"]
