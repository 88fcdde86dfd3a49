"""Processor time of an operation in client, tier and server."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping

import polars as pl

from gapbook.markup import Html, values_table
from gapbook.method.findings import Findings
from gapbook.method.interval import format_percent
from gapbook.pages.words import operations_of
from gapbook.record.gates import LIMITS
from gapbook.record.labels import CLIENT_BOUND, NOT_SUSTAINED
from gapbook.record.machine import allowed_count
from gapbook.record.scenario import RecordedContestant

__all__ = ["processor_table"]

_LABEL_WORDS = {
    CLIENT_BOUND: " Client-bound: the client held the server back.",
    NOT_SUSTAINED: " Not sustained: work was left when the load ended, so a longer run may show a lower rate.",
    "perhaps": " Perhaps: the trials do not rule it out.",
}


def processor_table(found: Findings, labels: Mapping[str, str] | None = None) -> Html:
    """Microseconds of processor time that one operation took in client, tier and server: medians over
    valid trials.

    Where the hypervisor took more of the machine than it may take for others, the share that it took stands
    beside them. ``labels`` are what rows are called by the names of their contestants; one without has its
    name.
    """
    called = labels or {}
    rows: list[list[str | Html]] = []
    taken: list[float] = []
    cautions: list[list[str]] = []
    for contestant in found.scenario.contestants:
        for treatment in found.treatments:
            goodput = found.goodput(contestant.name, treatment)
            if goodput is not None:
                parts = [
                    _spent(found, contestant, treatment, f"{part}-cpu")
                    for part in ("client", "tier", "server")
                ]
                rows.append(
                    [
                        f"{called.get(contestant.name, contestant.name)}, {found.at(treatment)}",
                        f"{goodput.as_count()}/s",
                        *parts,
                    ]
                )
                taken.append(_taken_frac(found, contestant.name, treatment))
                cautions.append(found.labels(contestant.name, treatment))
    more: tuple[str, ...] = ()
    caption = (
        "A dash: there is no such process, because nothing stands before the database, or because it runs "
        "inside its caller."
    )
    if any(cautions):
        more = ("label",)
        told = ", ".join(", ".join(one) for one in cautions)
        caption += "".join(words for label, words in _LABEL_WORDS.items() if label in told)
        rows = [[*row, ", ".join(one)] for row, one in zip(rows, cautions, strict=True)]
    if any(frac > LIMITS.steal_frac for frac in taken):
        more = (*more, "machine time taken by the hypervisor")
        caption += (
            " A hypervisor takes time for its own work for a server too, such as writing to the disk; the "
            "gate “steal” leaves out what is usual for a contestant."
        )
        rows = [[*row, _share(frac)] for row, frac in zip(rows, taken, strict=True)]
    return values_table(
        (
            "contestant",
            f"{operations_of(found.scenario.workload)} per second",
            "client, µs",
            "HTTP server or proxy, µs",
            "server, µs",
            *more,
        ),
        rows,
        caption=caption,
    )


def _spent(found: Findings, contestant: RecordedContestant, treatment: float, metric: str) -> str:
    """The median of some processor times; a dash where none was ever spent, for then nothing ran."""
    of_trials = found.trial_values(contestant.name, treatment, metric)
    if not of_trials:
        return "not readable"
    if any(of_trials):
        return f"{statistics.median(of_trials):,.1f}"
    ever = any(any(found.trial_values(contestant.name, value, metric)) for value in found.treatments)
    return "less than the kernel counts" if ever else "–"


def _taken_frac(found: Findings, contestant: str, treatment: float) -> float:
    """The share of the machine that the hypervisor took, median over valid trials; NaN where none tells it."""
    trials = found.trials_of(contestant, treatment).filter("valid")
    window_s = pl.col("window_s").fill_null(found.scenario.window_s)
    machine_s = window_s * allowed_count(found.run.manifest.machine)
    taken = trials.select((pl.col("steal_s") / machine_s).median()).item()
    return math.nan if taken is None else float(taken)


def _share(frac: float) -> str:
    return f"{format_percent(frac)} %" if math.isfinite(frac) else "not readable"
