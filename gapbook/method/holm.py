"""Several tests at once: p values adjusted so that the chance of any false finding stays what one test has."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["holm"]


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p values (Holm 1979), in the order given; NaN takes no part."""
    order = sorted((p, place) for place, p in enumerate(p_values) if not math.isnan(p))
    adjusted = [math.nan] * len(p_values)
    floor = 0.0
    for rank, (p, place) in enumerate(order):
        floor = max(floor, min(1.0, (len(order) - rank) * p))
        adjusted[place] = floor
    return adjusted
