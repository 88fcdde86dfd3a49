"""Estimates: geometric means over blocks with t intervals on the log scale.

The unit of replication is the block, never the operation: operations of one trial share its
luck (Kalibera and Jones, doi 10.1145/2464157.2464160).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from scipy import stats

from gapbook.interval import Interval

__all__ = ["CONFIDENCE", "cell_values", "geometric_interval", "ratio_interval"]

CONFIDENCE = 0.95


def geometric_interval(values: Sequence[float]) -> Interval:
    """Geometric mean of positive values, one a block, with its 95 % t interval.

    Raises ValueError on an empty sequence or a value that is not positive.
    """
    if not values or min(values) <= 0:
        raise ValueError("a geometric mean needs at least one value, all above 0")
    logs = np.log(np.asarray(values, dtype=np.float64))
    mean, n = float(logs.mean()), len(logs)
    if n == 1:
        return Interval(math.exp(mean), math.nan, math.nan, 1)
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1) * logs.std(ddof=1) / math.sqrt(n))
    return Interval(math.exp(mean), math.exp(mean - half), math.exp(mean + half), n)


def ratio_interval(over: Mapping[int, float], under: Mapping[int, float]) -> Interval | None:
    """Ratio of two cells, paired by block; None when no block holds both."""
    blocks = sorted(over.keys() & under.keys())
    return geometric_interval([over[block] / under[block] for block in blocks]) if blocks else None


def cell_values(trials: pl.DataFrame, contestant: str, alpha: float) -> dict[int, float]:
    """Goodput by block of one cell's valid trials."""
    kept = trials.filter((pl.col("contestant") == contestant) & (pl.col("alpha") == alpha) & pl.col("valid"))
    return dict(zip(kept["block"].to_list(), kept["goodput_per_s"].to_list(), strict=True))
