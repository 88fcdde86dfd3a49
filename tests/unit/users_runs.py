"""A synthetic run whose treatment is the number of users and whose workload has no accounts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from gapbook.method.findings import Findings
from gapbook.model.plan import PlannedTrial
from gapbook.record.scenario import CONNECTIONS, RecordedScenario, RecordedWorkload
from gapbook.trial.contestant import Contestant
from gapbook.trial.treatment import Treatment
from tests.unit import stored_runs as runs

USERS = (1.0, 50.0)
PUBLISHED_WAY = Contestant("as-published", "spacetimedb", "reducer", "direct", "typescript", 1)
IN_RUST = Contestant("in-rust", "spacetimedb", "reducer", "direct", "rust", 1)
ON_SCHEDULE = Contestant("on-schedule", "spacetimedb", "reducer", "direct", "rust", 1, rate_per_s=500.0)
ELSEWHERE = Contestant("elsewhere", "postgres", "procedure", "direct", "rust", 1)
CONTESTANTS = (PUBLISHED_WAY, IN_RUST, ON_SCHEDULE, ELSEWHERE)
_STAND_IN = replace(
    runs.SCENARIO,
    contestants=CONTESTANTS,
    treatment=Treatment.of(CONNECTIONS, "transfer", USERS),
    connections=50,
)
_PARAMETERS = {"counters": 1000, "increment_share": 0.7, "message_bytes": 50}
SCENARIO: RecordedScenario = msgspec.structs.replace(
    _STAND_IN.recorded(),
    workload=RecordedWorkload("counter-and-messages", "Counter and messages", dict(_PARAMETERS)),
)
MEAN_MS = {"as-published": 2.0, "in-rust": 1.0, "on-schedule": 1.0, "elsewhere": 4.0}
OUTSIDE_MS = 0.5
"""What each user spends between two requests."""


def row(planned: PlannedTrial, **changed: Any) -> dict[str, Any]:
    """A trial of a closed loop in which every request takes as long, however many users there are."""
    mean_ms = MEAN_MS[planned.contestant]
    rate_per_s = planned.treatment / (mean_ms + OUTSIDE_MS) * 1e3
    told = {
        "completed_in_window": round(2 * rate_per_s),
        "mean_service_time_s": mean_ms / 1e3,
        "window_s": 2.0,
        "ceiling_per_s": 4 * rate_per_s,
        "metric_transactions": 3 * round(rate_per_s * 2.5),
        "failed": {},
    }
    return runs.valid(planned, **{"goodput_per_s": rate_per_s, **told, **changed})


def planned_trials(blocks: int = 3) -> Sequence[PlannedTrial]:
    return runs.planned_trials(blocks, _STAND_IN)


def shown(folder: Path, rows: Sequence[Mapping[str, Any]] | None = None) -> Findings:
    """What a page knows of a run of these rows; of a faultless one, when none are given."""
    made = rows if rows is not None else [row(planned) for planned in planned_trials()]
    given = {**_PARAMETERS, "connections": list(USERS), "seed": SCENARIO.seed}
    run = runs.store(folder / runs.CHAPTER, made, scenario=_STAND_IN, recorded=SCENARIO, parameters=given)
    return Findings(run, runs.CHAPTER)
