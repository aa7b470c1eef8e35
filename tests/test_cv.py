"""CRF(cv=): the strength that folds choose, told as scikit-learn's searches tell it."""

import numpy as np
import pytest

from crftrain import CRF


def data(n=60, seed=1):
    rng = np.random.default_rng(seed)
    words = [[f"w{rng.integers(8)}" for _ in range(rng.integers(2, 6))] for _ in range(n)]
    labels = [[("A" if int(word[1]) < 4 else "B") if rng.random() < 0.9 else "C" for word in sentence] for sentence in words]
    return [[{"word": word} for word in sentence] for sentence in words], labels


def test_results_have_the_form_of_a_grid_search():
    sklearn = pytest.importorskip("sklearn.model_selection", reason="scikit-learn is not installed")
    from crftrain.sklearn import CRF as Real

    X, y = data()
    crf = Real(l2=["1/n", "0.1/n", "0.01/n"], cv=3).fit(X, y)
    grid = sklearn.GridSearchCV(Real(), {"l2": ["1/n", "0.1/n", "0.01/n"]}, cv=3).fit(X, y)
    mine, theirs = crf.cv_results_, grid.cv_results_
    assert set(theirs) - set(mine) == {"mean_score_time", "std_score_time"}
    for name in set(theirs) & set(mine):
        assert type(mine[name]) is type(theirs[name]) and len(mine[name]) == len(theirs[name])
        if isinstance(mine[name], np.ndarray):
            assert mine[name].dtype == theirs[name].dtype
    assert [one["l2"] for one in mine["params"]] == [one["l2"] for one in theirs["params"]]
    np.testing.assert_allclose(mine["mean_test_score"], np.mean([mine[f"split{k}_test_score"] for k in range(3)], axis=0))


@pytest.mark.parametrize("l2", ["auto", ["1/n", "0.1/n"]])
def test_the_model_is_that_of_the_best_parameters(l2):
    X, y = data()
    crf = CRF(l2=l2, cv=4).fit(X, y)
    again = CRF(**{**crf.get_params(), "cv": None, **crf.best_params_}).fit(X, y)
    if l2 == "auto":  # it starts from the folds' weights, and ends as near to the same optimum
        assert crf.model_.facts["objective"] == pytest.approx(again.model_.facts["objective"], rel=1e-3)
        assert max(one.model_.facts["proved"] for one in (crf, again)) <= 1e-3
    else:
        np.testing.assert_array_equal(crf.model_.w, again.model_.w)
    results = crf.cv_results_
    assert results["params"][crf.best_index_] == crf.best_params_
    assert results["pooled_test_score"][crf.best_index_] == results["pooled_test_score"].max()
    assert results["rank_test_score"].min() == 1


def test_two_threads_find_the_same():
    X, y = data()
    one, two = (CRF(l2="auto", cv=4, n_jobs=n).fit(X, y) for n in (1, 2))
    assert one.best_params_ == two.best_params_
    np.testing.assert_array_equal(one.cv_results_["split2_test_score"], two.cv_results_["split2_test_score"])


def test_groups_are_one_for_each_sequence_and_need_folds():
    X, y = data()
    crf = CRF(l2=["1/n", "0.1/n"], cv=3).fit(X, y, groups=[i // 6 for i in range(60)])
    assert len(crf.cv_results_["params"]) == 2
    with pytest.raises(ValueError, match="59 of them, expected 60"):
        CRF(cv=3).fit(X, y, groups=range(59))
    with pytest.raises(ValueError, match="groups without cv"):
        CRF().fit(X, y, groups=range(60))
