"""Work in threads, which a signal can end. Threads that have done theirs wait for more: a start costs some hundred times a waking."""

import os
import threading
from queue import SimpleQueue

_idle = []  # workers that wait
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # threads stay behind


class Worker(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.tasks = SimpleQueue()
        self.start()

    def run(self):
        while True:
            self.tasks.get()(self)


class Task:
    """work(k), for whichever thread claims it first; once it is claimed it ends, and leaves what it failed with.

    Locks alone: an exception of a signal may come between any two steps of what is written in Python, as an Event is.
    """

    def __init__(self, work, k):
        self.work, self.k, self.failure, self.over = work, k, None, False
        self.claim, self.ended = threading.RLock(), threading.Lock()  # the same thread may claim again: it may not know that it had
        self.ended.acquire()

    def __call__(self, worker):
        mine = self.claim.acquire(blocking=False)
        try:
            if mine:
                self.work(self.k)
        except BaseException as failure:
            self.failure = failure
        finally:
            _idle.append(worker)
            self.over = True
            self.ended.release()


def _give(task):
    try:
        worker = _idle.pop()
    except IndexError:
        worker = Worker()
    worker.tasks.put(task)


def in_threads(work, count, *, cancel=lambda: None):
    """work(0) here, work(1) .. work(count - 1) each in another thread; the failure of the first of them leaves when all have ended.

    So does an exception while waiting, a signal's; it cancels the others first, as a failure of work(0) does.
    """
    if count == 1:
        work(0)
        return
    tasks, failure, waiting = [Task(work, k) for k in range(1, count)], None, True
    try:
        for task in tasks:
            _give(task)
        work(0)
    except BaseException as exception:
        failure = exception
        cancel()
    while waiting:
        try:
            for task in tasks:
                while not task.over and not (failure is not None and task.claim.acquire(blocking=False)):  # claimed here, it never begins
                    task.ended.acquire(timeout=0.1)  # a signal just before it waits would not wake it
            waiting = False
        except BaseException as exception:  # noqa: PERF203
            failure = exception
            cancel()
    failure = failure or next((task.failure for task in tasks if task.failure is not None), None)
    if failure is not None:
        raise failure
