"""Chains of calls, several chains at a time."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from crftrain.training.chains import chained


class Fold:
    """Remembers where it has been; `waits` names points at which it waits until it is let on."""

    def __init__(self, name, waits=()):
        self.name, self.waits, self.seen = name, waits, []
        self.on, self.ended = threading.Event(), threading.Event()

    def at(self, point):
        if point in self.waits:
            assert self.on.wait(60)
        self.seen.append(point)
        if point == "c":
            self.ended.set()
        return self.name, point, list(self.seen)


@pytest.mark.parametrize("at_once", [1, 2, 3, 7])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_results_come_point_by_point_in_the_order_of_the_folds(at_once, n):
    folds, points = [Fold(k) for k in range(n)], "abc"
    with ThreadPoolExecutor(at_once) as pool:
        found = list(chained(folds, points, pool))
    assert found == [(k, point, list(points[: at + 1])) for at, point in enumerate(points) for k in range(n)]


def test_a_fold_goes_on_while_another_is_still_at_its_first_point():
    slow, quick = Fold("slow", waits="a"), Fold("quick")
    with ThreadPoolExecutor(2) as pool:
        found = chained([quick, slow], "abc", pool)
        assert next(found) == ("quick", "a", ["a"])
        assert quick.ended.wait(60)
        assert slow.seen == []
        slow.on.set()
        assert [name for name, *_ in found] == ["slow", "quick", "slow", "quick", "slow"]


@pytest.mark.parametrize("at_once", [1, 2])
def test_an_error_comes_in_its_place_and_ends_the_chain(at_once):
    class Bad(Fold):
        def at(self, point):
            if point == "b":
                raise OSError(f"{self.name} at {point}")
            return super().at(point)

    good, bad = Fold("good"), Bad("bad")
    with ThreadPoolExecutor(at_once) as pool:
        found = chained([good, bad], "abc", pool)
        assert [next(found)[0] for _ in range(3)] == ["good", "bad", "good"]
        with pytest.raises(OSError, match="bad at b"):
            next(found)
    assert bad.seen == ["a"]
