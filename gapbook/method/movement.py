"""What carries the movement between two machines: which settings of a cell say by how much its rate changed.

Every cell that two machines measured has one number: its rate on the second over its rate on the first, on the log
scale. Were that number the same for all cells, no ratio of two of them would move. How much of its variance the groups
of a setting explain is the adjusted coefficient of determination of a linear model with one mean for each group
(Theil 1961); settings are taken into the model one by one, each time the one that explains the most beside those before
it, until none explains more than chance (Efroymson 1960).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, variance

import numpy as np
from numpy.typing import NDArray

__all__ = ["Explained", "Group", "Moved", "explained", "moved", "noise_frac", "ratio_moves"]

_LEAST_ADDED = 0.01
"""Of the variance: what explains less is not worth a row."""


@dataclass(frozen=True)
class Moved:
    """A cell on two machines: what was set, and the log of its rate on the second over that on the first.

    ``noise_variance`` is what the blocks of both machines leave of it.
    """

    settings: Mapping[str, str]
    log_factor: float
    noise_variance: float


@dataclass(frozen=True)
class Group:
    """The cells that share a word of a setting; ``factor`` is their geometric mean over that of all cells."""

    words: str
    cells: int
    factor: float


@dataclass(frozen=True)
class Explained:
    """``alone_frac`` of the variance between cells follows from a setting by itself, ``together_frac`` from it and those
    before it; both adjusted for the number of groups, so that chance explains none."""

    setting: str
    alone_frac: float
    together_frac: float
    groups: Sequence[Group]


def moved(settings: Mapping[str, str], first: Sequence[float], second: Sequence[float]) -> Moved | None:
    """A cell from its rates by block on both machines; None where one of them has fewer than two."""
    if min(len(first), len(second)) < 2:
        return None
    logs = [[math.log(rate) for rate in rates] for rates in (first, second)]
    noise = sum(variance(each) / len(each) for each in logs)
    return Moved(settings, fmean(logs[1]) - fmean(logs[0]), noise)


def ratio_moves(cells: Sequence[Moved]) -> float:
    """The factor within which two of three ratios of two cells move from one machine to the other, were they normal."""
    return math.exp(math.sqrt(2 * variance(cell.log_factor for cell in cells)))


def noise_frac(cells: Sequence[Moved]) -> float:
    """How much of the variance between cells the noise within both runs makes by itself, at most all."""
    return min(
        1.0, fmean(cell.noise_variance for cell in cells) / variance(cell.log_factor for cell in cells)
    )


def explained(cells: Sequence[Moved], settings: Sequence[str]) -> Sequence[Explained]:
    """The settings that explain something, the strongest first; raises ValueError for fewer than three cells."""
    if len(cells) < 3:
        raise ValueError(f"{len(cells)} cells explain nothing")
    values = np.array([cell.log_factor for cell in cells])
    found: list[Explained] = []
    taken: list[str] = []
    reached = 0.0
    while left := [name for name in settings if name not in taken]:
        together = {name: _determined(values, _groups(cells, [*taken, name])) for name in left}
        best = max(left, key=lambda name: together[name])
        if together[best] - reached < _LEAST_ADDED:
            break
        taken.append(best)
        reached = together[best]
        alone = _determined(values, _groups(cells, [best]))
        found.append(Explained(best, max(alone, 0.0), reached, _means(cells, best)))
    return found


def _groups(cells: Sequence[Moved], settings: Sequence[str]) -> NDArray[np.float64]:
    """The columns of a linear model: one for all cells, and for each setting one for each word but its first."""
    columns = [np.ones(len(cells))]
    for name in settings:
        words = sorted({cell.settings[name] for cell in cells})
        columns += [np.array([float(cell.settings[name] == word) for cell in cells]) for word in words[1:]]
    return np.column_stack(columns)


def _determined(values: NDArray[np.float64], columns: NDArray[np.float64]) -> float:
    """The adjusted coefficient of determination; below 0 where groups explain less than chance would."""
    weights, _, rank, _ = np.linalg.lstsq(columns, values, rcond=None)
    freedom = len(values) - int(rank)
    whole = float(np.square(values - values.mean()).sum())
    if freedom < 1 or whole == 0.0:
        return 0.0
    left = float(np.square(values - columns @ weights).sum())
    return 1 - (left / freedom) / (whole / (len(values) - 1))


def _means(cells: Sequence[Moved], setting: str) -> Sequence[Group]:
    """The groups of a setting, that whose rates rose the most first."""
    every = fmean(cell.log_factor for cell in cells)
    by_word: dict[str, list[float]] = {}
    for cell in cells:
        by_word.setdefault(cell.settings[setting], []).append(cell.log_factor - every)
    groups = [Group(word, len(held), math.exp(fmean(held))) for word, held in by_word.items()]
    return sorted(groups, key=lambda one: -one.factor)
