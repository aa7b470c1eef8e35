"""Sequences drawn by how much they matter, and weighted so that sums over them keep their expectation."""

import numpy as np

FLOOR = 0.1  # of the chances are the same for all


def draw(doubts, share, rng):
    """float64[n]: 1 / p_i for those drawn, else 0; p_i <= 1 in proportion to the doubts but for FLOOR, sum p_i = share n."""
    doubts = np.maximum(doubts, 1e-12)
    chance = (1 - FLOOR) * doubts / doubts.mean() + FLOOR
    low, high = 0.0, 1 / FLOOR
    for _ in range(60):
        c = (low + high) / 2
        low, high = (c, high) if np.minimum(1, c * chance).mean() < share else (low, c)
    p = np.minimum(1, high * chance)
    return np.where(rng.random(len(p)) < p, 1 / p, 0.0)
