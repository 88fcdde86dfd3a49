"""Two runs side by side: each cell and each ratio, yours by ours, against how far runs usually lie apart.

Cells are matched by what they are, never by a name. Those that differ in the version of their system alone are matched
too, and the row says so. Noise within the runs gives the interval; how far two runs of the book lie apart beyond their
noise (:class:`Spread`) says whether a difference is more than another machine and hour usually make.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from gapbook.method.interval import Interval
from gapbook.method.same import Setup
from gapbook.method.student import quantile_of_t
from gapbook.method.summary import Summary

__all__ = [
    "MOST_FREEDOM",
    "NO_SPREAD",
    "Comparison",
    "Difference",
    "Reading",
    "Row",
    "Spread",
    "compared",
    "divided",
    "standard_error_log",
    "why_nothing_is_shared",
]

Reading: TypeAlias = Literal["beyond", "usual", "equal", "same run", "no interval"]
"""Of a quantity: whether the interval of yours by ours has 1 in it, and where not, whether it lies as far from 1 as runs
usually do."""
_VERSION = "version"
MOST_FREEDOM = 200
"""Degrees of freedom are whole and end here, so that a table of quantiles has them all."""


@dataclass(frozen=True)
class Spread:
    """The standard deviation, on the log scale, of how far two runs lie apart beyond their own noise."""

    ratios: float
    rates: float


NO_SPREAD = Spread(0.0, 0.0)


@dataclass(frozen=True)
class Row:
    """A quantity that both runs hold; ``says`` what it is of, where it is named by its address. ``versions`` are yours and
    ours where those differ, by system; ``cells`` of a ratio the places of its two cells in yours."""

    quantity: str
    yours: Interval
    ours: Interval
    ratio: Interval
    reading: Reading
    versions: tuple[str, ...] = ()
    says: str = ""
    cells: tuple[int, ...] = ()

    @property
    def distance(self) -> float:
        """How far apart on the log scale, whichever is the greater."""
        return abs(math.log(self.ratio.estimate))


@dataclass(frozen=True)
class Difference:
    """Something that the two runs were not made alike in; ``–`` on a side that does not say it."""

    what: str
    yours: str
    ours: str


@dataclass(frozen=True)
class Comparison:
    """``stated`` are numbers of the chapter, by their addresses; ``yours_alone`` and ``ours_alone`` are the places of cells that the other has not."""

    yours: Summary
    ours: Summary
    spread: Spread
    stated: Sequence[Row]
    ratios: Sequence[Row]
    rates: Sequence[Row]
    yours_alone: Sequence[int]
    ours_alone: Sequence[int]
    differences: Sequence[Difference]

    @property
    def same_run(self) -> bool:
        return self.yours.manifest_sha256 == self.ours.manifest_sha256

    @property
    def rows(self) -> Sequence[Row]:
        """What is counted: what the chapter states, else ratios, else rates."""
        return self.stated or self.ratios or self.rates

    def count(self, *readings: Reading) -> int:
        return sum(row.reading in readings for row in self.rows)


def compared(yours: Summary, ours: Summary, spread: Spread = NO_SPREAD) -> Comparison:
    """Everything that both hold; the ratios so that ours is 1 or more, the farthest apart first."""
    matched = _matched(yours, ours)
    same_run = yours.manifest_sha256 == ours.manifest_sha256
    back = {mine: theirs for theirs, mine in matched.items()}
    held = {frozenset((one.over, one.under)): one for one in yours.ratios}
    ratios = []
    for one in ours.ratios:
        if one.over not in back or one.under not in back:
            continue
        over, under = back[one.over], back[one.under]
        if (own := held.get(frozenset((over, under)))) is None:
            continue
        theirs, mine = one.ratio.interval, own.ratio.interval
        if own.over != over:
            mine = _inverted(mine)
        top, below = one.over, one.under
        if theirs.estimate < 1:
            theirs, mine, top, below = _inverted(theirs), _inverted(mine), one.under, one.over
        row = _row(
            _quantity(ours, top, below),
            mine,
            theirs,
            spread.ratios,
            same_run=same_run,
            versions=_versions(yours, ours, [(back[top], top), (back[below], below)]),
        )
        ratios.append(replace(row, cells=(back[top], back[below])))
    rates = [
        _row(
            ours.named(our_place),
            yours.cells[place].goodput.interval,
            ours.cells[our_place].goodput.interval,
            spread.rates,
            same_run=same_run,
            versions=_versions(yours, ours, [(place, our_place)]),
        )
        for place, our_place in matched.items()
    ]
    return Comparison(
        yours,
        ours,
        spread,
        sorted(_stated(yours, ours, matched, spread.ratios, same_run=same_run), key=_farthest),
        sorted(ratios, key=_farthest),
        rates,
        [place for place in range(len(yours.cells)) if place not in matched],
        [place for place in range(len(ours.cells)) if place not in back],
        _differences(yours, ours),
    )


def _stated(
    yours: Summary, ours: Summary, matched: Mapping[int, int], spread: float, *, same_run: bool
) -> Iterator[Row]:
    """The numbers of the chapter that both made of the same cells."""
    held = {number.address: number for number in yours.numbers}
    for number in ours.numbers:
        own = held.get(number.address)
        if own is None or {matched.get(place) for place in own.cells} != set(number.cells):
            continue
        versions = _versions(yours, ours, [(place, matched[place]) for place in own.cells])
        row = _row(
            number.address,
            own.value.interval,
            number.value.interval,
            spread,
            same_run=same_run,
            versions=versions,
        )
        yield replace(row, says=number.quantity)


def divided(over: Interval, under: Interval) -> Interval:
    """One estimate by another that is independent of it, with the interval that the noise within both leaves: by
    Welch on the log scale, its degrees of freedom after Satterthwaite, whole. ``n`` is the lesser of both."""
    estimate, n = over.estimate / under.estimate, min(over.n, under.n)
    if not (over.bounded and under.bounded and n > 1):
        return Interval(estimate, math.nan, math.nan, n)
    variances = [standard_error_log(one) ** 2 for one in (over, under)]
    whole = sum(variances)
    if whole == 0:
        return Interval(estimate, estimate, estimate, n)
    parts = sum(variance**2 / (one.n - 1) for variance, one in zip(variances, (over, under), strict=True))
    freedom = min(max(math.floor(whole**2 / parts), 1), MOST_FREEDOM)
    half = quantile_of_t(freedom) * math.sqrt(whole)
    return Interval(estimate, estimate * math.exp(-half), estimate * math.exp(half), n)


def standard_error_log(one: Interval) -> float:
    """The standard error of an estimate on the log scale, by its interval over blocks."""
    freedom = min(one.n - 1, MOST_FREEDOM)
    return math.log(one.high / one.low) / 2 / quantile_of_t(freedom)


def _row(
    quantity: str,
    yours: Interval,
    ours: Interval,
    spread: float,
    *,
    same_run: bool,
    versions: tuple[str, ...],
) -> Row:
    if same_run:
        return Row(quantity, yours, ours, Interval(1.0, 1.0, 1.0, ours.n), "same run", versions)
    ratio = divided(yours, ours)
    return Row(quantity, yours, ours, ratio, _reading(ratio, spread), versions)


def _reading(ratio: Interval, spread: float) -> Reading:
    if not ratio.bounded:
        return "no interval"
    if ratio.low <= 1 <= ratio.high:
        return "equal"
    half = math.log(ratio.high / ratio.low) / 2
    usual = math.hypot(half, quantile_of_t(math.inf) * spread)
    return "usual" if abs(math.log(ratio.estimate)) <= usual else "beyond"


def _inverted(one: Interval) -> Interval:
    return Interval(1 / one.estimate, 1 / one.high, 1 / one.low, one.n)


def _farthest(row: Row) -> tuple[int, float, str]:
    """Those that say most first, then by how far they lie apart."""
    return get_args(Reading).index(row.reading), -row.distance, row.quantity


def _quantity(summary: Summary, over: int, under: int) -> str:
    """``a ÷ b, α = 0.5``: both are under one load."""
    names = [summary.contestants[summary.cells[place].contestant].name for place in (over, under)]
    return f"{names[0]} ÷ {names[1]}, {summary.at(over)}"


# --- what is the same -------------------------------------------------------------------------
def _matched(yours: Summary, ours: Summary) -> dict[int, int]:
    """Our place of each of your cells that is the same, but perhaps for its version; in our order."""
    found: dict[int, int] = {}
    for known in (_whole, _without_version):
        theirs = _places(ours, known, set(found.values()))
        for setup, places in _places(yours, known, set(found)).items():
            other = theirs.get(setup, [])
            # Two versions of a system in one run: which of them another one stands for, nobody can tell.
            if len(places) == len(other) == 1:
                found[places[0]] = other[0]
    return dict(sorted(found.items(), key=lambda pair: pair[1]))


def _places(summary: Summary, known: Callable[[Setup], Setup], taken: set[int]) -> dict[Setup, list[int]]:
    found: dict[Setup, list[int]] = {}
    for place, setup in enumerate(summary.setups):
        if place not in taken:
            found.setdefault(known(setup), []).append(place)
    return found


def _whole(setup: Setup) -> Setup:
    return setup


def _without_version(setup: Setup) -> Setup:
    return frozenset(pair for pair in setup if pair[0] != _VERSION)


def _versions(yours: Summary, ours: Summary, cells: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    """``spacetimedb 2.10.1, ours 2.8.3`` for each system whose version is another."""
    told = []
    for own, other in cells:
        mine, theirs = _facts(yours, own), _facts(ours, other)
        if mine.get(_VERSION) != theirs.get(_VERSION):
            told.append(f"{mine.get('system', '?')} {mine.get(_VERSION)}, ours {theirs.get(_VERSION)}")
    return tuple(dict.fromkeys(told))


def _facts(summary: Summary, place: int) -> Mapping[str, str]:
    return {**summary.facts, **summary.contestants[summary.cells[place].contestant].facts}


# --- what is not ------------------------------------------------------------------------------
def _differences(yours: Summary, ours: Summary) -> list[Difference]:
    found = []
    for mine, theirs in (
        (yours.machine, ours.machine),
        (yours.versions, ours.versions),
        (yours.settings, ours.settings),
    ):
        for what in dict.fromkeys([*theirs, *mine]):
            sides = [side.get(what, "–") for side in (mine, theirs)]
            if sides[0] != sides[1]:
                found.append(Difference(what, *sides))
    return found


def why_nothing_is_shared(yours: Summary, ours: Summary) -> str:
    """The facts that keep your cells from being ours, the one that keeps most of them first; for runs that share none."""
    wanted = [dict(setup) for setup in ours.setups]
    counted: Counter[str] = Counter()
    for setup in yours.setups:
        own = dict(setup)
        nearest = min(wanted, key=lambda other: len(own.items() ^ other.items()), default={})
        for name in sorted({name for name, _ in own.items() ^ nearest.items()}):
            counted[f"{name} {own.get(name, '–')} instead of {nearest.get(name, '–')}"] += 1
    return "; ".join(what for what, _ in counted.most_common(3))
