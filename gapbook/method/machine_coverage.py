"""Does a number hold on a machine that was not measured? Virtual machines that differ as those of the stored runs do.

Each machine has a ratio of its own, and a run on it finds that ratio with the noise of its blocks. From the runs of some
machines comes what the next is expected to have (:func:`gapbook.method.random_effects.expected`), as on a page.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median

import numpy as np

from gapbook.method.proportions import wilson_interval
from gapbook.method.random_effects import expected

__all__ = ["MachineCoverage", "measure_machine_coverage"]


@dataclass(frozen=True)
class MachineCoverage:
    """In how many of ``plants`` draws the interval from ``machines`` known machines ``held`` the ratio of another, and
    half of its median width on the log scale."""

    machines: int
    plants: int
    held: int
    half_log: float

    @property
    def wilson(self) -> tuple[float, float]:
        """The 95 % interval of the part that held."""
        return wilson_interval(self.held, self.plants)


def measure_machine_coverage(
    machines: int, *, spread_log: float, noise_log: float, blocks: int, plants: int, seed: int = 0
) -> MachineCoverage:
    """Draw so many sets of known machines, and one more each.

    ``spread_log`` is the standard deviation of the distance between two machines, ``noise_log`` that of a block's ratio on
    one of them, both on the log scale; each machine is known from a run of ``blocks`` blocks.
    """
    drawn = np.random.default_rng([seed, machines])
    truths = drawn.normal(0, spread_log / math.sqrt(2), (plants, machines + 1))
    found = truths[:, :machines, None] + drawn.normal(0, noise_log, (plants, machines, blocks))
    means, errors = found.mean(axis=2), found.std(axis=2, ddof=1) / math.sqrt(blocks)
    intervals = [
        expected([*map(float, mean)], [*map(float, error)], [blocks] * machines)
        for mean, error in zip(means, errors, strict=True)
    ]
    held = sum(
        low <= truth <= high for (low, high), truth in zip(intervals, truths[:, -1].tolist(), strict=True)
    )
    return MachineCoverage(machines, plants, held, median((high - low) / 2 for low, high in intervals))
