"""What narrows a comparison: tried on trials of one and the same contestant, of which the true ratio is one.

Trials of a contestant within a block differ by noise alone, so any of them may stand for either end of a ratio
(A/A). A remedy is worth something when their spread with it is smaller than without; the quotient of both has an
interval over blocks (bootstrap of whole blocks, for trials of a block share its luck).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist

import numpy as np

from gapbook.method.estimate import Floats
from gapbook.method.interval import Interval
from gapbook.method.student import CONFIDENCE

__all__ = ["AaTrial", "adjusted", "apart_in_twenty", "neighbouring", "shorter_windows", "spread"]

_RESAMPLES = 1999
_SEED = 20_261_123


@dataclass(frozen=True)
class AaTrial:
    """One trial of a cell that was repeated.

    ``rates_per_s`` is the goodput of the first seconds of its window, by how many; the longest is the whole window.
    ``covariates`` are positive readings of the machine inside the window, by name. ``took_s``: all that the trial
    took.
    """

    cell: str
    session: int
    block: int
    started_s: float
    took_s: float
    rates_per_s: Mapping[float, float]
    covariates: Mapping[str, float]

    @property
    def window_s(self) -> float:
        return max(self.rates_per_s)

    @property
    def log_rate(self) -> float:
        return math.log(self.rates_per_s[self.window_s])


@dataclass
class _Sums:
    """Sums of squares and of what they are divided by, with a remedy and without, of one block."""

    with_squares: float = 0.0
    with_count: float = 0.0
    without_squares: float = 0.0
    without_count: float = 0.0


def spread(trials: Sequence[AaTrial]) -> float | None:
    """The standard deviation of log goodput within a block; None where no block repeats a cell."""
    groups = list(_groups(trials, _by_block))
    free = sum(len(group) - 1 for group in groups)
    if not free:
        return None
    squares = sum(float((_centred([one.log_rate for one in group]) ** 2).sum()) for group in groups)
    return math.sqrt(squares / free)


def apart_in_twenty(spread_log: float) -> float:
    """How many times the rate of one trial is that of another of the same cell, or more, in one pair of twenty.

    ``spread_log`` is the standard deviation of log goodput; that of a difference of two is the square root of two of it,
    and noise is taken as normal.
    """
    return math.exp(NormalDist().inv_cdf(0.975) * math.sqrt(2) * spread_log)


def adjusted(trials: Sequence[AaTrial], covariates: Sequence[str]) -> Interval | None:
    """The spread within blocks when log goodput is adjusted for the logs of these covariates ÷ without.

    The slopes for a block are those fitted to all other blocks, so that a covariate that says nothing does not
    narrow anything by chance. None where there are too few blocks, or a covariate does not vary.
    """
    centred = [
        (
            group[0].block,
            _centred([one.log_rate for one in group]),
            np.column_stack(
                [_centred([math.log(one.covariates[name]) for one in group]) for name in covariates]
            ),
        )
        for group in _groups(trials, _by_block)
    ]
    sums: dict[int, _Sums] = defaultdict(_Sums)
    for left_out in sorted({block for block, _, _ in centred}):
        rates = [rate for block, rate, _ in centred if block != left_out]
        readings = [reading for block, _, reading in centred if block != left_out]
        if not rates:
            return None
        slopes, _, rank, _ = np.linalg.lstsq(np.concatenate(readings), np.concatenate(rates), rcond=None)
        if rank < len(covariates):
            return None
        for block, rate, reading in centred:
            if block == left_out:
                _add(
                    sums[block], with_squares=((rate - reading @ slopes) ** 2).sum(), with_count=len(rate) - 1
                )
                _add(sums[block], without_squares=(rate**2).sum(), without_count=len(rate) - 1)
    return _quotient(list(sums.values()))


def neighbouring(trials: Sequence[AaTrial], within_s: float) -> Interval | None:
    """The spread of pairs that started at most ``within_s`` apart ÷ that of all pairs of the same session."""
    sums: dict[int, _Sums] = defaultdict(_Sums)
    for group in _groups(trials, lambda one: (one.cell, one.session)):
        for one, other in combinations(group, 2):
            squared, of_block = (one.log_rate - other.log_rate) ** 2, sums[one.block]
            _add(of_block, without_squares=squared, without_count=1)
            if abs(one.started_s - other.started_s) <= within_s:
                _add(of_block, with_squares=squared, with_count=1)
    return _quotient(list(sums.values()))


def shorter_windows(trials: Sequence[AaTrial], length_s: float) -> Interval | None:
    """The standard error that an hour of trials with windows of ``length_s`` has ÷ that with the whole windows.

    Shorter windows make each trial less sure and leave time for more of them. What a trial takes beside its window
    stays as it is.
    """
    beside = [one.took_s - one.window_s for one in trials]
    if not beside:
        return None
    beside_s, whole_s = float(np.median(beside)), max(one.window_s for one in trials)
    sums: dict[int, _Sums] = defaultdict(_Sums)
    for group in _groups(trials, _by_block):
        short = _centred([math.log(one.rates_per_s[length_s]) for one in group])
        whole = _centred([one.log_rate for one in group])
        of_block, free = sums[group[0].block], len(group) - 1
        _add(of_block, with_squares=(short**2).sum() * (beside_s + length_s), with_count=free)
        _add(of_block, without_squares=(whole**2).sum() * (beside_s + whole_s), without_count=free)
    return _quotient(list(sums.values()))


def _by_block(one: AaTrial) -> tuple[object, ...]:
    return one.cell, one.block


def _groups(
    trials: Iterable[AaTrial], key: Callable[[AaTrial], tuple[object, ...]]
) -> Iterator[list[AaTrial]]:
    """Trials that differ by noise alone, in the order in which they ran; those that have no other are left out."""
    groups: dict[tuple[object, ...], list[AaTrial]] = defaultdict(list)
    for one in sorted(trials, key=lambda one: one.started_s):
        groups[key(one)].append(one)
    return (group for group in groups.values() if len(group) > 1)


def _centred(values: Sequence[float]) -> Floats:
    found = np.asarray(values, dtype=np.float64)
    centred: Floats = found - found.mean()
    return centred


def _add(sums: _Sums, **more: float) -> None:
    for name, value in more.items():
        setattr(sums, name, getattr(sums, name) + float(value))


def _quotient(blocks: Sequence[_Sums]) -> Interval | None:
    """The spread with a remedy ÷ without it, with a bootstrap interval over blocks; None without two blocks."""
    sums = np.array(
        [(b.with_squares, b.with_count, b.without_squares, b.without_count) for b in blocks], dtype=np.float64
    ).reshape(-1, 4)
    if len(sums) < 2 or not sums.sum(axis=0).all():
        return None
    drawn = np.random.default_rng(_SEED).integers(len(sums), size=(_RESAMPLES, len(sums)))
    totals = sums[drawn].sum(axis=1)
    resampled = _ratio(totals[totals.all(axis=1)])
    low, high = np.quantile(resampled, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Interval(float(_ratio(sums.sum(axis=0)[None, :])[0]), float(low), float(high), len(sums))


def _ratio(totals: Floats) -> Floats:
    quotients: Floats = np.sqrt(totals[:, 0] / totals[:, 1] / (totals[:, 2] / totals[:, 3]))
    return quotients
