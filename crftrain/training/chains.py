"""Chains of calls, several chains at a time: each call waits for the one before it in its own chain, and for no other."""

from concurrent.futures import Future


def chained(folds, points, pool):
    """What each fold finds at each point: of the first point all, then of the next, in the order of the folds.

    A fold goes on to its next point behind those that wait already, so no thread is idle while a fold is not at its last point.
    """
    if pool._max_workers == 1 or len(folds) == 1:
        yield from (fold.at(point) for point in points for fold in folds)
        return
    found = [[Future() for _ in folds] for _ in points]

    def go(k, i):
        try:
            found[k][i].set_result(folds[i].at(points[k]))
        except BaseException as error:
            found[k][i].set_exception(error)
        else:
            if k + 1 < len(points):
                pool.submit(go, k + 1, i)

    for i in range(len(folds)):
        pool.submit(go, 0, i)
    for of_point in found:
        for i, future in enumerate(of_point):
            yield future.result()
            of_point[i] = None  # what was found may be large
