"""The confidence of every interval, and what a standard error is multiplied with to give half of one."""

from __future__ import annotations

import scipy

__all__ = ["CONFIDENCE", "quantile_of_t"]

CONFIDENCE = 0.95


def quantile_of_t(degrees_of_freedom: float) -> float:
    """The quantile of Student's t for an interval with :data:`CONFIDENCE`, both of its sides taken alike; that of the
    normal distribution where the degrees are infinite.

    By ``scipy.special``: ``scipy.stats`` gives the same digits, and takes seconds to load.
    """
    return float(scipy.special.stdtrit(degrees_of_freedom, (1 + CONFIDENCE) / 2))
