"""How far the parts of a gap travel: the same gap, taken apart on each processor that a chapter was measured on."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gapbook.method.factors import Decomposition, Factor
from gapbook.method.findings import Findings
from gapbook.method.over_runs import LEAST_BLOCKS, published_findings
from gapbook.method.same import Cell, Setup, cells_of

__all__ = ["OnProcessor", "on_processors"]


@dataclass(frozen=True)
class OnProcessor:
    """A gap in the runs of one kind of processor, oldest first, each taken apart by itself."""

    processor: str
    each: tuple[Decomposition, ...]

    @property
    def gap(self) -> float:
        """The whole gap: the geometric mean over the runs, as of every part, so that the parts multiply to it."""
        return _mean([parts.gap.estimate for parts in self.each])

    @property
    def shares(self) -> tuple[float, ...]:
        """Each factor's part, in their order."""
        by_factor = zip(*(parts.shares for parts in self.each), strict=True)
        return tuple(_mean([share.multiplier.estimate for share in shares]) for shares in by_factor)

    @property
    def orderings(self) -> tuple[int, ...]:
        """How many orders of the steps the runs measured whole; a number for each that differs."""
        return tuple(sorted({parts.orderings for parts in self.each}))


def on_processors(found: Findings, factors: Sequence[Factor], treatment: float) -> list[OnProcessor]:
    """The gap of a run in every published run of its chapter that holds its two ends under the same load, by processor,
    that with the smallest gap first; empty where the run at hand does not close it.

    A run counts the cells that are the same as some of the run at hand, so that one of fewer contestants has fewer orders.
    """
    own = cells_of(found.run)
    each: dict[str, list[Decomposition]] = defaultdict(list)
    for other, known in published_findings():
        if other.scenario.chapter != found.scenario.chapter:
            continue
        parts = other.decompose(factors, treatment, without=_others(other, own, known, treatment))
        if parts is not None and parts.gap.bounded and parts.gap.n >= LEAST_BLOCKS:
            each[other.run.manifest.machine.processor].append(parts)
    by_processor = [OnProcessor(processor, tuple(runs)) for processor, runs in each.items()]
    return sorted(by_processor, key=lambda one: one.gap)


def _others(
    other: Findings, own: Mapping[Setup, Cell], known: Mapping[Setup, Cell], treatment: float
) -> list[str]:
    """The contestants of a run that the run at hand has not under the same load."""
    same = {cell.contestant for setup, cell in known.items() if setup in own and cell.treatment == treatment}
    return [one.name for one in other.scenario.contestants if one.name not in same]


def _mean(values: Sequence[float]) -> float:
    return math.exp(math.fsum(map(math.log, values)) / len(values))
