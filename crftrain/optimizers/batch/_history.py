"""The curvature pairs of limited-memory BFGS, and the direction they give.

With s_k = w_{k+1} - w_k, y_k = g_{k+1} - g_k, the direction -H g is a combination of the s, the y and g. Its
coefficients follow from their inner products alone, by the two-loop recursion (Nocedal 1980) carried out on
coefficients; so an iteration reads the pairs twice, once for the products with the newest pair and g, once for the sum.
Both are matrix products over columns that fit the cache, in threads over runs of such pieces; what the pieces say is added up
in their order, however many threads there were.
"""

import numpy as np

from ...chain.threads import in_threads
from ..base import within

COLUMNS = 4096


class History:
    """Up to m pairs; row k % m of S and Y holds pair k."""

    def __init__(self, m, size, threads=1):
        self.rows = np.zeros((2 * m, size))  # m rows of s, then m rows of y
        self.m, self.size, self.threads = m, size, threads
        self.gram = np.zeros((2 * m, 2 * m))
        self.clear()

    def clear(self):
        self.count, self.next = 0, 0

    @property
    def scratch(self):
        """The rows that the next pair will take: free for use until add()."""
        return self.rows[self.next], self.rows[self.m + self.next]

    def advance(self, w, g, spare):
        """Scratch holds a new point and its gradient: they become w and g, and what they changed by is left in scratch."""
        for old, new in zip((w, g), self.scratch, strict=True):
            spare[:] = new
            new -= old
            old[:] = spare

    def add(self, *g):
        """Take the pair that scratch holds and learn the products with g, if given; False (and nothing kept) without curvature."""
        s, y = self.next, self.m + self.next
        products = self._products((self.rows[s], self.rows[y], *g))
        self.gram[s], self.gram[:, s] = products[0], products[0]
        self.gram[y], self.gram[:, y] = products[1], products[1]
        if not self.gram[s, y] > 1e-16 * self.gram[y, y] > 0:
            self.clear()
            return False
        if g:
            self.with_g = products[2]
        self.count, self.next = min(self.count + 1, self.m), (self.next + 1) % self.m
        return True

    def state(self):
        return {"pairs": self.rows, "products": self.gram, "place": np.array([self.count, self.next])}

    def restore(self, state):
        self.rows[:], self.gram[:] = state["pairs"], state["products"]
        self.count, self.next = map(int, within(state, "place", 0, self.m))
        self.next %= self.m

    def meet(self, g):
        """Learn the products with a g that no pair came with."""
        if self.count:
            self.with_g = self._products((g,))[0]

    def direction(self, g, out):
        """out = -H g, for the g of the last add or meet; returns the slope g . out."""
        if not self.count:
            np.negative(g, out=out)
            return -float(g @ g)
        newest_first = [(self.next - 1 - k) % self.m for k in range(self.count)]
        m, gram = self.m, self.gram
        c, c_g = np.zeros(2 * m), -1.0
        alpha = np.zeros(m)
        for i in newest_first:
            alpha[i] = (gram[i] @ c + c_g * self.with_g[i]) / gram[i, m + i]
            c[m + i] -= alpha[i]
        i = newest_first[0]
        scale = gram[i, m + i] / gram[m + i, m + i]
        c *= scale
        c_g *= scale
        for i in reversed(newest_first):
            c[i] += alpha[i] - (gram[m + i] @ c + c_g * self.with_g[m + i]) / gram[i, m + i]
        return self._combine(c, c_g, g, out)

    def _products(self, vectors):
        """[vectors] [rows]'"""
        parts = np.zeros((self.pieces, len(vectors), len(self.rows)))

        def work(thread):
            for piece, part in self._columns(thread):
                np.matmul(np.stack([vector[part] for vector in vectors]), self.rows[:, part].T, out=parts[piece])

        in_threads(work, self.threads)
        return parts.sum(axis=0)

    def _combine(self, c, c_g, g, out):
        parts = np.zeros(self.pieces)

        def work(thread):
            for piece, part in self._columns(thread):
                sums = c @ self.rows[:, part]
                sums += c_g * g[part]
                out[part] = sums
                parts[piece] = sums @ g[part]

        in_threads(work, self.threads)
        return float(parts.sum())

    @property
    def pieces(self):
        return -(-self.size // COLUMNS)

    def _columns(self, thread):
        """(number, slice) of each piece that is a thread's."""
        first, last = self.pieces * thread // self.threads, self.pieces * (thread + 1) // self.threads
        return ((piece, slice(piece * COLUMNS, (piece + 1) * COLUMNS)) for piece in range(first, last))
