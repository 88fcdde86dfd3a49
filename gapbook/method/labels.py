"""Which labels a contestant carries: never by the one trial in which one showed.

Its share (:mod:`gapbook.record.labels`) is taken in every block, and the label holds when the whole
interval over blocks lies above the limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import scipy

from gapbook.method.estimate import CONFIDENCE
from gapbook.record.labels import LIMIT_FRAC, label_shares

__all__ = ["carried"]


def carried(rows: Iterable[Mapping[str, Any]], label: str, warmup_s: float, window_s: float) -> bool:
    """Whether a contestant carries a label: its share over blocks is above the limit with its whole
    95 % t interval, from two blocks on."""
    by_block: dict[int, list[float]] = {}
    for row in rows:
        by_block.setdefault(int(row["block"]), []).append(label_shares(row, warmup_s, window_s)[label])
    shares = [float(np.mean(one)) for one in by_block.values()]
    if len(shares) < 2:
        return False
    # A stored run may hold any number: a spread beyond all bounds is an interval that excludes nothing.
    with np.errstate(over="ignore"):
        spread = float(np.std(shares, ddof=1))
    half = float(scipy.stats.t.ppf((1 + CONFIDENCE) / 2, len(shares) - 1)) * spread
    return float(np.mean(shares)) - half / math.sqrt(len(shares)) > LIMIT_FRAC[label]
