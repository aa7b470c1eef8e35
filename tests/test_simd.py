"""The loops for every kind of CPU compute the same: this file, run as a program, computes; the tests compare."""

import os
import subprocess
import sys

import numpy as np
import pytest
from problems import KINDS, kind, larger, lattice

from crftrain import _kernels, optimizers

WISHES = ["base", "v3", ""]
WAYS = {"scaled": 0.5, "logarithms": 300.0}  # weights of that size take the kernels that way
LABELS = [*range(1, 20), 23, 24, 25, 31, 32, 33, 40, 47, 48, 49, 65, 100]
# what only touches the blocks of one sequence, and their penalties
PER_SEQUENCE = {"sag": {"l2": 0.1}, "sgd-l1": {"l1": 0.01}, "adagrad": {"l2": 0.1, "l1": 0.01}}


def everything():
    """{name: array} of all that the kernels compute, on generated problems."""
    out = {"name": np.array(_kernels.SIMD)}
    made = {name: (one := kind(name, seed=1), one.weights(2)) for name in KINDS}
    made |= {f"larger, {way}": (one := larger(labels=11, values=True), one.weights(3, scale)) for way, scale in WAYS.items()}
    for n_labels in LABELS:
        rng = np.random.default_rng(n_labels)
        for scale in (1.0, 40.0):
            psi, e = rng.normal(0, scale, (9, n_labels)), rng.normal(0, 1, (n_labels, n_labels))
            made[f"{n_labels} labels, {scale}"] = lattice(psi, e)
    for name, (one, w) in made.items():
        g, product, problem = np.empty_like(w), np.empty_like(w), one.problem(l2=0.1)
        value = problem.value_and_gradient(w, g)
        problem.curvature(w).times(g, product)
        best, _, marginals = one.decode(w, marginals=True)
        results = {"value": value, "gradient": g, "product": product, "best": best, "marginals": marginals}
        if name in KINDS:
            results["ascent"] = trained("sdca", one, 1, l2=0.1)  # its line search takes logarithms
        out |= {f"{name}: {what}": np.asarray(result) for what, result in results.items()}
    for n_labels in (1, 3, 7, 8, 9, 17, 22, 26, 33, 65):
        one = larger(labels=n_labels, sequences=20, values=n_labels == 9)
        for name, penalties in PER_SEQUENCE.items():
            out[f"{name}, {n_labels} labels"] = trained(name, one, 3, **penalties)
        out[f"sag under l1, {n_labels} labels"] = trained("sag", one, 3, l2=0.1, l1=0.01)
    return out


def trained(name, made, passes, **penalties):
    """The weights after so many passes."""
    problem, w, algorithm = made.problem(**penalties), np.zeros(made.layout.n_features), optimizers.get(name)
    opt = algorithm.make(problem, w, np.random.default_rng(1), **algorithm.defaults())
    for _ in range(passes):
        opt.step()
    return np.array(opt.solution())


def run(wish, place):
    """everything() of a process that wishes for these loops."""
    environment = {**os.environ, "CRFTRAIN_SIMD": wish}
    return subprocess.run([sys.executable, __file__, str(place)], env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """{wish: everything}; without those that this CPU has not."""
    folder, out = tmp_path_factory.mktemp("simd"), {}
    for wish in WISHES:
        ended = run(wish, folder / f"{wish}.npz")
        if ended.returncode == 0:
            out[wish] = dict(np.load(folder / f"{wish}.npz"))
        else:
            assert f"CRFTRAIN_SIMD={wish}: this CPU or build has no such kernels" in ended.stderr
    return out


def test_there_are_always_plain_loops_and_a_choice(results):
    assert {"base", ""} <= set(results)
    assert results["base"]["name"] == "base"
    assert all(result["name"] == wish for wish, result in results.items() if wish)


@pytest.mark.parametrize("wish", ["v3", ""])
def test_all_loops_agree(results, wish):
    if wish not in results:
        pytest.skip(f"this CPU or build has no {wish} loops")
    base, other = results["base"], results[wish]
    assert base.keys() == other.keys()
    for name in base.keys() - {"name"}:
        if base[name].dtype == np.int32:
            assert base[name].tolist() == other[name].tolist(), name
        else:
            rounding = 1e-12 if "logarithms" not in name else 1e-11  # log Z is some 1e4 there
            rounding *= 10 if name == "larger, logarithms: product" else 1  # of marginals times their differences
            rounding = 1e-7 if name.startswith("sag") else rounding  # its memory is in single precision
            size = np.abs(base[name]).max(initial=1e-300)
            assert np.abs(base[name] - other[name]).max(initial=0) <= rounding * size, name


def test_an_unknown_wish_is_an_error(tmp_path):
    ended = run("v99", tmp_path / "none.npz")
    assert ended.returncode == 1
    assert "CRFTRAIN_SIMD=v99" in ended.stderr
    assert "expected base, v3 or v4" in ended.stderr


if __name__ == "__main__":
    np.savez(sys.argv[1], **everything())
