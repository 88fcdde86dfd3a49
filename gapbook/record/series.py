"""Counts by tenths of a second since the load began, as a trial's record has them.

A count ends with the tenth of the last answer: those behind it hold none, and are as much a part of a window.
"""

from __future__ import annotations

import math

__all__ = ["BIN_S", "bins_inside"]

BIN_S = 0.1
_DIGITS = 6


def bins_inside(warmup_s: float, window_s: float, bin_s: float = BIN_S) -> slice:
    """Where the whole bins inside the window are in a count by bins since the load began."""
    first, last = warmup_s / bin_s, (warmup_s + window_s) / bin_s
    return slice(math.ceil(round(first, _DIGITS)), math.floor(round(last, _DIGITS)))
