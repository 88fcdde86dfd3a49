"""Precision: how much trials of one and the same contestant differ, and what narrows that."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from gapbook import charts
from gapbook.markup import Html, values_table
from gapbook.method.cells import Named
from gapbook.method.findings import Findings
from gapbook.method.interval import Interval, format_factor
from gapbook.method.precision import AaTrial, adjusted, neighbouring, shorter_windows, spread
from gapbook.pages import page
from gapbook.pages.provenance import provenance, run_facts
from gapbook.record.own_metric import PROBE_ARITHMETIC, PROBE_MEMORY

__all__ = [
    "Remedy",
    "aa_trials",
    "precision_answer",
    "precision_chart",
    "precision_table",
    "remedies_of",
    "spread_table",
]

_BINS_PER_S = 10
_COST = "processor time per operation"
_PROBES = {
    "corrected by a probe of arithmetic": [PROBE_ARITHMETIC],
    "corrected by a probe of memory": [PROBE_MEMORY],
    "corrected by both probes": [PROBE_ARITHMETIC, PROBE_MEMORY],
}
_READINGS = {"inside": "changes nothing that shows", "below": "narrows", "above": "widens"}


@dataclass(frozen=True)
class Remedy:
    """Something that was tried: what is left of the spread with it, ×1 where it changes nothing; None where the run
    cannot tell."""

    name: str
    left: Interval | None

    @property
    def reading(self) -> str:
        """``narrows``, ``widens``, or that nothing shows."""
        if self.left is None:
            return "not known from this run"
        lies = "below" if self.left.high < 1 else "above" if self.left.low > 1 else "inside"
        return _READINGS[lies]


def aa_trials(found: Findings, contestants: Sequence[Named], lengths_s: Sequence[float]) -> list[AaTrial]:
    """The valid trials of these contestants, with the rates of the first ``lengths_s`` of each window."""
    warmup_s = found.scenario.warmup_s
    return [
        AaTrial(
            cell=f"{one.name} {treatment:g}",
            session=row["session"],
            block=row["block"],
            started_s=row["started_unix_s"],
            took_s=row["took_s"],
            rates_per_s={
                **{length: _rate_per_s(row, warmup_s, length) for length in lengths_s},
                row["window_s"] or found.contestant(one).window_s: row["goodput_per_s"],
            },
            covariates={_COST: _cost_us(row), **_told(found, row)},
        )
        for one in contestants
        for treatment in found.treatments
        for row in found.valid_rows(one.name, treatment)
        if row["completed_in_window"]
    ]


def _rate_per_s(row: Mapping[str, Any], warmup_s: float, length_s: float) -> float:
    first = round(warmup_s * _BINS_PER_S)
    inside = json.loads(row["per_100ms"])[first : first + round(length_s * _BINS_PER_S)]
    return float(sum(inside)) / length_s


def _cost_us(row: Mapping[str, Any]) -> float:
    """Processor time of server and client for an operation; the probe's own, which counts as a tier's, is left out."""
    return float(1e6 * ((row["server_cpu_s"] or 0.0) + row["client_cpu_s"]) / row["completed_in_window"])


def _told(found: Findings, row: Mapping[str, Any]) -> dict[str, float]:
    told = found.run.metrics.filter(
        (pl.col("trial") == row["trial"]) & pl.col("name").is_in([PROBE_ARITHMETIC, PROBE_MEMORY])
    )
    return dict(told.select("name", "value").iter_rows())


def remedies_of(trials: Sequence[AaTrial], *, within_s: float, lengths_s: Sequence[float]) -> list[Remedy]:
    """What is left of the spread with each remedy: a reading of the machine taken into account, the two ends of a
    ratio next to each other in time, more and shorter windows in the same hours."""
    probed = [one for one in trials if {PROBE_ARITHMETIC, PROBE_MEMORY} <= one.covariates.keys()]
    return [
        *(Remedy(name, adjusted(probed, covariates)) for name, covariates in _PROBES.items()),
        Remedy(f"only trials within {within_s:g} s compared", neighbouring(trials, within_s)),
        *(
            Remedy(f"more and shorter windows, of {length:g} s", shorter_windows(trials, length))
            for length in lengths_s
        ),
    ]


def precision_answer(
    trials: Sequence[AaTrial], remedies: Sequence[Remedy], labels: Mapping[str, str]
) -> page.Answer:
    """How much one and the same thing differs from trial to trial, and which remedies narrow that.

    ``labels`` says what each contestant is called.
    """
    differ = spread(trials)
    explained = adjusted(trials, [_COST])
    if differ is None or explained is None:
        return page.answer("Not answered by this run: no contestant has two valid trials in one block.")
    percent, blocks = f"{100 * differ:.1f} %", explained.n
    ends = _ends_of_left(trials, labels)
    among = Html(" to ").join(
        Html("{} ({})").format(page.estimate(one.as_factor()), label) for one, label in ends
    )
    if among:
        among = Html(", and with a slope of each contestant's own {}, where above ×1 it adds noise").format(
            among
        )
    narrowing = [one for one in remedies if one.left is not None and one.left.high < 1]
    text = Html(
        "Rates of the same contestant in the same block have a standard deviation of {}. "
        "Adjusted for the processor time of an operation, with the slope of the other blocks, "
        "{} of that was left{}. "
    ).format(page.estimate(percent), page.estimate(explained.as_factor()), among)
    if narrowing:
        best = min(narrowing, key=lambda one: one.left.estimate if one.left else 1.0)
        told = best.left.as_factor() if best.left else ""
        text += Html("Of {} remedies tried, {} narrowed it; the best, <em>{}</em>, left {}.").format(
            len(remedies), len(narrowing), best.name, page.estimate(told)
        )
    else:
        text += f"None of {len(remedies)} remedies tried narrowed it beyond chance."
    text += f" Bootstrap intervals over {blocks} blocks, which are too narrow."
    cited = [
        page.Cited("spread of trials of one contestant within a block", percent, blocks),
        page.Cited(
            "spread left, adjusted for the processor time of an operation", explained.as_factor(), blocks
        ),
        *(page.Cited(f"the same, {label}", one.as_factor(), one.n) for one, label in ends),
        *(
            page.Cited(f"spread left, {one.name}", one.left.as_factor(), one.left.n)
            for one in narrowing
            if one.left
        ),
    ]
    return page.answer(text, cited)


def _ends_of_left(trials: Sequence[AaTrial], labels: Mapping[str, str]) -> list[tuple[Interval, str]]:
    """The least and the most that is left of one contestant's noise at equal processor time, each with its label: the
    mean over several can hide one that is otherwise. None where fewer than two contestants tell it."""
    each = {label: adjusted(_of(trials, name), [_COST]) for name, label in labels.items()}
    left = sorted(((one, label) for label, one in each.items() if one), key=lambda pair: pair[0].estimate)
    return [left[0], left[-1]] if len(left) > 1 else []


def _of(trials: Sequence[AaTrial], contestant: str) -> list[AaTrial]:
    return [one for one in trials if one.cell.split(" ")[0] == contestant]


def precision_chart(found: Findings, remedies: Sequence[Remedy]) -> charts.Figure:
    """What each remedy leaves of the spread, on one axis."""
    title = "What each remedy leaves of the noise between equal trials"
    known = [one for one in remedies if one.left is not None]
    if not known:
        return charts.missing(
            title, "Fewer than two blocks repeat a contestant.", provenance=provenance(found)
        )
    return charts.comparisons(
        [charts.Comparison(one.name, "ink", (charts.Condition("what is left", one.left),)) for one in known],
        axis="spread with the remedy ÷ without it (log scale)",
        provenance=replace(
            provenance(found),
            method=f"Trials of one contestant in one block, or session where said, {found.blocks} blocks, goodput on a log "
            f"scale; bootstrap intervals over blocks, too narrow where blocks are few. {run_facts(found)['processor']}.",
        ),
        estimate="what is left",
        title=title,
        subtitle="Spread of equal trials with the remedy divided by that without. Left of ×1 it is smaller.",
    )


def precision_table(remedies: Sequence[Remedy]) -> Html:
    """The same as numbers, each with its reading."""
    rows = [[one.name, one.left.as_factor() if one.left else "–", one.reading] for one in remedies]
    return values_table(("remedy", "spread with it ÷ without", "reading"), rows)


def spread_table(trials: Sequence[AaTrial], labels: Mapping[str, str]) -> Html:
    """Each contestant's spread within a block, and what is left of it at equal cost and at equal probes.

    ``labels`` says what a row is called, by contestant.
    """
    rows = []
    for name, label in labels.items():
        own = _of(trials, name)
        probed = [one for one in own if {PROBE_ARITHMETIC, PROBE_MEMORY} <= one.covariates.keys()]
        differ = spread(own)
        left = [adjusted(own, [_COST]), adjusted(probed, [PROBE_ARITHMETIC, PROBE_MEMORY])]
        rows.append(
            [
                label,
                f"{len(own)}",
                "–" if differ is None else f"{100 * differ:.1f} %",
                *("–" if one is None else f"×{format_factor(one.estimate)}" for one in left),
            ]
        )
    columns = (
        "contestant",
        "trials",
        "spread within a block",
        "left at equal processor time per operation",
        "left at equal probes",
    )
    return values_table(columns, rows)
