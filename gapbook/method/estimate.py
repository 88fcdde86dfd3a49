"""Estimates: geometric means over blocks with t intervals on the log scale.

The unit of replication is the block, never the operation: operations of one trial share its
luck (Kalibera and Jones, doi 10.1145/2464157.2464160).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from gapbook.method.interval import Interval
from gapbook.method.student import CONFIDENCE, quantile_of_t
from gapbook.record.metric import GOODPUT, Metric

__all__ = [
    "BlockFit",
    "Contrast",
    "amount_interval",
    "bootstrap_intervals",
    "chance_within",
    "combined",
    "difference",
    "geometric_interval",
    "geometric_mean",
    "mean_interval",
    "metric_interval",
    "paired_ratios",
    "ratio_interval",
    "values_by_contestant",
]

BOOTSTRAP_SEED = 20_260_224
_BOOTSTRAP_RESAMPLES = 1999
_TOLERANCE = 1e-9
_VALUE = "value of the metric"
Floats = NDArray[np.float64]


def geometric_interval(values: Sequence[float], degrees_of_freedom: float = math.inf) -> Interval:
    """Geometric mean of positive values, one a block, with its 95 % t interval.

    It has one degree of freedom less than there are values, or ``degrees_of_freedom`` where that is less: values
    of an estimate that some blocks tell little of, say. Raises ValueError on an empty sequence or a value that is
    not positive.
    """
    logs = _logs(values)
    mean, n = float(logs.mean()), len(logs)
    if n == 1:
        return Interval(math.exp(mean), math.nan, math.nan, 1)
    freedom = min(n - 1, degrees_of_freedom)
    half = float(quantile_of_t(freedom) * logs.std(ddof=1) / math.sqrt(n))
    return Interval(math.exp(mean), math.exp(mean - half), math.exp(mean + half), n)


def geometric_mean(values: Sequence[float]) -> float:
    """Geometric mean of positive values; raises ValueError on an empty sequence or a value that is not positive."""
    return math.exp(float(_logs(values).mean()))


def _logs(values: Sequence[float]) -> Floats:
    if not values or min(values) <= 0:
        raise ValueError("a geometric mean needs at least one value, all above 0")
    return np.log(np.asarray(values, dtype=np.float64))


def mean_interval(values: Sequence[float]) -> Interval:
    """Arithmetic mean of values, one a block, with its 95 % t interval; raises ValueError on an empty sequence."""
    if not values:
        raise ValueError("a mean needs at least one value")
    found, n = np.asarray(values, dtype=np.float64), len(values)
    mean = float(found.mean())
    if n == 1:
        return Interval(mean, math.nan, math.nan, 1)
    half = float(quantile_of_t(n - 1) * found.std(ddof=1) / math.sqrt(n))
    return Interval(mean, mean - half, mean + half, n)


def amount_interval(values: Sequence[float]) -> Interval:
    """Arithmetic mean of amounts, one a block, with its 95 % t interval; raises ValueError on an empty sequence.

    No amount can be below 0, so neither is an end of its interval: a t interval of a few counts near 0 would be.
    """
    found = mean_interval(values)
    return replace(found, low=max(found.low, 0.0)) if found.bounded else found


def metric_interval(values: Sequence[float], metric: Metric) -> Interval:
    """The mean of a metric over blocks, on the scale on which it is compared."""
    return geometric_interval(values) if metric.log else amount_interval(values)


def chance_within(interval: Interval, band_frac: float) -> float:
    """How likely an interval as wide as this one lies wholly inside ± ``band_frac`` of a ratio that is exactly true.

    On the log scale, with half-width *h* and *n* blocks, the estimate is taken as normal round the truth with
    the standard error *s = h / t(n - 1)*, and the probability is
    *Φ((ln(1 + band) - h) / s) - Φ((ln(1 - band) + h) / s)*, 0 where the interval is wider than the band.

    Raises ValueError for an interval without bounds.
    """
    if not interval.bounded:
        raise ValueError("an interval without bounds has no chance to be told")
    half = math.log(interval.high / interval.low) / 2
    low, high = math.log(1 - band_frac) + half, math.log(1 + band_frac) - half
    if low >= high:
        return 0.0
    if half == 0:
        return 1.0
    error = half / quantile_of_t(max(interval.n - 1, 1))
    return float(scipy.special.ndtr(high / error) - scipy.special.ndtr(low / error))


def ratio_interval(over: Mapping[int, float], under: Mapping[int, float]) -> Interval | None:
    """Ratio of two cells, paired by block; None when no block holds both."""
    ratios = paired_ratios(over, under)
    return geometric_interval(list(ratios.values())) if ratios else None


def paired_ratios(over: Mapping[int, float], under: Mapping[int, float]) -> dict[int, float]:
    """Ratio of two cells in each block that holds both."""
    return {block: over[block] / under[block] for block in sorted(over.keys() & under.keys())}


def bootstrap_intervals(
    quantities: Sequence[Mapping[int, float]], seed: int = BOOTSTRAP_SEED
) -> list[Interval | None]:
    """Geometric mean of each quantity with its 95 % percentile bootstrap interval over blocks; None below two blocks.

    A cross-check only: it assumes no distribution, but is too narrow for few blocks. Quantities over equally many blocks
    are resampled alike.
    """
    found: list[Interval | None] = [None] * len(quantities)
    for n in {len(by_block) for by_block in quantities if len(by_block) > 1}:
        places = [place for place, by_block in enumerate(quantities) if len(by_block) == n]
        logs = np.log([[quantities[place][block] for block in sorted(quantities[place])] for place in places])
        means = logs[:, _resamples(n, seed)].mean(axis=-1)
        lows, highs = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=-1)
        for place, row, low, high in zip(places, logs, lows, highs, strict=True):
            found[place] = Interval(math.exp(row.mean()), math.exp(low), math.exp(high), n)
    return found


@lru_cache(maxsize=64)
def _resamples(n: int, seed: int) -> NDArray[np.int64]:
    """Which of ``n`` blocks each resample holds, a row for each: the same for all quantities over as many."""
    return np.random.default_rng(seed).integers(0, n, (_BOOTSTRAP_RESAMPLES, n))


@dataclass(frozen=True)
class Contrast:
    """A weighted sum of cells' mean logs. ``by_block`` holds what each block says of it, on the log
    scale: the block's own weighted sum when no trial is missing, else its jackknife pseudo-value. ``told_by`` are the
    blocks that hold trials of both sides of it (of all that it has, where no block does); ``n`` is their number.

    Without an interval, ``standard_error_log`` and ``degrees_of_freedom`` are NaN.
    """

    log: float
    standard_error_log: float
    degrees_of_freedom: float
    by_block: Mapping[int, float]
    told_by: frozenset[int]

    @property
    def n(self) -> int:
        return len(self.told_by)

    @property
    def interval(self) -> Interval:
        half = self.standard_error_log * quantile_of_t(self.degrees_of_freedom)
        return Interval(math.exp(self.log), math.exp(self.log - half), math.exp(self.log + half), self.n)

    @property
    def factor_by_block(self) -> dict[int, float]:
        return {block: math.exp(value) for block, value in self.by_block.items()}

    @property
    def told_factor_by_block(self) -> dict[int, float]:
        """What each block that holds both sides says of it, as if there were no other blocks."""
        # How far a pseudo-value lies from the estimate grows with the number of blocks.
        nearer = (self.n - 1) / max(len(self.by_block) - 1, 1)
        return {
            block: math.exp(self.log + (value - self.log) * nearer if self.n > 1 else value)
            for block, value in self.by_block.items()
            if block in self.told_by
        }

    def without(self, block: int) -> float:
        """Its log where one of its blocks is left out; of a block that it does not have, its log."""
        n = len(self.by_block)
        return (n * self.log - self.by_block[block]) / (n - 1) if block in self.by_block else self.log

    @property
    def p_value(self) -> float:
        """Two-sided, for a true value of 1; NaN without an interval."""
        if self.standard_error_log == 0:
            return 1.0 if self.log == 0 else 0.0
        statistic = abs(self.log) / self.standard_error_log
        return float(2 * scipy.special.stdtr(self.degrees_of_freedom, -statistic))


def difference(over: Contrast, under: Contrast) -> Contrast:
    """What two contrasts over the same blocks differ by, each with a fit of its own: a ratio of ratios."""
    return combined([(1.0, over), (-1.0, under)])


def combined(parts: Sequence[tuple[float, Contrast]]) -> Contrast:
    """A weighted sum of contrasts over the same blocks, at least one: what they multiply to, or a ratio of them.

    The standard error comes from leaving out each block of all at once, so that what moves a whole block cancels.
    The degrees of freedom are those of the contrast that has fewest.
    """
    contrasts = [contrast for _, contrast in parts]
    log = sum(weight * contrast.log for weight, contrast in parts)
    blocks = sorted({block for contrast in contrasts for block in contrast.by_block})
    told = [contrast.told_by for contrast in contrasts]
    told_by = frozenset.intersection(*told) or frozenset.union(*told)
    n = len(blocks)
    if n == 1 and all(contrast.by_block for contrast in contrasts):
        return Contrast(log, math.nan, math.nan, {blocks[0]: log}, told_by)
    if not all(contrast.interval.bounded for contrast in contrasts):
        return Contrast(log, math.nan, math.nan, {}, told_by)
    left_out = np.array(
        [sum(weight * contrast.without(block) for weight, contrast in parts) for block in blocks]
    )
    variance = (n - 1) / n * float(((left_out - left_out.mean()) ** 2).sum())
    pseudo = n * log - (n - 1) * left_out
    return Contrast(
        log,
        math.sqrt(variance),
        min(contrast.degrees_of_freedom for contrast in contrasts),
        dict(zip(blocks, map(float, pseudo), strict=True)),
        told_by,
    )


class BlockFit:
    """log value = cell + block, fitted by least squares to all trials there are.

    ``cells`` map block to value, above 0.
    """

    def __init__(self, cells: Sequence[Mapping[int, float]]) -> None:
        self.blocks = sorted(set().union(*cells))
        column = {block: index for index, block in enumerate(self.blocks)}
        logs = np.full((len(cells), len(self.blocks)), np.nan)
        for row, cell in zip(logs, cells, strict=True):
            row[[column[block] for block in cell]] = np.log(list(cell.values()))
        self.there = ~np.isnan(logs)
        self.values = np.where(self.there, logs, 0.0)

    @property
    def mean_logs(self) -> Floats:
        """The mean log of each cell in the mean block."""
        equations = _equations(_Array.of(self.there))
        in_cell = self.values.sum(axis=1) / equations.counts
        block_effects = equations.inverse @ np.where(self.there, self.values - in_cell[:, None], 0.0).sum(
            axis=0
        )
        found: Floats = in_cell - equations.means @ block_effects
        return found

    def contrasts(self, weights: Floats) -> list[Contrast | None]:
        """One contrast a row of ``weights``, which has one weight a cell and sums to 0 (a ratio of cells)
        or to 1 (a cell in the mean block); None for a contrast that the trials cannot tell.

        The standard error comes from leaving out one block at a time, with degrees of freedom after
        Satterthwaite; with no trial missing this is the paired t interval over blocks.
        """
        return [
            None if row is None else _contrast(row, self.values, self.blocks)
            for row in _design(_Array.of(self.there), _Array.of(weights)).rows
        ]


class _Array(NamedTuple):
    """An array as a key: what follows from it alone is computed once."""

    content: bytes
    shape: tuple[int, ...]
    kind: str

    @classmethod
    def of(cls, array: NDArray[Any]) -> _Array:
        return cls(array.tobytes(), array.shape, array.dtype.str)

    def array(self) -> NDArray[Any]:
        return np.frombuffer(self.content, self.kind).reshape(self.shape)


class _BlockEquations:
    """The normal equations of the block effects, with the cells taken out."""

    def __init__(self, there: NDArray[np.bool_]) -> None:
        self.counts = np.maximum(there.sum(axis=1), 1).astype(np.float64)
        self.means = there / self.counts[:, None]
        self.normal: Floats = np.diag(there.sum(axis=0).astype(np.float64)) - there.T @ self.means
        self.inverse: Floats = np.linalg.pinv(self.normal, rtol=_TOLERANCE, hermitian=True)


@lru_cache(maxsize=1024)
def _equations(there: _Array) -> _BlockEquations:
    return _BlockEquations(there.array())


class _Coefficients:
    """What the least-squares fit multiplies each trial with, given which trials there are."""

    def __init__(self, there: NDArray[np.bool_], weights: Floats) -> None:
        equations = _equations(_Array.of(there))
        self.there, self.weights = there, weights
        self.counts, self.means = equations.counts, equations.means
        in_block = there.any(axis=0)
        wanted = weights @ self.means - weights.sum(axis=1)[:, None] * (in_block / in_block.sum())
        self.by_block = wanted @ equations.inverse
        # Blocks that no cell links are in no equation together, and cannot be compared.
        told = np.abs(self.by_block @ equations.normal - wanted).max(axis=1) < _TOLERANCE
        self.estimable = told & ~(weights[:, ~there.any(axis=1)] != 0).any(axis=1)

    def of(self, row: int) -> Floats:
        """The coefficients of one contrast, cell by block."""
        own = self.by_block[row]
        in_cell = self.weights[row] / self.counts + self.means @ own
        found: Floats = np.where(self.there, in_cell[:, None] - own, 0.0)
        return found


@dataclass(frozen=True)
class _Row:
    """What one contrast follows from besides the values: its coefficients, those without each block in turn, the
    degrees of freedom after Satterthwaite, and the places of the blocks that tell it."""

    whole: Floats
    held_out: Floats | None
    freedom: float
    told_by: tuple[int, ...]


class _Design:
    """All contrasts of one set of weights, given which trials there are: ``rows``, None for one that they cannot tell."""

    def __init__(self, there: NDArray[np.bool_], weights: Floats) -> None:
        self.whole = _Coefficients(there, weights)
        held_out = []
        blocks = there.shape[1]
        for column in range(blocks if blocks > 1 else 0):
            kept = there.copy()
            kept[:, column] = False
            held_out.append(_Coefficients(kept, weights))
        self.rows = [
            self._row(row, held_out) if self.whole.estimable[row] else None for row in range(len(weights))
        ]

    def _row(self, row: int, held_out: Sequence[_Coefficients]) -> _Row:
        told_by = tuple(np.flatnonzero(_tells(self.whole.there, self.whole.weights[row])).tolist())
        if not held_out or not all(fit.estimable[row] for fit in held_out):
            return _Row(self.whole.of(row), None, math.nan, told_by)
        coefficients = np.stack([fit.of(row).ravel() for fit in held_out])
        spread = coefficients - coefficients.mean(axis=0)
        gram = spread @ spread.T
        freedom = float(np.trace(gram) ** 2 / (gram**2).sum())
        return _Row(self.whole.of(row), coefficients, freedom, told_by)


# A cell that can be run or not, and a block that is left out: simulated plants have some hundred designs.
@lru_cache(maxsize=256)
def _design(there: _Array, weights: _Array) -> _Design:
    return _Design(there.array(), weights.array())


def _contrast(row: _Row, values: Floats, blocks: Sequence[int]) -> Contrast:
    n = len(blocks)
    estimate = float((row.whole * values).sum())
    told_by = frozenset(blocks[place] for place in row.told_by)
    if n == 1:
        return Contrast(estimate, math.nan, math.nan, {blocks[0]: estimate}, told_by)
    if row.held_out is None:
        return Contrast(estimate, math.nan, math.nan, {}, told_by)
    left_out = row.held_out @ values.ravel()
    variance = (n - 1) / n * float(((left_out - left_out.mean()) ** 2).sum())
    pseudo = n * estimate - (n - 1) * left_out
    return Contrast(
        estimate,
        math.sqrt(variance),
        row.freedom,
        dict(zip(blocks, map(float, pseudo), strict=True)),
        told_by,
    )


def _tells(there: NDArray[np.bool_], weights: Floats) -> NDArray[np.bool_]:
    """Which blocks hold trials of cells with a positive weight and of some with a negative one, where there are any."""
    sides = [side for side in (weights > _TOLERANCE, weights < -_TOLERANCE) if side.any()]
    held = np.array([np.any(there[side], axis=0) for side in sides], dtype=np.bool_)
    in_all: NDArray[np.bool_] = np.logical_and.reduce(held, axis=0)
    in_any: NDArray[np.bool_] = np.logical_or.reduce(held, axis=0)
    return in_all if in_all.any() else in_any


def values_by_contestant(
    trials: pl.DataFrame, treatment: float, metric: Metric = GOODPUT
) -> dict[str, dict[int, float]]:
    """A metric by block of the valid trials at one value of the treatment, of every contestant that has any.

    A block with several trials of one cell counts as their mean, the geometric one where the metric is on a
    log scale. A trial that does not tell the metric is left out.
    """
    # At once: each step alone takes longer than all that it has to do.
    kept = trials.lazy().filter((pl.col("treatment") == treatment) & pl.col("valid"))
    told = kept.with_columns(metric.value.alias(_VALUE)).filter(
        pl.col(_VALUE) > 0 if metric.log else pl.col(_VALUE).is_not_null()
    )
    # Relative to the first trial, so that a single one is its own mean to the last digit.
    first = pl.col(_VALUE).first()
    mean = first * (pl.col(_VALUE) / first).log().mean().exp() if metric.log else pl.col(_VALUE).mean()
    found: dict[str, dict[int, float]] = {}
    means = told.group_by("contestant", "block", maintain_order=True).agg(mean).collect()
    for contestant, block, value in means.iter_rows():
        found.setdefault(contestant, {})[block] = value
    return found
