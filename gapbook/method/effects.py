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

from gapbook.method.estimate import (
    BlockFit,
    Contrast,
    ratio_interval,
)
from gapbook.method.factors import Cell
from gapbook.method.holm import holm
from gapbook.method.interval import Interval

__all__ = ["Effect", "Interaction", "Screened", "effect_of", "interactions", "screen"]

Cells = Mapping[Cell, Mapping[int, float]]
Change = tuple[str, str, str]
Screened = Literal["matters", "negligible", "unresolved"]
_SCREENING_BAND_FRAC = 0.10


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
    the ratio of ratios, a geometric mean over the states in which all four cells were measured; ``by_state``
    has the estimate in each.

    ``p`` is for a true ratio of 1, ``adjusted_p`` after Holm for all interactions tested together; both
    are NaN without an interval.
    """

    first: str
    second: str
    ratio: Interval
    by_state: tuple[float, ...]
    p: float
    adjusted_p: float

    @property
    def states(self) -> int:
        return len(self.by_state)


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
            by_state = tuple(
                each.interval.estimate for square in squares if (each := _mean_contrast(cells, [square]))
            )
            found.append((first, second, by_state, contrast))
    adjusted = holm([contrast.p_value for *_, contrast in found])
    tested = [
        Interaction(first, second, contrast.interval, by_state, contrast.p_value, p)
        for (first, second, by_state, contrast), p in zip(found, adjusted, strict=True)
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
