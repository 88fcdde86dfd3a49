"""What a run's operations, its load and its audit are called on a page, read from its record."""

from __future__ import annotations

from gapbook.record.scenario import RecordedScenario, RecordedWorkload

__all__ = [
    "CONNECTIONS",
    "as_text",
    "audited_words",
    "connections_at",
    "connections_text",
    "connections_words",
    "operation_of",
    "operations_of",
    "parameter_words",
    "state_row_of",
]

CONNECTIONS = "connections"
"""The name of a treatment that is the number of the load's connections."""


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
    return treatment if scenario.treatment.name == CONNECTIONS else scenario.connections


def connections_text(scenario: RecordedScenario) -> str:
    """``50``; ``1 to 1,000`` where the number of connections is the treatment."""
    treatment = scenario.treatment
    if treatment.name != CONNECTIONS:
        return str(scenario.connections)
    ends = dict.fromkeys((min(treatment.values), max(treatment.values)))
    return " to ".join(f"{value:,g}" for value in ends)


def connections_words(scenario: RecordedScenario) -> str:
    """``50 connections``; ``1 to 1,000 users`` where their number is the treatment."""
    treatment = scenario.treatment
    what = treatment.label if treatment.name == CONNECTIONS else "connections"
    return f"{connections_text(scenario)} {what}"


def audited_words(workload: RecordedWorkload, operations: int, trials: int) -> str:
    """How much was reconciled: operations, and of a bank the balances of all trials."""
    counted = f"{operations:,} {operations_of(workload)}"
    return f"{counted} and {trials * workload.accounts:,} balances" if workload.accounts else counted
