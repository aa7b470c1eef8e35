"""A bar that moves from the first distance to the goal by orders of magnitude, as a run does, and the time that is left at its rate."""

import math
from collections import deque

WIDTH, RECENT = 24, 10


class LogBar:
    def __init__(self):
        self.first, self.recent = None, deque(maxlen=RECENT)  # of (log distance, seconds)

    def text(self, progress):
        """The bar and the time left; empty where no distance or no goal is known."""
        if not progress.goal or not progress.distance:
            return ""
        now, goal = math.log(progress.distance), math.log(progress.goal)
        self.first = now if self.first is None else max(self.first, now)
        self.recent.append((now, progress.seconds))
        share = 1.0 if self.first <= goal else min(1.0, max(0.0, (self.first - now) / (self.first - goal)))
        full = int(WIDTH * share)
        return f"[{'#' * full}{'.' * (WIDTH - full)}]" + self._left(now, goal)

    def _left(self, now, goal):
        (before, then), (_, seconds) = self.recent[0], self.recent[-1]
        if now <= goal or len(self.recent) < 3 or before <= now or seconds <= then:
            return ""
        left = (now - goal) * (seconds - then) / (before - now)
        return f" about {left:.0f} s left" if left < 120 else f" about {left / 60:.0f} min left"
