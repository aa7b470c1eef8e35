"""Work in threads, which a signal can end."""

import sys
import threading


def in_threads(work, count, *, cancel=lambda: None):
    """work(0) .. work(count - 1), each in a thread. An exception while waiting (a signal's) leaves when all have ended.

    Thread.join is no help there: after an exception it takes a thread that runs for one that has ended.
    """
    if count == 1:
        work(0)
        return
    ended, interruption = [threading.Event() for _ in range(count)], None

    def run(k):
        try:
            if interruption is None:
                work(k)
        finally:
            ended[k].set()

    workers = [threading.Thread(target=run, args=(k,), daemon=True) for k in range(count)]
    for worker in workers:
        try:
            worker.start()
        except BaseException as exception:  # noqa: PERF203 -- each worker is started for itself
            interruption = exception
            cancel()
    for worker, event in zip(workers, ended, strict=True):
        while not event.is_set():
            try:
                event.wait(0.1 if interruption is not None else None)
                if interruption is not None and worker.ident not in sys._current_frames():  # it never came to run(k)
                    break
            except BaseException as exception:
                interruption = exception
                cancel()
    if interruption is not None:
        raise interruption
