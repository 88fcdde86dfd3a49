"""Factors: the gap between two cells as a product that closes.

The cells of a comparison are points in a lattice of levels. A factor moves one coordinate from its
level at the start to its level at the end; an ordering of the factors is a path through the lattice.
Only cells that can be run exist, so only paths whose every cell was measured count: the Shapley
value of the log of a metric as the mean over maximal chains, as on convex geometries (Bilbao and Edelman, doi
10.1016/S0166-218X(99)00218-8). What can be run need not be one: its axioms are not claimed.

Orderings are counted, not listed: a share is the sum over the lattice's edges of the log step along
the edge, weighted by the part of all feasible paths that use it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gapbook.method.estimate import BlockFit, Contrast, Floats, bootstrap_intervals, combined, difference
from gapbook.method.interval import Interval

__all__ = ["Cell", "Decomposition", "Factor", "Further", "Share", "decompose", "exact_logs", "further"]

Cell = tuple[str, ...]
Family = Literal["stack", "wire", "promise", "workload", "residual"]
_MAX_FACTORS = 16
_Bits = NDArray[np.int64]


@dataclass(frozen=True)
class Factor:
    """What differs between start and end: ``before`` → ``after`` in one dimension of the cells.

    ``dimension`` is a key of :attr:`gapbook.record.scenario.RecordedContestant.levels`; ``family`` groups factors by
    colour: ``stack``, ``wire``, ``promise``, ``workload`` or ``residual``. ``along`` are dimensions that nobody could
    change apart from it, each with its level before and after.
    """

    name: str
    dimension: str
    before: str
    after: str
    family: Family
    along: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def changes(self) -> Mapping[str, tuple[str, str]]:
        """All dimensions that it changes, its own first, each with its level before and after."""
        return {self.dimension: (self.before, self.after), **self.along}


@dataclass(frozen=True)
class Share:
    """A factor's part of the gap: ``contrast``, its mean over the feasible orderings, and the least and the
    greatest multiplier that any feasible ordering gives it. ``bootstrap`` is a cross-check of its interval.
    """

    factor: Factor
    contrast: Contrast
    order_low: float
    order_high: float
    bootstrap: Interval | None

    @property
    def multiplier(self) -> Interval:
        """The mean multiplier, with its interval over blocks."""
        return self.contrast.interval


@dataclass(frozen=True)
class Decomposition:
    """Shares that multiply to the gap, block by block and on the geometric means.

    ``whole`` is the gap, and ``start`` and ``end`` are the metric at its two ends, such that end ÷ start
    is the gap. Where ``feasible_known``, the orderings and cells that are possible are those that can be run; else all
    there are, be they runnable or not. Of ``blocks`` blocks, ``blocks_incomplete`` lack one or more of the needed trials,
    ``trials_missing`` in all.
    """

    whole: Contrast
    gap_bootstrap: Interval | None
    start: Interval
    end: Interval
    shares: tuple[Share, ...]
    orderings: int
    orderings_possible: int
    cells_measured: int
    cells_possible: int
    feasible_known: bool
    blocks: int
    blocks_incomplete: int
    trials_missing: int

    @property
    def gap(self) -> Interval:
        """The whole gap, with its interval over blocks."""
        return self.whole.interval

    def together(self, factors: Collection[Factor]) -> Contrast:
        """What some of its factors, at least one, multiply to."""
        return combined([(1.0, share.contrast) for share in self.shares if share.factor in factors])

    @property
    def closing_error_log(self) -> float:
        """|sum of log shares - log gap|: numerical noise only."""
        return abs(sum(math.log(s.multiplier.estimate) for s in self.shares) - math.log(self.gap.estimate))


@dataclass(frozen=True)
class Further:
    """From the gap at one value of the treatment to the gap at another: what follows when a gap is taken apart.

    ``step`` is the ratio of the two gaps, with which the shares of the first multiply to the other's ``whole``.
    ``start`` and ``end`` are the metric at the two ends there.
    """

    step: Contrast
    whole: Contrast
    start: Interval
    end: Interval


def further(here: Decomposition, there: Decomposition) -> Further:
    """The step from one whole gap to the other, of the same two ends in the same blocks.

    Each gap stays as it was estimated from the trials of its own treatment, and so closes with its own shares.
    """
    return Further(difference(there.whole, here.whole), there.whole, there.start, there.end)


def decompose(
    factors: Sequence[Factor],
    cells: Mapping[Cell, Mapping[int, float]],
    feasible: Collection[Cell] | None = None,
) -> Decomposition | None:
    """Shapley shares of ``factors`` for the gap from the cell of all ``before`` to that of all ``after``.

    ``cells`` maps a tuple of levels (one a factor, in the order of ``factors``) to a metric by block of
    its valid trials. A cell counts as measured from two blocks on; where that leaves no ordering, from
    one, and then without intervals. ``feasible`` are the cells that can be run, measured or not; None where nobody
    knows. Returns None when no ordering is feasible, or when the cells have
    too few blocks in common. Raises ValueError above 16 factors, or when one changes nothing.
    """
    if len(factors) > _MAX_FACTORS:
        raise ValueError(f"{len(factors)} factors span too many cells; at most {_MAX_FACTORS}")
    same = [one.name for one in factors if any(before == after for before, after in one.changes.values())]
    if same:
        raise ValueError(f"{', '.join(same)}: a factor must have two levels that differ")
    values = {
        place: by_block
        for cell, by_block in cells.items()
        if by_block and (place := _place(factors, cell)) is not None
    }
    for enough in (2, 1):
        kept = {place: by_block for place, by_block in values.items() if len(by_block) >= enough}
        lattice = _lattice(len(factors), frozenset(kept))
        if lattice.orderings:
            possible = None if feasible is None else frozenset(kept) | _places(factors, feasible)
            return _decompose(factors, lattice, kept, possible)
    return None


def exact_logs(factors: Sequence[Factor], logs: Mapping[Cell, float]) -> tuple[float, Sequence[float]] | None:
    """Log gap and log shares, in the order of ``factors``, of cells whose logs are known, not estimated: what a
    decomposition is to find. None when no ordering is feasible."""
    known = {place: log for cell, log in logs.items() if (place := _place(factors, cell)) is not None}
    lattice = _lattice(len(factors), frozenset(known))
    if not lattice.orderings:
        return None
    found = lattice.weights() @ np.array([known[place] for place in lattice.needed])
    return float(found[-1]), [float(share) for share in found[: len(factors)]]


def _place(factors: Sequence[Factor], cell: Cell) -> int | None:
    """The cell's place in the lattice: one bit a factor, set at ``after``; None for other levels."""
    place = 0
    for bit, (factor, level) in enumerate(zip(factors, cell, strict=True)):
        if level not in {factor.before, factor.after}:
            return None
        place |= (level == factor.after) << bit
    return place


