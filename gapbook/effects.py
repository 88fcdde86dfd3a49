"""Effects: what a factor does in every state of the others, on average, and together with another.

Cells are keyed by one level a dimension; not every combination need have been measured. A *state* is
a set of levels of all other dimensions. Everything is estimated on the log scale, over blocks.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from scipy import special

from gapbook.estimate import (
    CONFIDENCE,
    BlockFit,
    Contrast,
    Floats,
    geometric_interval,
    ratio_interval,
)
from gapbook.factors import Cell
from gapbook.holm import holm
from gapbook.interval import Interval

__all__ = ["Crossing", "Effect", "Interaction", "Screened", "crossing", "effect_of", "interactions", "screen"]

Cells = Mapping[Cell, Mapping[int, float]]
Change = tuple[str, str, str]
Screened = Literal["matters", "negligible", "unresolved"]
_SCREENING_BAND_FRAC = 0.10
_MOST_DOUBLINGS = 1000.0  # no number of cores, and beyond what a float holds


@dataclass(frozen=True)
class Effect:
    """What a change of one dimension's level does.

    ``states`` are the states in which both levels were measured in one block or more, each with the
    multiplier there, paired by block; ``states_possible`` are all combinations of the other dimensions'
    levels. ``mean`` is the main effect, the geometric mean over the states; None when there is none.
    """

    mean: Interval | None
    states: tuple[tuple[Mapping[str, str], Interval], ...]
    states_possible: int


@dataclass(frozen=True)
class Interaction:
    """By how much the multiplier of one factor is greater where the other is changed than where it is not:
    the ratio of ratios, a geometric mean over ``states`` states in which all four cells were measured.

    ``p`` is for a true ratio of 1, ``adjusted_p`` after Holm for all interactions tested together; both
    are NaN without an interval.
    """

    first: str
    second: str
    ratio: Interval
    states: int
    p: float
    adjusted_p: float


@dataclass(frozen=True)
class Crossing:
    """Where a ratio would reach 1 if it went on as a power of the number of cores.

    ``per_doubling`` is its change for each doubling, ``doublings_outside`` how far the crossing lies
    outside the measured numbers of cores, 0 within them. ``misfit`` is the greatest factor between a
    measured mean and the line; two points always fit.
    """

    cores: float
    interval: Interval
    per_doubling: Interval
    doublings_outside: float
    misfit: float


def effect_of(cells: Cells, dimensions: Sequence[str], dimension: str, before: str, after: str) -> Effect:
    """The effect of ``before`` → ``after`` in ``dimension``; ``cells`` have one level for each of ``dimensions``."""
    place = dimensions.index(dimension)
    states, pairs = [], []
    for over in sorted(cells):
        under = _moved(over, {place: before})
        if over[place] != after or under not in cells:
            continue
        multiplier = ratio_interval(cells[over], cells[under])
        if multiplier:
            state = {name: level for name, level in zip(dimensions, over, strict=True) if name != dimension}
            states.append((state, multiplier))
            pairs.append({over: 1, under: -1})
    levels = [{cell[index] for cell in cells} for index in range(len(dimensions)) if index != place]
    mean = _mean_contrast(cells, pairs)
    return Effect(mean.interval if mean else None, tuple(states), math.prod(map(len, levels)))


def interactions(
    cells: Cells, dimensions: Sequence[str], changes: Mapping[str, Change]
) -> tuple[Interaction, ...]:
    """All two-factor interactions that the cells can tell, the largest first.

    ``changes`` names each factor's dimension, level before and level after; two factors of one
    dimension have no interaction.
    """
    found = []
    for (first, one), (second, other) in combinations(changes.items(), 2):
        if one[0] == other[0]:
            continue
        squares = _squares(cells, dimensions, one, other)
        contrast = _mean_contrast(cells, squares)
        if contrast:
            found.append((first, second, len(squares), contrast))
    adjusted = holm([contrast.p_value for *_, contrast in found])
    tested = [
        Interaction(first, second, contrast.interval, states, contrast.p_value, p)
        for (first, second, states, contrast), p in zip(found, adjusted, strict=True)
    ]
    return tuple(sorted(tested, key=lambda interaction: -abs(math.log(interaction.ratio.estimate))))


def screen(effect: Effect) -> Screened:
    """Whether a factor must stay in the full experiment.

    It *matters* when the interval of its mean or of any state lies wholly outside ±10 % of no effect, is
    *negligible* when those of its mean and of every state lie wholly inside, and is else *unresolved*.
    Only a negligible factor may be left out: effects of opposite signs hide in a mean, and a wide interval
    has shown nothing.
    """
    low, high = 1 - _SCREENING_BAND_FRAC, 1 + _SCREENING_BAND_FRAC
    if effect.mean is None:
        return "unresolved"
    found = [effect.mean, *(multiplier for _, multiplier in effect.states)]
    if any(interval.high < low or interval.low > high for interval in found):
        return "matters"
    inside = all(low <= interval.low and interval.high <= high for interval in found)
    return "negligible" if inside else "unresolved"


def _squares(
    cells: Cells, dimensions: Sequence[str], one: Change, other: Change
) -> list[Mapping[Cell, float]]:
    """The ratio of ratios, as weights, in every state in which all four corners were measured."""
    first, second = dimensions.index(one[0]), dimensions.index(other[0])
    found: list[Mapping[Cell, float]] = []
    for cell in sorted(cells):
        if cell[first] != one[2] or cell[second] != other[2]:
            continue
        corners: dict[Cell, float] = {
            cell: 1,
            _moved(cell, {first: one[1]}): -1,
            _moved(cell, {second: other[1]}): -1,
            _moved(cell, {first: one[1], second: other[1]}): 1,
        }
        if corners.keys() <= cells.keys():
            found.append(corners)
    return found


def _moved(cell: Cell, levels: Mapping[int, str]) -> Cell:
    return tuple(levels.get(place, level) for place, level in enumerate(cell))


def _mean_contrast(cells: Cells, parts: Sequence[Mapping[Cell, float]]) -> Contrast | None:
    """The mean of several contrasts, over all trials of their cells together."""
    weights: dict[Cell, float] = defaultdict(float)
    for part in parts:
        for cell, weight in part.items():
            weights[cell] += weight / len(parts)
    needed = {cell: weight for cell, weight in weights.items() if weight}
    if not needed:
        return None
    row = np.array([list(needed.values())])
    return BlockFit([cells[cell] for cell in needed]).contrasts(row)[0]


def crossing(cores: Sequence[float], ratios: Sequence[Mapping[int, float]]) -> Crossing | None:
    """Extrapolate a ratio, given by block at each number of cores, along log ratio = a + b log2(cores).

    One line a block; the interval of the crossing is Fieller's, over blocks. None with fewer than two
    numbers of cores or blocks in common, or when the slope is not told from 0: the interval then has no
    bound, and the ratio may never reach 1.
    """
    blocks = sorted(set.intersection(*(set(at_level) for at_level in ratios))) if ratios else []
    if len(set(cores)) < 2 or len(blocks) < 2:
        return None
    x = np.log2(np.asarray(cores, dtype=np.float64))
    y = np.log([[at_level[block] for block in blocks] for at_level in ratios])
    centred = x - x.mean()
    slopes: Floats = centred @ y / (centred @ centred)
    intercepts: Floats = y.mean(axis=0) - slopes * x.mean()
    bounds = _fieller(intercepts, slopes)
    if bounds is None:
        return None
    line = intercepts.mean() + slopes.mean() * x
    at = -float(intercepts.mean() / slopes.mean())
    return Crossing(
        cores=2.0**at,
        interval=Interval(2.0**at, 2.0 ** bounds[0], 2.0 ** bounds[1], len(blocks)),
        per_doubling=geometric_interval(np.exp(slopes).tolist()),
        doublings_outside=max(0.0, float(x.min()) - at, at - float(x.max())),
        misfit=math.exp(float(np.abs(y.mean(axis=1) - line).max())),
    )


def _fieller(intercepts: Floats, slopes: Floats) -> tuple[float, float] | None:
    """All x for which the mean of intercept + slope x is not told from 0; None when they have no bound."""
    n = len(slopes)
    t2 = float(special.stdtrit(n - 1, (1 + CONFIDENCE) / 2)) ** 2 / n
    covariance = np.cov(intercepts, slopes)
    a, b = float(intercepts.mean()), float(slopes.mean())
    square = b * b - t2 * covariance[1, 1]
    if square <= 0:
        return None
    half = a * b - t2 * covariance[0, 1]
    root = math.sqrt(max(0.0, half * half - square * (a * a - t2 * covariance[0, 0])))
    low, high = (-half - root) / square, (-half + root) / square
    return (low, high) if max(abs(low), abs(high)) < _MOST_DOUBLINGS else None
