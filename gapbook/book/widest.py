"""How wide the intervals are that a chapter prints, to measure first where the book knows least."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from gapbook.method.stated import known_numbers

__all__ = ["widest_log"]

_BOUNDS = re.compile(r"\[([\d.,]+)–([\d.,]+)\]")


def widest_log(chapters: Iterable[str]) -> float:
    """Half of the widest interval among the numbers with an address that these chapters measured, as a log: 0.1 is a
    tenth up or down. Infinite where none has an interval, as before the first run."""
    named = set(chapters)
    bounds = [
        found
        for number in known_numbers().numbers.values()
        if number.chapter in named and (found := _BOUNDS.search(number.value))
    ]
    halves = [
        math.log(_number(found[2]) / _number(found[1])) / 2 for found in bounds if _number(found[1]) > 0
    ]
    return max(halves, default=math.inf)


def _number(digits: str) -> float:
    return float(digits.replace(",", ""))
