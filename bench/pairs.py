"""Alternating pairs: ours, theirs, theirs, ours ..., and the ratio of each pair, as rows of one table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import TypeVar

__all__ = ["HEADER", "Bars", "Case", "Load", "NotRun", "Ratio", "alternating", "compare"]

_Result = TypeVar("_Result")

# What the last load left a server to finish is no part of the next one.
_PAUSE_S = 0.2
_DECIMALS = {"µs": 1, "s": 2}
_ROW = "{:<70} {:<8} {:>6} {:>6} {:>7} {:>5}  {:<12} {:>12} {:>12}"


@dataclass(frozen=True)
class Case:
    """How a load is offered: connections, and requests out on each of them."""

    connections: int
    in_flight: int

    def __str__(self) -> str:
        return f"{self.connections} × {self.in_flight}"


@dataclass(frozen=True)
class Load:
    """What one run of a load generator did: operations a second, its own CPU for each, and how many it counted."""

    rate_per_s: float
    cpu_us_per_operation: float
    counted: int


@dataclass(frozen=True)
class Bars:
    """What the ratios are held against; None where the rate is not compared."""

    goodput: str | None
    cpu: str


@dataclass(frozen=True)
class Ratio:
    """Ratios ours / theirs, one a pair, of one quantity; its text is a row under :data:`HEADER`."""

    name: str
    quantity: str
    unit: str
    pairs: tuple[tuple[float, float], ...]
    bar: str

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(ours / theirs for ours, theirs in self.pairs)

    def __str__(self) -> str:
        low, middle, high = min(self.values), median(self.values), max(self.values)
        sides = (
            f"{median(side):,.{_DECIMALS.get(self.unit, 0)}f} {self.unit}"
            for side in zip(*self.pairs, strict=True)
        )
        ratios = (f"{ratio:.2f}" for ratio in (middle, low, high))
        return _ROW.format(self.name, self.quantity, *ratios, len(self.pairs), self.bar, *sides)


@dataclass(frozen=True)
class NotRun:
    """A comparison that lacks something the person has to name; its text is one line."""

    name: str
    why: str

    def __str__(self) -> str:
        return f"{self.name}: not run: {self.why}"


HEADER = _ROW.format(
    "ours ÷ theirs, connections × in flight",
    "",
    "median",
    "lowest",
    "highest",
    "pairs",
    "bar",
    "ours",
    "theirs",
)

_Loader = Callable[[Case], Load]


def compare(
    name: str, cases: Iterable[Case], ours: _Loader, theirs: _Loader, *, pairs: int, bars: Bars
) -> Iterator[Ratio]:
    """Run both in turn for each case; yield its ratios of goodput and of CPU an operation once its pairs are done."""
    for case in cases:
        done = alternating(partial(ours, case), partial(theirs, case), pairs)
        if bars.goodput is not None:
            rates = tuple((our.rate_per_s, their.rate_per_s) for our, their in done)
            yield Ratio(f"{name}, {case}", "goodput", "/s", rates, bars.goodput)
        costs = tuple((our.cpu_us_per_operation, their.cpu_us_per_operation) for our, their in done)
        yield Ratio(f"{name}, {case}", "CPU", "µs", costs, bars.cpu)


def alternating(
    ours: Callable[[], _Result], theirs: Callable[[], _Result], pairs: int
) -> list[tuple[_Result, _Result]]:
    """What both return, pair by pair: ours goes first in every other one."""
    return [_pair(ours, theirs, ours_first=number % 2 == 0) for number in range(pairs)]


def _pair(
    ours: Callable[[], _Result], theirs: Callable[[], _Result], *, ours_first: bool
) -> tuple[_Result, _Result]:
    if ours_first:
        our = _after_a_pause(ours)
        return our, _after_a_pause(theirs)
    their = _after_a_pause(theirs)
    return _after_a_pause(ours), their


def _after_a_pause(load: Callable[[], _Result]) -> _Result:
    time.sleep(_PAUSE_S)
    return load()
