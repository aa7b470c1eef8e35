"""The estimator on scikit-learn's own base: metadata routing, display in notebooks. Needs scikit-learn, the extra `sklearn`."""

from sklearn.base import BaseEstimator

from .api.estimator import CRF as Own

__all__ = ["CRF"]


class CRF(Own, BaseEstimator):
    """crftrain.CRF as a BaseEstimator."""

    __doc__ = Own.__doc__

    def __sklearn_tags__(self):
        return Own.__sklearn_tags__(self)
