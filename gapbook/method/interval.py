"""An estimate with its confidence interval, and how it is printed everywhere."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

__all__ = [
    "FEWEST_TOLD",
    "WIDEST_TOLD",
    "Interval",
    "Lies",
    "format_count",
    "format_factor",
    "format_percent",
]

Lies = Literal["inside", "outside", "straddles"]
WIDEST_TOLD = 4.0
"""An interval whose upper end is more than so many times its lower one, wider than times or divided by 2, tells next to
nothing."""
FEWEST_TOLD = 3
"""A title or an answer rests on so many independent values or more."""


def format_factor(value: float) -> str:
    """A multiplicative factor as printed in charts and prose: three significant digits, no exponent, thousands
    separated from ten thousand on."""
    if not math.isfinite(value) or value <= 0:
        raise ValueError(f"a factor is a finite number above 0, not {value}")
    magnitude = math.floor(math.log10(value))
    if magnitude > 2:
        return f"{round(value, 2 - magnitude):{',' if magnitude > 3 else ''}.0f}"
    return f"{value:.{min(2 - magnitude, 4)}f}"


def format_count(value: float) -> str:
    """A rate or count, rounded to three significant digits, with thousands separated: ``64,600``."""
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(value)))
    rounded = round(value, 2 - magnitude)
    return f"{rounded:,.{max(0, 2 - magnitude)}f}" if abs(value) < 100 else f"{rounded:,.0f}"


def format_percent(frac: float) -> str:
    """A share, 1.0 being all, in percent without the sign: two significant digits, no exponent (``7.3``, ``110``)."""
    return f"{float(f'{100 * frac:.2g}'):g}"


@dataclass(frozen=True)
class Interval:
    """A positive estimate (geometric mean) with the bounds of its 95 % confidence interval.

    ``n`` is the number of independent values behind it: blocks, never operations.
    With ``n == 1`` no interval exists and both bounds are NaN.
    """

    estimate: float
    low: float
    high: float
    n: int

    @property
    def bounded(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def vague(self) -> bool:
        """Whether it has bounds, so far apart that it tells next to nothing."""
        return self.bounded and self.high > WIDEST_TOLD * self.low

    @property
    def tells(self) -> bool:
        """Whether it may stand alone, in a title or an answer: three independent values or more, and bounds that are
        not too far apart."""
        return self.n >= FEWEST_TOLD and self.bounded and not self.vague

    def against(self, low: float, high: float) -> Lies:
        """Where it lies against a band; an interval without bounds decides nothing, and so straddles."""
        if not self.bounded:
            return "straddles"
        if low <= self.low and self.high <= high:
            return "inside"
        return "outside" if self.high < low or self.low > high else "straddles"

    def as_factor(self) -> str:
        """``×1.72 [1.63–1.82]``"""
        bounds = f" [{format_factor(self.low)}–{format_factor(self.high)}]" if self.bounded else ""
        return f"×{format_factor(self.estimate)}{bounds}"

    def as_times(self) -> str:
        """``1.72 times [1.63–1.82]``, for a sentence that goes on with *as many*."""
        number, _, bounds = self.as_factor().removeprefix("×").partition(" ")
        return f"{number} times {bounds}".strip()

    def as_percent(self) -> str:
        """``73.2 % [70.1–76.4]``, of a part of a whole."""
        bounds = f" [{format_count(100 * self.low)}–{format_count(100 * self.high)}]" if self.bounded else ""
        return f"{format_count(100 * self.estimate)} %{bounds}"

    def as_count(self) -> str:
        """``64,600 [63,100–66,200]``"""
        bounds = f" [{format_count(self.low)}–{format_count(self.high)}]" if self.bounded else ""
        return f"{format_count(self.estimate)}{bounds}"
