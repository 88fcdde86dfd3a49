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
from gapbook.pages.exhibits.comparisons import Pair
from gapbook.pages.words import JAMS, NO_VALID_TRIAL
from gapbook.record.run import Run
from gapbook.record.scenario import RecordedContestant

__all__ = ["gates_to_let_in", "let_in_table"]


def gates_to_let_in(found: Findings, pairs: Sequence[Pair]) -> list[str]:
    """The gates that alone refused a trial of these pairs which has a rate, without those that show a number to be wrong:
    where nothing may be off, what is off is no measurement."""
    names = {found.contestant(one).name for _, *pair in pairs for one in pair}
    compared = found.run.trials.filter(
        ~pl.col("valid") & pl.col("contestant").is_in(names) & (pl.col("goodput_per_s").fill_null(0) > 0)
    )
    gates: dict[str, None] = {}
    for text in compared["gates"]:
        failed = [one for one in json.loads(text) if one["passed"] is False]
        if len(failed) == 1 and failed[0]["limit"] > 0:
            gates[failed[0]["name"]] = None
    return sorted(gates)


def let_in_table(found: Findings, pairs: Sequence[Pair], gate: str = "steal") -> Html:
    """Each pair's ratio without and with the trials that ``gate`` alone refused, and how many of each side these are of
    how many that were run, at each value of the treatment."""
    mild = Findings(_without(found, gate), found.scenario.chapter)
    rows: list[list[str | Html]] = []
    for name, *pair in pairs:
        over, under = (found.contestant(one) for one in pair)
        for treatment in found.treatments_of(over.name, under.name):
            jammed = any(found.jams(one.name, treatment) for one in (over, under))
            counted, let_in = (
                None if jammed else findings.ratio(over.name, under.name, treatment)
                for findings in (found, mild)
            )
            why_none = JAMS if jammed else NO_VALID_TRIAL
            rows.append(
                [
                    f"{name}, {found.at(treatment)}",
                    *(_refused(found, mild, one, treatment) for one in (over, under)),
                    counted.as_factor() if counted else why_none,
                    let_in.as_factor() if let_in else why_none,
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
