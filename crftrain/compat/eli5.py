"""eli5.explain_weights for crftrain's estimators: call register() once, then explain_weights(crf) works.

>>> register()                                              # doctest: +SKIP
>>> eli5.show_weights(crf, top=10)                          # doctest: +SKIP
"""

import numpy as np

METHOD = "CRF"


def register():
    """Make eli5 understand crftrain.CRF and the drop-in for sklearn_crfsuite.CRF."""
    from eli5.explain import explain_weights

    from ..api.estimator import CRF
    from .sklearn_crfsuite import CRF as DropIn

    for estimator in (CRF, DropIn):
        explain_weights.register(estimator)(explain)


def explain(crf, top=20, target_names=None, targets=None, feature_re=None, feature_filter=None):
    """The heaviest attributes of each label, and the transitions."""
    from eli5._feature_weights import get_top_features
    from eli5.base import Explanation, TargetExplanation, TransitionFeatureWeights
    from eli5.utils import get_target_display_names

    names, labels = list(crf.attributes_), list(crf.classes_)
    number, column = {name: a for a, name in enumerate(names)}, {label: j for j, label in enumerate(labels)}
    coef, edges = np.zeros((len(labels), len(names))), np.zeros((len(labels), len(labels)))
    for (name, label), weight in crf.state_features_.items():
        coef[column[label], number[name]] = weight
    for (first, second), weight in crf.transition_features_.items():
        edges[column[first], column[second]] = weight
    keep = np.array([_kept(name, feature_re, feature_filter) for name in names], bool)
    shown, kept = np.array(names, object)[keep], coef[:, keep]
    order = [column[label] for label, _ in get_target_display_names(np.array(sorted(labels)), target_names, targets)]
    displayed = dict(get_target_display_names(np.array(sorted(labels)), target_names, targets))
    return Explanation(
        targets=[TargetExplanation(displayed[labels[j]], feature_weights=get_top_features(list(shown), kept[j], top)) for j in order],
        transition_features=TransitionFeatureWeights(class_names=[displayed[labels[j]] for j in order], coef=edges[np.ix_(order, order)]),
        estimator=repr(crf),
        method=METHOD,
        is_regression=False,
    )


def _kept(name, pattern, function):
    import re

    return (pattern is None or re.search(pattern, name) is not None) and (function is None or function(name, None))
