"""A bar that moves from the first distance to the goal, and the time that is left at the rate of the latter half of the steps.

Evenly in log (f - b) / b, b the bound of f*: by orders of magnitude near the optimum, and far from it, where a bound hardly above zero
proves nearly nothing, by those of the bound.
"""

import math

WIDTH, LEAST = 24, 4
FAR = 1e-3  # a bound of less than this share of f is the beginning
SOON = 0.1  # of the way: nothing is said of the time before
MINUTES = 120  # seconds; above that minutes are told


class LogBar:
    def __init__(self):
        self.first, self.seen = -math.inf, []  # the farthest; (place, seconds) of each step
        self.width = WIDTH  # the least that there was room for, so that it stays the same

    def text(self, progress, room=2 * WIDTH):
        """The bar, and the time left, in that many columns; empty where no distance or no goal is known."""
        if not progress.goal or not progress.distance:
            return ""
        now, goal = _place(progress.distance), _place(progress.goal)
        self.first = max(self.first, now)
        self.seen.append((now, progress.seconds))
        there = progress.proved and now <= goal
        share = 1.0 if there or self.first <= goal else min(1.0, (self.first - now) / (self.first - goal))
        left = "" if share < SOON or there else self._left(now - goal)
        if room - 2 - len(left) < LEAST:
            left = ""
        return self._drawn(share, there, room - len(left)) + left

    def _left(self, rest):
        """By half of the steps, so that neither one step nor a slow beginning decides; one step more at least."""
        many = len(self.seen) - len(self.seen) // 2
        if many < 2:
            return ""
        (before, then), (now, seconds) = self.seen[-1 - many], self.seen[-1]
        if before <= now or seconds <= then:
            return ""
        left = max((seconds - then) / many, rest * (seconds - then) / (before - now))
        return f" ~{max(left, 1):.0f} s left" if left < MINUTES else f" ~{left / 60:.0f} min left"

    def _drawn(self, share, there, room):
        """Full where it is over; nothing where there is no room."""
        width = min(self.width, room - 2)
        if width < LEAST:
            return ""
        self.width, full = width, width if there else min(width - 1, int(width * share))
        return f"[{'#' * full}{'.' * (width - full)}]"


def _place(distance):
    distance = min(distance, 1 - FAR)
    return math.log(distance / (1 - distance))
