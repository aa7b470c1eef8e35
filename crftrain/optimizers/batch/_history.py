"""The curvature pairs of limited-memory BFGS, and the direction they give.

With s_k = w_{k+1} - w_k, y_k = g_{k+1} - g_k, the direction -H g is a combination of the s, the y and g. Its
coefficients follow from their inner products alone, by the two-loop recursion (Nocedal 1980) carried out on
coefficients; so an iteration reads the pairs twice, once for the products with the newest pair and g, once for the sum.
Both go by pieces that fit the cache, in threads (_long).
"""

import numpy as np

from ..base import within
from ._compiled import combine, dot, exchange, products


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

    @property
    def newest(self):
        """The pair that was added last."""
        k = (self.next - 1) % self.m
        return self.rows[k], self.rows[self.m + k]

    def advance(self, w, g):
        """Scratch holds a new point and its gradient: they become w and g, and what they changed by is left in scratch."""
        for old, new in zip((w, g), self.scratch, strict=True):
            exchange(old, new, self.threads)

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

    def tidied(self):
        """The same without what scratch holds, which may be any number."""
        free = [row for row in range(self.m) if (self.next - 1 - row) % self.m >= self.count]
        rows = [*free, *(self.m + row for row in free)]
        self.rows[rows] = self.gram[rows] = self.gram[:, rows] = 0
        return self.state()

    def restore(self, state):
        self.rows[:], self.gram[:] = state["pairs"], state["products"]
        self.count, self.next = map(int, within(state, "place", 0, self.m))
        self.next %= self.m

    def meet(self, g):
        """Learn the products with a g that no pair came with."""
        if self.count:
            self.with_g = self._products((g,))[0]

    def direction(self, g, out, inner=None):
        """out = -H g, for the g of the last add or meet; returns the slope g . out. inner(q): H without pairs, times q."""
        if not self.count:
            np.negative(g, out=out)
            if inner is None:
                return -float(g @ g)
            out[:] = inner(out)
            return dot(g, out, self.threads)
        newest_first = [(self.next - 1 - k) % self.m for k in range(self.count)]
        m, gram = self.m, self.gram
        c, c_g = np.zeros(2 * m), -1.0
        alpha = np.zeros(m)
        for i in newest_first:
            alpha[i] = (gram[i] @ c + c_g * self.with_g[i]) / gram[i, m + i]
            c[m + i] -= alpha[i]
        if inner is not None:
            return self._through(inner, newest_first, alpha, c, g, out)
        i = newest_first[0]
        scale = gram[i, m + i] / gram[m + i, m + i]
        c *= scale
        c_g *= scale
        for i in reversed(newest_first):
            c[i] += alpha[i] - (gram[m + i] @ c + c_g * self.with_g[m + i]) / gram[i, m + i]
        return combine(c, self.rows, c_g, g, out, self.threads)

    def _through(self, inner, newest_first, alpha, c, g, out):
        """The same with another matrix in the middle: its products with the pairs have to be learnt."""
        combine(c, self.rows, -1.0, g, out, self.threads)
        r = inner(out)
        with_r, c, m = self._products((r,))[0], np.zeros(2 * self.m), self.m
        for i in reversed(newest_first):
            c[i] += alpha[i] - (self.gram[m + i] @ c + with_r[m + i]) / self.gram[i, m + i]
        combine(c, self.rows, 1.0, r, out, self.threads)
        return dot(g, out, self.threads)

    def _products(self, vectors):
        """[vectors] [rows]', of the rows that pairs have, with the one in scratch."""
        filled = min(self.count + 1, self.m)
        return products(vectors, self.rows, [*range(filled), *range(self.m, self.m + filled)], self.threads)
