"""Logarithmic axes: their ticks, and the pixel of a value for placing labels beside marks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["LogScale", "log_domain", "log_ticks", "short_count"]

_MANTISSAS: tuple[tuple[float, ...], ...] = (
    (1,),
    (1, 3),
    (1, 2, 5),
    (1, 1.5, 2, 3, 5, 7),
    (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9),
    tuple(round(1 + step / 10, 1) for step in range(90)),
)


@dataclass(frozen=True)
class LogScale:
    """``low``..``high`` in data units onto ``start``..``stop`` in pixels."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.stop - self.start)


def log_domain(values: Iterable[float], *, margin: float = 0.05) -> tuple[float, float]:
    """The range of the positive values with a margin, at least a quarter wide so that noise stays noise."""
    positive = [value for value in values if math.isfinite(value) and value > 0]
    if not positive:
        return 1.0, 10.0
    low, high = math.log(min(positive)), math.log(max(positive))
    if high - low < math.log(1.25):
        middle = (low + high) / 2
        low, high = middle - math.log(1.25) / 2, middle + math.log(1.25) / 2
    padding = (high - low) * margin
    return math.exp(low - padding), math.exp(high + padding)


def log_ticks(low: float, high: float, *, most: int) -> list[float]:
    """The densest of the usual series of round values that gives at most ``most`` ticks, but at least two.

    Decades are thinned (every second, third, ...) where even they are too many.
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    series = [
        [
            tick
            for power in range(first, last + 1)
            for mantissa in mantissas
            if low <= (tick := mantissa * 10.0**power) <= high
        ]
        for mantissas in _MANTISSAS
    ]
    fitting = [ticks for ticks in series if 2 <= len(ticks) <= most]
    if fitting:
        return max(fitting, key=len)
    decades = series[0]
    if len(decades) > most:
        return decades[:: math.ceil(len(decades) / most)]
    finest = next((ticks for ticks in series if len(ticks) >= 2), [low, high])
    return finest[:: math.ceil(len(finest) / most)]


def short_count(value: float) -> str:
    """A round value with k or M, without trailing zeros: ``20k``, ``1.5M``, ``300``."""
    if value <= 0:
        return "0"
    rounded = float(f"{value:.3g}")
    for unit, suffix in ((1e6, "M"), (1e3, "k")):
        if rounded >= unit:
            return f"{rounded / unit:.3g}{suffix}"
    return f"{rounded:.3g}"
