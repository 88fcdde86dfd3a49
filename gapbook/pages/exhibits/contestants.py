"""Every contestant, one panel a value of the treatment."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from gapbook import charts
from gapbook.claims.claim import claim
from gapbook.method.findings import Findings
from gapbook.method.interval import Interval, format_count
from gapbook.pages.proof.failures import refusal_reasons
from gapbook.pages.provenance import provenance
from gapbook.pages.versions import versioned_label
from gapbook.pages.words import state_row_of
from gapbook.record.metric import GOODPUT, Metric

__all__ = ["contestants_chart"]

_REASON_CHARACTERS = 120


def contestants_chart(
    found: Findings, published: Mapping[tuple[str, float], str], metric: str = GOODPUT.name, title: str = ""
) -> charts.Figure:
    """A metric of every contestant, one panel a value of the treatment; ``published`` maps cells to claim ids.

    Without a title, it says who is best.
    """
    measured = found.metric(metric)
    rows = [
        charts.Contestant(
            system=contestant.colour,
            label=contestant.system_label,
            detail=contestant.detail_label,
            cells=tuple(
                _chart_cell(
                    found, contestant.name, treatment, published.get((contestant.name, treatment)), measured
                )
                for treatment in found.treatments
            ),
        )
        for contestant in found.scenario.contestants
    ]
    return charts.contestants(
        rows,
        facets=[found.at(value) for value in found.treatments],
        provenance=provenance(found),
        title=title or _contestants_title(found, measured),
        subtitle=_metric_sentence(found, measured)
        + (
            f" Durability {found.scenario.durability}, where a row names no other."
            if found.scenario.workload.stores
            else ""
        ),
        metric=measured,
    )


def _metric_sentence(found: Findings, metric: Metric) -> str:
    """``Verified goodput: acknowledged in the window.``"""
    words = metric.words[0].upper() + metric.words[1:]
    told = metric.told.format(row=state_row_of(found.scenario.workload))
    return f"{words}{f': {told}' if told else ''}."


def _contestants_title(found: Findings, metric: Metric) -> str:
    """Who is best at each end of the treatment; a simulated server is nobody, nor is a known defect, nor who has no
    interval that tells something. With how many others may be as good: those whose interval, or estimate where
    there is none, reaches into that of the best."""
    parts, nobody = [], "has a valid trial"
    for treatment in found.ends:
        known = [
            (value, c)
            for c in found.scenario.contestants
            if c.sound and not c.simulated and (value := found.estimate(c.name, treatment, metric.name))
        ]
        if known:
            pick = max if metric.better == "higher" else min
            told = [(value, c) for value, c in known if value.tells]
            if not told and found.run.published:
                nobody = "has an interval narrow enough to say something"
                continue
            told = told or [(value, c) for value, c in known if value.bounded and not value.vague]
            value, best = pick(told or known, key=lambda pair: pair[0].estimate)
            name = f"{versioned_label(found, best)}, {best.detail_label}"
            rivals = sum(_reaches(other, value, metric) for other, c in known if c is not best)
            also = f" (not distinguishable from {rivals} other{'s' if rivals > 1 else ''})" if rivals else ""
            parts.append(
                f"at {found.at(treatment)} {name}, {format_count(value.estimate)}{metric.unit}{also}"
            )
    faulty = " without a defect" if not all(c.sound for c in found.scenario.contestants) else ""
    return (
        f"{metric.best}{faulty}: {'; '.join(parts)}" if parts else f"No contestant without a defect {nobody}"
    )


def _chart_cell(
    found: Findings, contestant: str, treatment: float, claim_id: str | None, metric: Metric
) -> charts.Cell:
    rows = found.trials_of(contestant, treatment).with_columns(metric.value.alias("value")).to_dicts()
    trials = tuple(charts.Trial(row["value"], row["refused_because"] or "") for row in rows if row["value"])
    value = found.estimate(contestant, treatment, metric.name)
    flags = set(found.labels(contestant, treatment))
    if (warmth := found.warmth(contestant)).suspected:
        shown = warmth.reading == "still rising"
        flags.add("still warming up" if shown else "perhaps still warming up")
    return charts.Cell(
        value=value,
        trials=trials,
        published=claim(claim_id).value if claim_id else None,
        flags=tuple(sorted(flags)),
        missing="" if value else textwrap.shorten(_why_none(rows), _REASON_CHARACTERS, placeholder=" …"),
    )


def _reaches(other: Interval, best: Interval, metric: Metric) -> bool:
    """Whether a value may be as good as the best one."""
    if not best.bounded:
        return False
    if metric.better == "higher":
        return (other.high if other.bounded else other.estimate) >= best.low
    return (other.low if other.bounded else other.estimate) <= best.high


def _why_none(trials: Sequence[Mapping[str, Any]]) -> str:
    """Why a cell has no value: what refused its one trial, or how often each gate refused when there were more."""
    refused = [trial for trial in trials if not trial["valid"]]
    if not refused:
        return "not run"
    if len(refused) == 1:
        return str(refused[0]["refused_because"])
    return f"{len(refused)} trials refused: {refusal_reasons(refused)}"
