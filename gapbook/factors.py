"""Factors: the gap between two cells as a product that closes.

The cells of a comparison are points in a lattice of levels. A factor moves one coordinate from its
level at the start to its level at the end; an ordering of the factors is a path through the lattice.
Only cells that can be run exist, so only paths whose every cell was measured count: the Shapley
value of a precedence-restricted game on log goodput (Faigle and Kern, doi 10.1007/BF01258278).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import Literal

from gapbook.estimate import geometric_interval
from gapbook.interval import Interval

__all__ = ["Cell", "Decomposition", "Factor", "Share", "decompose"]

Cell = tuple[str, ...]
Family = Literal["stack", "wire", "promise", "workload", "residual"]
_MAX_FACTORS = 8


@dataclass(frozen=True)
class Factor:
    """What differs between start and end: ``before`` → ``after`` in one dimension of the cells.

    ``dimension`` is a key of :meth:`gapbook.scenario.Contestant.levels`; ``family`` groups factors by
    colour: ``stack``, ``wire``, ``promise``, ``workload`` or ``residual``.
    """

    name: str
    dimension: str
    before: str
    after: str
    family: Family


@dataclass(frozen=True)
class Share:
    """A factor's part of the gap: its mean multiplier over the feasible orderings, with the interval
    over blocks, and the least and the greatest multiplier that any feasible ordering gives it."""

    factor: Factor
    multiplier: Interval
    order_low: float
    order_high: float
    by_block: Mapping[int, float]


@dataclass(frozen=True)
class Decomposition:
    """Shares that multiply to the gap, block by block and on the geometric means."""

    gap: Interval
    shares: tuple[Share, ...]
    orderings: int
    orderings_possible: int
    cells_measured: int
    cells_possible: int

    @property
    def closing_error_log(self) -> float:
        """|sum of log shares - log gap|: numerical noise only."""
        return abs(sum(math.log(s.multiplier.estimate) for s in self.shares) - math.log(self.gap.estimate))


def decompose(factors: Sequence[Factor], cells: Mapping[Cell, Mapping[int, float]]) -> Decomposition | None:
    """Shapley shares of ``factors`` for the gap from the cell of all ``before`` to that of all ``after``.

    ``cells`` maps a tuple of levels (one a factor, in the order of ``factors``) to goodput by block.
    Only blocks in which every needed cell is valid are used. Returns None when no ordering is feasible
    or no block is complete. Raises ValueError above eight factors (8! orderings).
    """
    if len(factors) > _MAX_FACTORS:
        raise ValueError(f"{len(factors)} factors have too many orderings to list; at most {_MAX_FACTORS}")
    paths = {
        order: path
        for order in permutations(range(len(factors)))
        if set(path := _path(factors, order)) <= cells.keys()
    }
    if not paths:
        return None
    needed = {cell for path in paths.values() for cell in path}
    blocks = sorted(set.intersection(*(set(cells[cell]) for cell in needed)))
    if not blocks:
        return None
    steps: list[list[dict[int, float]]] = [[] for _ in factors]
    for order, path in paths.items():
        for position, factor_index in enumerate(order):
            under, over = cells[path[position]], cells[path[position + 1]]
            steps[factor_index].append({block: math.log(over[block] / under[block]) for block in blocks})
    shares = []
    for factor, logs in zip(factors, steps, strict=True):
        by_block = {block: math.exp(sum(step[block] for step in logs) / len(logs)) for block in blocks}
        by_order = [math.exp(sum(step.values()) / len(blocks)) for step in logs]
        shares.append(
            Share(factor, geometric_interval(list(by_block.values())), min(by_order), max(by_order), by_block)
        )
    start, end = _path(factors, ())[0], tuple(factor.after for factor in factors)
    gap = geometric_interval([cells[end][block] / cells[start][block] for block in blocks])
    lattice = set(product(*((factor.before, factor.after) for factor in factors)))
    return Decomposition(
        gap=gap,
        shares=tuple(shares),
        orderings=len(paths),
        orderings_possible=math.factorial(len(factors)),
        cells_measured=len(lattice & cells.keys()),
        cells_possible=len(lattice),
    )


def _path(factors: Sequence[Factor], order: Sequence[int]) -> tuple[Cell, ...]:
    """The cells that an ordering visits, from all ``before`` on."""
    cell = [factor.before for factor in factors]
    visited = [tuple(cell)]
    for index in order:
        cell[index] = factors[index].after
        visited.append(tuple(cell))
    return tuple(visited)
