"""Is there a trend in a count by tenths of a second, when neighbouring bins resemble each other?

The slope is the median of all pairwise slopes (Sen 1968, doi 10.1080/01621459.1968.10480934), which one
stalled bin does not move. The test is that of Mann and Kendall with the variance that Hamed and Rao
(1998, doi 10.1016/S0022-1694(97)00125-X) give it under autocorrelation: bins that follow each other
are not so many independent ones, and the plain test finds a trend in every slow wave.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

__all__ = ["Trend", "trend"]

_SIGNIFICANT_Z = 1.96
_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Trend:
    """The fitted change over the whole series as a fraction of its mean, and the two-sided p value of none."""

    change_frac: float
    p_value: float


def trend(series: _Floats) -> Trend:
    """The trend of at least three counts, of which one is above 0."""
    n = len(series)
    slope = float(scipy.stats.theilslopes(series).slope)
    change_frac = slope * n / float(series.mean())
    if np.ptp(series) == 0:
        return Trend(0.0, 1.0)
    statistic = float(sum(np.sign(series[later:] - series[:-later]).sum() for later in range(1, n)))
    spread = math.sqrt(_variance(series) * _inflation(series - slope * np.arange(n)))
    z = max(0.0, abs(statistic) - 1) / spread
    return Trend(change_frac, float(2 * scipy.stats.norm.sf(z)))


def _variance(series: _Floats) -> float:
    """The variance of Kendall's statistic for independent values, equal ones allowed for."""
    n = len(series)
    _, ties = np.unique(series, return_counts=True)
    return float(n * (n - 1) * (2 * n + 5) - (ties * (ties - 1) * (2 * ties + 5)).sum()) / 18


def _inflation(detrended: _Floats) -> float:
    """By how much autocorrelation of the ranks raises that variance; never below 1."""
    n = len(detrended)
    ranks = scipy.stats.rankdata(detrended)
    ranks -= ranks.mean()
    power = float(ranks @ ranks)
    if power == 0:
        return 1.0
    found = 1.0
    for lag in range(1, n - 2):
        correlation = float(ranks[lag:] @ ranks[:-lag]) / power
        if abs(correlation) > _SIGNIFICANT_Z / math.sqrt(n):
            weight = (n - lag) * (n - lag - 1) * (n - lag - 2)
            found += 2 / (n * (n - 1) * (n - 2)) * weight * correlation
    return max(1.0, found)
