"""How many quantities of a run lie where other machines and other hours put them.

Where published runs on three machines or more hold the same cells, a quantity is held against their prediction interval
(:mod:`gapbook.method.foretold`). Elsewhere it is held against the one published run of its chapter, by how far two runs
usually lie apart (:mod:`gapbook.method.spread`).
"""

from __future__ import annotations

from typing import NamedTuple

from gapbook.method.compared import Comparison, Row
from gapbook.method.findings import Findings
from gapbook.method.foretold import Foretold, foretold, over_runs_of
from gapbook.method.random_effects import LEAST_TO_PREDICT
from gapbook.method.source import Ratio
from gapbook.method.stated import known_numbers
from gapbook.method.summary import Summary
from gapbook.record.run import Run

__all__ = ["Plausibility", "plausibility"]


class Plausibility(NamedTuple):
    """Of ``foretold`` quantities, how many lie ``inside`` of what runs on several machines foretold; of ``compared`` others,
    how many lie as far from the published run as is ``usual``."""

    foretold: int
    inside: int
    compared: int
    usual: int

    def __str__(self) -> str:
        """``3 of 3 lie in the 95 % prediction interval of runs on 3 machines or more; 5 of 6 lie where ...``"""
        by_runs = f"{self.inside} of {self.foretold} lie in the 95 % prediction interval of runs on {LEAST_TO_PREDICT} machines or more"
        by_spread = f"{self.usual} of {self.compared} lie where another machine and hour put 95 of 100"
        if not self.foretold:
            return by_spread
        return f"{by_runs}; of the rest, {by_spread}" if self.compared else by_runs


def plausibility(run: Run, found: Comparison) -> Plausibility:
    """What is counted of a comparison of this run with the published one of its chapter."""
    own, stated = Findings(run, run.manifest.chapter), known_numbers().numbers
    by_runs: list[Foretold] = []
    by_spread: list[Row] = []
    for row in found.rows:
        known = stated.get(row.quantity)
        source = known.source if known else _ratio(row, found.yours)
        several = over_runs_of(source, own) if source else None
        if one := foretold(several, run) if several else None:
            by_runs.append(one)
        elif row.reading != "no interval":
            by_spread.append(row)
    return Plausibility(
        len(by_runs),
        sum(not one.left for one in by_runs),
        len(by_spread),
        sum(row.reading != "beyond" for row in by_spread),
    )


def _ratio(row: Row, yours: Summary) -> Ratio | None:
    """A row that is no number of the chapter, by what your run calls its two cells; None of a rate."""
    if not row.cells:
        return None
    over, under = (yours.cells[place] for place in row.cells)
    top, below = (yours.contestants[cell.contestant].name for cell in (over, under))
    return Ratio(top, below, float(over.at))
