"""The printed digits of a gap: as few as still multiply to what is printed for the whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gapbook.method.interval import format_factor

__all__ = ["Closing", "Following", "close"]

_MOST_DIGITS = 6


@dataclass(frozen=True)
class Closing:
    """The printed digits of a gap: the factors multiply to the total, and so does the quotient.

    ``unit`` stands right behind both ends where they are printed alone. ``then`` is the step that follows, with the
    gap that it leads to.
    """

    factors: tuple[str, ...]
    total: str
    end: str
    start: str
    unit: str = ""
    then: Following | None = None

    @property
    def line(self) -> str:
        return self._line(" × ".join(self.factors))

    @property
    def short_line(self) -> str:
        return self._line(f"{len(self.factors)} shares multiply to", equals=" ")

    def _line(self, shares: str, equals: str = " = ") -> str:
        closes = f"Check: {shares}{equals}×{self.total} = {self.end} ÷ {self.start}"
        return f"{closes}; {self.then.line}" if self.then else closes


@dataclass(frozen=True)
class Following:
    """The printed digits of one step more: the factors and ``factor`` multiply to ``total``, and so does the quotient."""

    factor: str
    total: str
    end: str
    start: str

    @property
    def line(self) -> str:
        return f"×\u00a0{self.factor} = ×{self.total} = {self.end} ÷ {self.start}"


def close(
    start: float,
    factors: Sequence[float],
    end: float,
    unit: str = "",
    then: tuple[float, float, float] | None = None,
) -> Closing:
    """Print factors and values with as few digits, three or more, as still multiply to the printed total.

    ``then`` is one factor more, and start and end of the gap to which it leads. Raises ValueError when no printing
    closes: the factors are then not those of this gap.
    """
    total = format_factor(end / start)
    for digits in range(3, _MOST_DIGITS + 1):
        printed = tuple(_factor_text(factor, digits) for factor in factors)
        following = _following(printed, then) if then else None
        if _rounds_to(_product(printed), total) and (following or not then):
            break
    else:
        gaps = [
            f"×{end / start:.6g}",
            *([f"×{then[2] / then[1]:.6g} after ×{then[0]:.6g} more"] if then else []),
        ]
        raise ValueError(
            f"the factors multiply to ×{math.prod(factors):.6g}, but the gap is {' and '.join(gaps)}: "
            "a waterfall must close"
        )
    return Closing(printed, total, *_quotient(end, start, total), unit, following)


def _following(printed: Sequence[str], then: tuple[float, float, float]) -> Following | None:
    """One factor more with as few digits as, behind these, multiply to the printed total; None where none do."""
    factor, start, end = then
    total = format_factor(end / start)
    for digits in range(3, _MOST_DIGITS + 1):
        text = _factor_text(factor, digits)
        if _rounds_to(_product([*printed, text]), total):
            return Following(text, total, *_quotient(end, start, total))
    return None


def _product(printed: Sequence[str]) -> float:
    return math.prod(_value(factor) for factor in printed)


def _quotient(end: float, start: float, total: str) -> tuple[str, str]:
    """Both ends with as few digits, three or more, as their quotient needs to be the printed total."""
    for digits in range(3, _MOST_DIGITS + 1):
        end_text, start_text = _count_text(end, digits), _count_text(start, digits)
        if _rounds_to(_value(end_text) / _value(start_text), total):
            break
    return end_text, start_text


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
    whole, _, decimals = printed.replace(",", "").partition(".")
    # Three digits count, so that of thousands the last ones do not.
    unit = 10.0 ** -len(decimals) if decimals else 10.0 ** max(0, len(whole) - 3)
    return abs(value - _value(printed)) <= 0.5 * unit * (1 + 1e-9)
