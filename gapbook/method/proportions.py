"""Intervals and bounds of a proportion: how often something came out, of how many times it was tried."""

from __future__ import annotations

import scipy

from gapbook.method.student import CONFIDENCE

__all__ = ["proportion_bound", "wilson_interval"]


def proportion_bound(tried: int, hits: int = 0) -> float:
    """One-sided 95 % upper bound (Clopper and Pearson) on the probability of what came out ``hits`` times."""
    return 1.0 if hits >= tried else float(scipy.special.betaincinv(hits + 1, tried - hits, CONFIDENCE))


def wilson_interval(hits: int, tried: int) -> tuple[float, float]:
    """The 95 % interval of Wilson (1927)."""
    found = scipy.stats.binomtest(hits, tried).proportion_ci(CONFIDENCE, method="wilson")
    return float(found.low), float(found.high)
