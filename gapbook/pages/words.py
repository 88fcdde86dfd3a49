"""What a run's operations, its load and its audit are called on a page, read from its record."""

from __future__ import annotations

from collections.abc import Sequence

from gapbook.markup import Html
from gapbook.method.interval import Interval
from gapbook.record.scenario import RecordedScenario, RecordedWorkload

__all__ = [
    "JAMS",
    "NOT_MEASURED",
    "NO_VALID_TRIAL",
    "as_text",
    "audited_words",
    "connections_at",
    "connections_text",
    "connections_words",
    "factor_cell",
    "listed",
    "listed_html",
    "operation_of",
    "operations_of",
    "other_side",
    "parameter_words",
    "rate_cell",
    "state_row_of",
]

JAMS = "jams"
"""Stands in the place of a ratio whose contestant answers fewer requests in a trial than it has in flight."""
NOT_MEASURED = "not measured"
NO_VALID_TRIAL = "no valid trial"
"""Stands in a cell whose trials were all refused."""


def rate_cell(rate: Interval | None) -> str:
    """A rate with its interval, or why there is none."""
    return f"{rate.as_count()}/s" if rate else NO_VALID_TRIAL


def factor_cell(factor: Interval | None) -> str:
    """A factor with its interval, or why there is none."""
    return factor.as_factor() if factor else NO_VALID_TRIAL


def operation_of(workload: RecordedWorkload) -> str:
    """What one operation is called: ``transfer`` in a bank, else ``operation``."""
    return "transfer" if workload.accounts else "operation"


def operations_of(workload: RecordedWorkload) -> str:
    return f"{operation_of(workload)}s"


def state_row_of(workload: RecordedWorkload) -> str:
    """What one row of the audited state is called: ``balance`` in a bank, else ``row``."""
    return "balance" if workload.accounts else "row"


def parameter_words(scenario: RecordedScenario) -> str:
    """``100,000 accounts`` of a bank; every parameter of another workload, save the treatment."""
    workload = scenario.workload
    if workload.accounts:
        return f"{workload.accounts:,} accounts"
    named = [name for name in workload.parameters if name != scenario.treatment.name]
    return ", ".join(f"{name.replace('_', ' ')} {as_text(workload.parameters[name])}" for name in named)


def as_text(value: str | float | bool | None) -> str:
    """A parameter's value as it is printed: ``100,000``, ``0.7``, ``both``."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def connections_at(scenario: RecordedScenario, treatment: float) -> float:
    """How many connections load a trial at one value of the treatment."""
    if scenario.treatment.is_connections:
        return treatment
    return scenario.connections * (treatment if scenario.treatment.is_databases else 1)


def connections_text(scenario: RecordedScenario) -> str:
    """``50``; ``1 to 1,000`` where the number of connections is the treatment."""
    treatment = scenario.treatment
    if not treatment.is_connections:
        return str(scenario.connections)
    ends = dict.fromkeys((min(treatment.values), max(treatment.values)))
    return " to ".join(f"{value:,g}" for value in ends)


def connections_words(scenario: RecordedScenario) -> str:
    """``50 connections``; ``1 to 1,000 users`` where their number is the treatment."""
    treatment = scenario.treatment
    many = connections_text(scenario)
    what = treatment.label if treatment.is_connections else "connection" if many == "1" else "connections"
    if treatment.is_databases:
        what += " to each database"
    return f"{many} {what}"


def audited_words(workload: RecordedWorkload, operations: int, trials: int) -> str:
    """How much was reconciled: operations, and of a bank the balances of all trials."""
    counted = f"{operations:,} {operations_of(workload)}"
    return f"{counted} and {trials * workload.accounts:,} balances" if workload.accounts else counted


def listed(names: Sequence[str]) -> str:
    """``a, b and c``"""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def listed_html(parts: Sequence[Html]) -> Html:
    """The same of parts that are HTML."""
    return Html(" and ").join([Html(", ").join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def other_side(rows: Sequence[str]) -> Html:
    """The line beneath ratios of which the runs disagree; nothing where they do not."""
    line = Html('<p class="gb-between">Other runs of ours lie on the other side of ×1: {}.</p>')
    return line.format("; ".join(dict.fromkeys(rows))) if rows else Html("")
