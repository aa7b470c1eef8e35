"""numpy's BLAS has one thread while a training runs, and then what it had."""

import threading

import pytest

from crftrain import CRF
from crftrain.api import blas

needs_openblas = pytest.mark.skipif(blas._functions() is None, reason="numpy's BLAS is not an OpenBLAS of its own")


@needs_openblas
def test_the_number_of_threads_comes_back_when_the_last_training_ends():
    get, set_ = blas._functions()
    before = get()
    set_(2)
    two = get()  # 1 where there is one processor
    entered, leave = threading.Event(), threading.Event()

    def other():
        with blas.one_thread():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with blas.one_thread():
        assert get() == 1
        thread.start()
        entered.wait(10)
    assert get() == 1
    leave.set()
    thread.join()
    assert get() == two
    set_(before)


@needs_openblas
def test_fit_has_one_thread():
    get, seen = blas._functions()[0], []
    CRF(max_iter=2).fit([[["a"]], [["b"]]] * 3, [["X"], ["Y"]] * 3, callbacks=[lambda progress: seen.append(get())])
    assert set(seen) == {1}
