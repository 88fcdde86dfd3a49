"""How far two runs of the book lie apart beyond their own noise: what another machine and another hour do.

It is taken from the stored runs of each chapter, pair by pair: the mean of the squared distances on the log scale, less
the squared standard errors. Every chapter weighs the same, however many runs it has. Simulated servers say nothing of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, groupby
from statistics import fmean

from gapbook.errors import RecordError, cut
from gapbook.method.compared import (
    NO_SPREAD,
    Comparison,
    Row,
    Spread,
    compared,
    standard_error_log,
    why_nothing_is_shared,
)
from gapbook.method.interval import Interval
from gapbook.method.student import quantile_of_t
from gapbook.method.summary import Summary, summary_of
from gapbook.record.published import published_runs
from gapbook.record.run import latest_published

__all__ = ["NARROW_FRAC", "compared_as_usual", "published_summaries", "usual_noise", "usual_spread"]

NARROW_FRAC = 0.25
"""Half of an interval: a wider one cannot show how far its quantity moved."""
_NOT_PLANTED = str(None)


@cache
def published_summaries() -> Sequence[Summary]:
    """Every published run in small, by chapter, the oldest first; raises RecordError."""
    return sorted(map(summary_of, published_runs()), key=lambda one: (one.chapter, one.began_unix_s))


def compared_as_usual(yours: Summary, ours: Summary) -> Comparison:
    """Both side by side, against how far runs usually lie apart that were made on such two machines: of one kind of
    processor, or of two. Raises RecordError where they share no cell."""
    same_run = yours.manifest_sha256 == ours.manifest_sha256
    usual = NO_SPREAD if same_run else usual_spread(same_processor=yours.processor == ours.processor)
    found = compared(yours, ours, usual)
    if not found.rates:
        raise RecordError(
            f"run {yours.run_id} of {yours.chapter} shares no cell with run {ours.run_id} of {ours.chapter}: "
            f"{cut(why_nothing_is_shared(yours, ours)) or 'one of them has none'}"
        )
    return found


@cache
def usual_spread(*, same_processor: bool) -> Spread:
    """Over all pairs of stored runs of a chapter whose processors have one name, or two."""
    ratios: list[float] = []
    rates: list[float] = []
    real = [one for one in published_summaries() if one.facts.get("planted") == _NOT_PLANTED]
    for _, of_chapter in groupby(real, key=lambda one: one.chapter):
        pairs = [
            compared(newer, older)
            for older, newer in combinations(of_chapter, 2)
            if (older.processor == newer.processor) is same_processor
        ]
        for found, rows in (
            (ratios, [row for pair in pairs for row in pair.ratios]),
            (rates, [row for pair in pairs for row in pair.rates]),
        ):
            if excess := list(_excess(rows)):
                found.append(fmean(excess))
    return Spread(_deviation(ratios), _deviation(rates))


@cache
def usual_noise() -> float:
    """The standard deviation of a ratio from block to block on the log scale: the root of the mean square over what the
    run that each chapter shows holds narrowly, every chapter weighing the same. Simulated servers say nothing of it."""
    of_chapters = []
    real = [one for one in published_summaries() if one.facts.get("planted") == _NOT_PLANTED]
    for chapter, of_chapter in groupby(real, key=lambda one: one.chapter):
        shown = latest_published(chapter).run_id
        # None where the run that the page shows has a simulated server, and one beside it has none.
        ours = next((one for one in of_chapter if one.run_id == shown), None)
        held = [one.ratio.interval for one in ours.ratios if one.ratio.low is not None] if ours else []
        squares = [
            one.n * (math.log(one.high / one.low) / 2 / quantile_of_t(one.n - 1)) ** 2
            for one in held
            if one.bounded and _is_narrow(one)
        ]
        if squares:
            of_chapters.append(fmean(squares))
    return _deviation(of_chapters)


def _excess(rows: Sequence[Row]) -> Iterator[float]:
    """By how much the squared distance of a quantity exceeds what noise alone would make of it."""
    for row in rows:
        both = row.yours, row.ours
        if row.ratio.bounded and not row.versions and all(map(_is_narrow, both)):
            yield row.distance**2 - sum(standard_error_log(one) ** 2 for one in both)


def _is_narrow(one: Interval) -> bool:
    return math.sqrt(one.high / one.low) - 1 < NARROW_FRAC


def _deviation(of_chapters: Sequence[float]) -> float:
    return math.sqrt(max(fmean(of_chapters), 0.0)) if of_chapters else 0.0
