"""The printed digits of a gap: as few as still multiply to what is printed for the whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gapbook.method.interval import format_factor

__all__ = ["Closing", "close"]

_MOST_DIGITS = 6


@dataclass(frozen=True)
class Closing:
    """The printed digits of a gap: the factors multiply to the total, and so does the quotient.

    ``unit`` stands right behind both ends where they are printed alone.
    """

    factors: tuple[str, ...]
    total: str
    end: str
    start: str
    unit: str = ""

    @property
    def line(self) -> str:
        return f"Closes: {' × '.join(self.factors)} = ×{self.total} = {self.end} ÷ {self.start}"

    @property
    def short_line(self) -> str:
        return f"Closes: {len(self.factors)} shares multiply to ×{self.total} = {self.end} ÷ {self.start}"


def close(start: float, factors: Sequence[float], end: float, unit: str = "") -> Closing:
    """Print factors and values with as few digits, three or more, as still multiply to the printed total.

    Raises ValueError when no printing closes: the factors are then not those of this gap.
    """
    total = format_factor(end / start)
    for digits in range(3, _MOST_DIGITS + 1):
        printed = tuple(_factor_text(factor, digits) for factor in factors)
        if _rounds_to(math.prod(map(float, printed)), total):
            break
    else:
        product = math.prod(factors)
        raise ValueError(
            f"the factors multiply to ×{product:.6g}, but the gap is ×{end / start:.6g}: a waterfall must close"
        )
    for digits in range(3, _MOST_DIGITS + 1):
        end_text, start_text = _count_text(end, digits), _count_text(start, digits)
        if _rounds_to(_value(end_text) / _value(start_text), total):
            break
    return Closing(printed, total, end_text, start_text, unit)


def _factor_text(factor: float, digits: int) -> str:
    """As ``format_factor`` prints it, with more digits where three do not close."""
    if digits == 3:
        return format_factor(factor)
    return f"{factor:.{max(0, digits - 1 - math.floor(math.log10(factor)))}f}"


def _count_text(count: float, digits: int) -> str:
    decimals = digits - 1 - math.floor(math.log10(count))
    return f"{round(count, decimals):,.{max(0, decimals)}f}"


def _value(text: str) -> float:
    return float(text.replace(",", ""))


def _rounds_to(value: float, printed: str) -> bool:
    decimals = len(printed.partition(".")[2])
    return abs(value - float(printed)) <= 0.5 * 10.0**-decimals * (1 + 1e-9)
