"""crftrain's own command on workers: once for each file, so that what comes of a file is what it would be alone."""

import queue
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor


class Hand:
    """Runs one command at a time."""

    def __init__(self):
        self.child = None

    def run(self, arguments):
        """(status, standard output, standard error)."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen([sys.executable, "-m", "crftrain", *arguments], **pipes) as self.child:
            out, err = self.child.communicate()
        return self.child.returncode, out, err

    def cancel(self):
        if self.child is not None:
            self.child.kill()


def each(cluster, commands):
    """Yield what comes of each command, in order; as many run at a time as the workers have threads."""
    n = max(1, min(len(commands), cluster.n_workers * cluster.threads))
    engine, free = cluster.place(Hand, [()] * n), queue.SimpleQueue()
    for k in range(n):
        free.put(k)

    def run(arguments):
        k = free.get()
        try:
            return engine.one(k, "run", (arguments,))
        finally:
            free.put(k)

    with ThreadPoolExecutor(n) as pool:
        try:
            yield from pool.map(run, commands)
        except BaseException:
            engine.close()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