def _places(factors: Sequence[Factor], cells: Collection[Cell]) -> frozenset[int]:
    return frozenset(place for cell in cells if (place := _place(factors, cell)) is not None)


class _Lattice:
    """How many feasible orderings pass each cell and each edge.

    Counts are whole numbers up to 16!, which float64 holds exactly.
    """

    def __init__(self, dimensions: int, measured: Collection[int]) -> None:
        self.dimensions = dimensions
        places = np.arange(1 << dimensions)
        there = np.isin(places, list(measured))
        self.from_start = _count_paths(dimensions, there)
        # Seen from the end, a place and its complement change roles.
        self.to_end = _count_paths(dimensions, there[::-1])[::-1]
        self.orderings = int(self.from_start[-1])
        self.needed: _Bits = np.flatnonzero(self.from_start * self.to_end)

    @cached_property
    def all_edges(self) -> Sequence[tuple[_Bits, _Bits, Floats]]:
        """Those of each factor (:meth:`edges`)."""
        return [self.edges(bit) for bit in range(self.dimensions)]

    def weights(self) -> Floats:
        """What the logs of the needed cells are weighed with: a row for the share of each factor, then one for the
        start, the end and the gap."""
        weights = np.zeros((self.dimensions + 3, len(self.needed)))
        for row, (under, over, part) in zip(weights, self.all_edges, strict=False):
            row[over] += part
            row[under] -= part
        start, end, gap = range(self.dimensions, self.dimensions + 3)
        weights[start, 0] = weights[end, -1] = weights[gap, -1] = 1
        weights[gap, 0] = -1
        return weights

    def edges(self, bit: int) -> tuple[_Bits, _Bits, Floats]:
        """Edges along one factor that a feasible ordering uses: under, over (as places among the needed
        cells) and the part of all orderings that use them."""
        under = self.needed[(self.needed >> bit) & 1 == 0]
        through = self.from_start[under] * self.to_end[under | 1 << bit]
        under, through = under[through > 0], through[through > 0]
        return (
            np.searchsorted(self.needed, under),
            np.searchsorted(self.needed, under | 1 << bit),
            through / self.orderings,
        )


# Simulated plants have some hundred of them.
@lru_cache(maxsize=512)
def _lattice(dimensions: int, measured: frozenset[int]) -> _Lattice:
    return _Lattice(dimensions, measured)


def _count_paths(dimensions: int, there: NDArray[np.bool_]) -> Floats:
    """Feasible paths from place 0 to every place, by number of bits set."""
    places = np.arange(len(there))
    bits_set = np.sum([(places >> bit) & 1 for bit in range(dimensions)], axis=0)
    paths = np.zeros(len(there))
    paths[0] = there[0]
    for level in range(1, dimensions + 1):
        reached = places[(bits_set == level) & there]
        for bit in range(dimensions):
            has_bit = reached[(reached >> bit) & 1 == 1]
            paths[has_bit] += paths[has_bit ^ 1 << bit]
    return paths


def _decompose(
    factors: Sequence[Factor],
    lattice: _Lattice,
    values: Mapping[int, Mapping[int, float]],
    possible: frozenset[int] | None,
) -> Decomposition | None:
    cells = [values[place] for place in lattice.needed]
    weights, edges = lattice.weights(), lattice.all_edges
    start, end, gap = range(len(factors), len(factors) + 3)
    fit = BlockFit(cells)
    contrasts = [contrast for contrast in fit.contrasts(weights) if contrast]
    if len(contrasts) < len(weights):
        return None
    mean_logs = fit.mean_logs
    bootstraps = bootstrap_intervals([contrast.factor_by_block for contrast in contrasts])
    shares = []
    for factor, (under, over, _), contrast, bootstrap in zip(
        factors, edges, contrasts, bootstraps, strict=False
    ):
        steps = mean_logs[over] - mean_logs[under]
        shares.append(
            Share(
                factor,
                contrast,
                math.exp(steps.min()),
                math.exp(steps.max()),
                bootstrap,
            )
        )
    return Decomposition(
        whole=contrasts[gap],
        gap_bootstrap=bootstraps[gap],
        start=contrasts[start].interval,
        end=contrasts[end].interval,
        shares=tuple(shares),
        orderings=lattice.orderings,
        orderings_possible=math.factorial(len(factors))
        if possible is None
        else _lattice(len(factors), possible).orderings,
        cells_measured=len(values),
        cells_possible=1 << len(factors) if possible is None else len(possible),
        feasible_known=possible is not None,
        blocks=len(fit.blocks),
        blocks_incomplete=int((~fit.there).any(axis=0).sum()),
        trials_missing=int((~fit.there).sum()),
    )
