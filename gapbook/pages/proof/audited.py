"""How much of a run was audited, and how its counts agree with those of the servers."""

from __future__ import annotations

import polars as pl

from gapbook.method.findings import Findings
from gapbook.pages import words
from gapbook.record.gates import why_uncounted

__all__ = ["audited", "uncounted"]


def audited(found: Findings) -> str:
    """How much was audited over all trials of the run."""
    trials = found.run.trials.filter(pl.col("valid"))
    acknowledged = int(trials["acknowledged"].sum() or 0)
    return words.audited_words(found.scenario.workload, acknowledged, trials.height)


def uncounted(found: Findings) -> str:
    """In how many valid trials the server's own count of commits agreed (one that does not refuses its trial), in
    how many there was none, and why: that an engine keeps none is another thing than that a trial's rollbacks
    hid it."""
    valid = found.run.trials.filter(pl.col("valid"))
    without = valid.filter(pl.col("committed").is_null())["contestant"].to_list()
    if not without:
        return f"their own count agreed in all {valid.height:,} valid trials"
    numbers = {True: 0, False: 0}
    for contestant in found.scenario.contestants:
        numbers[contestant.counts_commits] += without.count(contestant.name)
    why = {why_uncounted(counts_commits=counts): number for counts, number in numbers.items() if number}
    reasons = [f"{number:,} {reason}" for reason, number in why.items()] if len(why) > 1 else list(why)
    agreed = valid.height - len(without)
    if not agreed:
        return f"in these {valid.height:,} valid trials there was none to compare, {', and '.join(reasons)}"
    return (
        f"their own count agreed in {agreed:,} of {valid.height:,} valid trials; {len(without):,} had no commit "
        f"count to compare, {', and '.join(reasons)}"
    )
