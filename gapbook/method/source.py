"""Where a number comes from: the cells of a run and the way from them to the number, so that anybody can make it again.

A source is data: names of contestants, values of the treatment, a metric. It is kept beside the number, and holds for a
newer run of the same chapter too. What a number is made of, block by block, is computed from the record when it is
asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from gapbook.method.estimate import Contrast, geometric_interval, metric_interval
from gapbook.method.factors import Factor
from gapbook.method.findings import Findings
from gapbook.method.interval import Interval
from gapbook.record.metric import GOODPUT

__all__ = [
    "Kept",
    "Made",
    "Rate",
    "Ratio",
    "RatioOfRatios",
    "Source",
    "Worth",
    "cells_in",
    "contrast_of",
    "in_blocks",
    "made",
]


class Ratio(msgspec.Struct, frozen=True, tag_field="kind", tag="ratio", omit_defaults=True):
    """A metric of ``over`` divided by that of ``under``, paired by block."""

    over: str
    under: str
    treatment: float
    metric: str = GOODPUT.name


class Rate(msgspec.Struct, frozen=True, tag_field="kind", tag="rate", omit_defaults=True):
    """A metric of one contestant."""

    contestant: str
    treatment: float
    metric: str = GOODPUT.name


class Kept(msgspec.Struct, frozen=True, tag_field="kind", tag="kept", omit_defaults=True):
    """What a contestant does at one value of the treatment of what it does at another, the ``base``."""

    contestant: str
    treatment: float
    base: float
    metric: str = GOODPUT.name


class RatioOfRatios(msgspec.Struct, frozen=True, tag_field="kind", tag="ratio-of-ratios", omit_defaults=True):
    """How many times the ratio of two contestants at ``treatment`` is that at ``base``."""

    over: str
    under: str
    treatment: float
    base: float
    metric: str = GOODPUT.name


class Worth(msgspec.Struct, frozen=True, tag_field="kind", tag="worth", omit_defaults=True):
    """What a factor is worth in a gap; the whole gap where none is named, and with ``to`` its step on to that at another
    value of the treatment."""

    factors: tuple[Factor, ...]
    treatment: float
    factor: str = ""
    to: float | None = None
    metric: str = GOODPUT.name


Source = Ratio | Rate | Kept | RatioOfRatios | Worth


@dataclass(frozen=True)
class Made:
    """A number as it is made: a table with a row for each block that holds all its cells, and what comes of them.

    ``columns`` are ``block``, ``session``, a column for each cell and ``value``, what the block alone says. ``formula`` says
    in words how the value of a block comes of the cells, and the number of the blocks; ``function`` is what computes it.
    """

    interval: Interval
    columns: tuple[str, ...]
    rows: tuple[tuple[float, ...], ...]
    formula: str
    function: str


@dataclass(frozen=True)
class _Way:
    """Of one kind of source: its cells, a block's value from theirs, the number from all blocks."""

    cells: tuple[tuple[str, float], ...]
    block: Callable[[Sequence[float]], float]
    formula: str
    function: str


def cells_in(source: Source) -> tuple[tuple[str, float], ...]:
    """The contestants and values of the treatment whose trials a number is made of; none where those of a whole lattice
    are."""
    return () if isinstance(source, Worth) else _way(source).cells


def made(source: Source, found: Findings) -> Made | None:
    """The number as this run has it, with all that it is made of; None where no block holds all its cells."""
    if isinstance(source, Worth):
        return _made_of_a_lattice(source, found)
    way = _way(source)
    values = [found.values(name, treatment, source.metric) for name, treatment in way.cells]
    blocks = sorted(set.intersection(*map(set, values)))
    if not blocks:
        return None
    by_block = {block: way.block([of_cell[block] for of_cell in values]) for block in blocks}
    told = list(by_block.values())
    interval = (
        metric_interval(told, found.metric(source.metric))
        if isinstance(source, Rate)
        else geometric_interval(told)
    )
    rows = {block: (*(of_cell[block] for of_cell in values), value) for block, value in by_block.items()}
    names = [f"{name}, {found.at(treatment)}" for name, treatment in way.cells]
    return in_blocks(found, interval, names, rows, way.formula, way.function)


def in_blocks(
    found: Findings,
    interval: Interval,
    cells: Sequence[str],
    rows: Mapping[int, tuple[float, ...]],
    formula: str,
    function: str,
) -> Made:
    """A number that is made block by block; ``rows`` are by block, each with its cells and its value."""
    sessions = {block: session for session, of_session in found.sessions.items() for block in of_session}
    numbered = tuple((block + 1, sessions.get(block, 0) + 1, *rest) for block, rest in sorted(rows.items()))
    return Made(interval, ("block", "session", *cells, "value"), numbered, formula, function)


def contrast_of(source: Worth, found: Findings) -> Contrast | None:
    """What a factor, a whole gap or its step is worth in this run; None where the gap does not close."""
    if source.to is not None:
        step = found.further(source.factors, source.treatment, source.to, metric=source.metric)
        return step.step if step else None
    parts = found.decompose(source.factors, source.treatment, metric=source.metric)
    if parts is None or not source.factor:
        return parts.whole if parts else None
    return next((share.contrast for share in parts.shares if share.factor.name == source.factor), None)


def _made_of_a_lattice(source: Worth, found: Findings) -> Made | None:
    contrast = contrast_of(source, found)
    if contrast is None:
        return None
    if source.to is not None:
        value = f"the whole gap at {found.at(source.to)} divided by that at {found.at(source.treatment)}"
    elif source.factor:
        value = (
            "the step's mean over all orders in which every step was measured (Shapley value), on a log scale"
        )
    else:
        value = "the end of the gap divided by its start"
    function = "decompose" if source.to is None else "further"
    rows = {block: (factor,) for block, factor in contrast.factor_by_block.items()}
    formula = f"a block's value is {value}; {_PSEUDO}"
    return in_blocks(found, contrast.interval, (), rows, formula, f"gapbook.method.factors.{function}")


_PSEUDO = "where a block lacks a trial, its value is a jackknife pseudo-value, and the number comes of a fit of cells and blocks"


_MEAN = "the number is the geometric mean of the blocks' values, its interval Student's t on their logs"


def _way(source: Ratio | Rate | Kept | RatioOfRatios) -> _Way:
    if isinstance(source, Ratio):
        return _of_two((source.over, source.treatment), (source.under, source.treatment))
    if isinstance(source, Kept):
        return _of_two((source.contestant, source.treatment), (source.contestant, source.base))
    if isinstance(source, Rate):
        return _Way(
            ((source.contestant, source.treatment),),
            lambda cells: cells[0],
            f"a block's value is its cell; {_MEAN} where the metric is compared by ratios, else the mean and Student's t on "
            "the values",
            "gapbook.method.estimate.metric_interval",
        )
    return _Way(
        (
            (source.over, source.treatment),
            (source.under, source.treatment),
            (source.over, source.base),
            (source.under, source.base),
        ),
        lambda cells: cells[0] / cells[1] / (cells[2] / cells[3]),
        f"a block's value is first ÷ second, divided by third ÷ fourth; {_MEAN}",
        "gapbook.method.estimate.geometric_interval",
    )


def _of_two(over: tuple[str, float], under: tuple[str, float]) -> _Way:
    return _Way(
        (over, under),
        lambda cells: cells[0] / cells[1],
        f"a block's value is its first cell divided by its second; {_MEAN}",
        "gapbook.method.estimate.ratio_interval",
    )
