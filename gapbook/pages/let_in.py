"""What a gate does to a ratio: the ratio as counted, and with the trials let in that this gate alone refused.

A gate that falls more often on one side than on the other could move a ratio by itself. Of refused trials, the numbers
are kept, so that anybody can see whether it did.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from gapbook.markup import Html, values_table
from gapbook.method.findings import Findings
from gapbook.method.interval import format_factor
from gapbook.pages.sessions import Pair
from gapbook.pages.words import NO_VALID_TRIAL
from gapbook.record.run import Run
from gapbook.record.scenario import RecordedContestant

__all__ = ["let_in_table"]


def let_in_table(found: Findings, pairs: Sequence[Pair], gate: str = "steal") -> Html:
    """Each pair's ratio without and with the trials that ``gate`` alone refused, and how many of each side these are of
    how many that were run, at each value of the treatment."""
    mild = Findings(_without(found, gate), found.scenario.chapter)
    rows: list[list[str | Html]] = []
    for name, *pair in pairs:
        over, under = (found.contestant(one) for one in pair)
        for treatment in found.treatments_of(over.name, under.name):
            counted, let_in = (findings.ratio(over.name, under.name, treatment) for findings in (found, mild))
            rows.append(
                [
                    f"{name}, {found.at(treatment)}",
                    *(_refused(found, mild, one, treatment) for one in (over, under)),
                    counted.as_factor() if counted else NO_VALID_TRIAL,
                    let_in.as_factor() if let_in else NO_VALID_TRIAL,
                    f"×{format_factor(let_in.estimate / counted.estimate)}" if counted and let_in else "–",
                ]
            )
    return values_table(
        (
            "comparison",
            f"refused for {gate} alone, of the first",
            "of the second",
            "ratio as counted",
            "with these trials let in",
            "let in ÷ counted",
        ),
        rows,
    )


def _without(found: Findings, gate: str) -> Run:
    """The run, had this gate refused nothing."""
    failed = [
        {one["name"] for one in json.loads(text) if one["passed"] is False}
        for text in found.run.trials["gates"]
    ]
    alone = pl.Series("alone", [names == {gate} for names in failed], pl.Boolean())
    measured = pl.col("goodput_per_s").fill_null(0) > 0
    trials = found.run.trials.with_columns(valid=pl.col("valid") | (alone & measured))
    return replace(found.run, trials=trials)


def _refused(found: Findings, mild: Findings, one: RecordedContestant, treatment: float) -> str:
    """``3 of 20``: trials let in, of all."""
    before, after = (sum(row["valid"] for row in each.rows(one.name, treatment)) for each in (found, mild))
    return f"{after - before} of {len(found.rows(one.name, treatment))}"
