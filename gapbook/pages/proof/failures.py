"""Failures: operations that were refused, never answered or left in doubt, of refused trials too."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from gapbook.markup import Html, values_table
from gapbook.method.cells import Named
from gapbook.method.findings import Findings
from gapbook.method.interval import format_percent

__all__ = ["any_failure", "failures_table"]

_COLUMNS = (
    "contestant",
    "trials that count",
    "attempted",
    "failed, by name",
    "in doubt",
    "connections lost",
    "why trials were refused",
)
_LIKE_A_GATE = 60
_Rows = Sequence[Mapping[str, Any]]


def failures_table(found: Findings, contestants: Sequence[Named]) -> Html:
    """What failed over all trials of a contestant at each value of the treatment, those included that a gate
    refused: a trial is often refused because of just these."""
    rows: list[list[str | Html]] = []
    for one in found.contestants(contestants):
        for treatment in found.treatments_of(one.name):
            trials = found.rows(one.name, treatment)
            cells = _cells(trials) if trials else ["not run", *["–"] * (len(_COLUMNS) - 2)]
            rows.append([f"{one.name}, {found.at(treatment)}", *cells])
    return values_table(_COLUMNS, rows)


def any_failure(found: Findings, one: Named) -> bool:
    """Whether anything failed, stayed in doubt or was cut off in any trial of a contestant, a refused one too."""
    return any(
        any(json.loads(row["failed"] or "{}").values()) or row["in_doubt"] or row["lost_connections"]
        for treatment in found.treatments_of(one.name)
        for row in found.rows(one.name, treatment)
    )


def _cells(trials: _Rows) -> list[str]:
    reported = [row for row in trials if row["attempted"] is not None]
    valid = sum(bool(row["valid"]) for row in trials)
    attempted = sum(row["attempted"] for row in reported)
    failed = Counter[str]()
    for row in reported:
        failed.update(json.loads(row["failed"] or "{}"))
    return [
        f"{valid} of {len(trials)}",
        f"{attempted:,}" if reported else "no report",
        _by_name(failed, attempted) if reported else "–",
        f"{sum(row['in_doubt'] or 0 for row in reported):,}" if reported else "–",
        f"{sum(row['lost_connections'] or 0 for row in reported):,}" if reported else "–",
        _refusal_reasons(trials),
    ]


def _by_name(failed: Mapping[str, int], attempted: int) -> str:
    """``timeout 1,210 (0.4 %)``, the most frequent first."""
    named = sorted(((count, name) for name, count in failed.items() if count), reverse=True)
    return (
        ", ".join(f"{name} {count:,} ({format_percent(count / attempted)} %)" for count, name in named)
        or "none"
    )


def _refusal_reasons(trials: Sequence[Mapping[str, Any]]) -> str:
    """``steal (3); depth (1)``: how often each gate refused, and what else ended a trial, shortened."""
    reasons = Counter(
        reason for row in trials if not row["valid"] for reason in dict.fromkeys(_refused_by(row))
    )
    return "; ".join(f"{reason} ({count})" for reason, count in reasons.most_common()) or "–"


def _refused_by(row: Mapping[str, Any]) -> list[str]:
    """The gates that refused a trial; where none came so far, what broke."""
    gates = [gate["name"] for gate in json.loads(row["gates"]) if gate["passed"] is False]
    because = str(row["refused_because"])
    return gates or [because if len(because) <= _LIKE_A_GATE else f"{because[:_LIKE_A_GATE]} …"]
