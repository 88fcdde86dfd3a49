"""Which cells of different runs are the same: matched by what they are, never by a name that a chapter gave them.

A cell is a contestant under a load. Two are the same where system, version, access, tier, client, requests in flight,
kind of promise, every other recorded level, the parameters of the workload, the treatment and the number of
connections are equal. How long the scenario's windows and warm-up are is no part of it, for a rate is of a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from gapbook.record.durability import Durability
from gapbook.record.placement import ELSEWHERE
from gapbook.record.run import Run
from gapbook.record.scenario import CONNECTIONS, RecordedContestant, RecordedScenario

__all__ = ["Cell", "Setup", "cells_of", "load_of", "number_word", "setup_of", "version_of"]

Setup: TypeAlias = frozenset[tuple[str, str]]
_RESOLVED_LEVELS = {"system", "durability", "workload", "backend"}
"""Levels whose words depend on what else is in their scenario: what stands behind them is compared instead."""


class Cell(NamedTuple):
    """A cell as one run names it."""

    contestant: str
    treatment: float


def setup_of(run: Run, contestant: RecordedContestant) -> Setup:
    """What a contestant is, in words that mean the same in every run."""
    settings = contestant.settings
    levels: dict[str, object] = {
        name: level for name, level in contestant.levels.items() if name not in _RESOLVED_LEVELS
    }
    resolved: dict[str, object] = {
        "system": contestant.system,
        "version": version_of(run, contestant),
        "access key": settings.access,
        "promise": Durability.parse(contestant.durability).kind,
        "backend": settings.backend,
        "retries": settings.max_retries,
        "watched": settings.watched,
        "probed": settings.probed,
        "planted": contestant.planted,
    }
    # Both are said where there are some, so that a cell without keeps the key that it had.
    if hosts := run.manifest.load_hosts:
        resolved["load hosts"] = len(hosts)
    server = run.manifest.systems.get(contestant.server)
    if server is not None and server.backend == ELSEWHERE:
        resolved["server"] = ELSEWHERE
    return _words(levels | resolved)


def cells_of(run: Run) -> Mapping[Setup, Cell]:
    """Every cell that the run's scenario can have, by what it is: its contestant and its load."""
    found: dict[Setup, Cell] = {}
    for contestant in run.scenario.contestants:
        setup = setup_of(run, contestant)
        for treatment in run.scenario.treatment.values:
            load = load_of(run.scenario, contestant, treatment)
            found.setdefault(setup | load, Cell(contestant.name, treatment))
    return found


def load_of(scenario: RecordedScenario, contestant: RecordedContestant, treatment: float) -> Setup:
    """What a contestant was asked to do at one value of the treatment: the workload, its parameters and the connections."""
    return _words(
        {
            "workload": scenario.workload.name,
            CONNECTIONS: scenario.connections,
            **scenario.workload.parameters,
            **contestant.settings.parameters,
            scenario.treatment.name: treatment,
        }
    )


def version_of(run: Run, contestant: RecordedContestant) -> str:
    """The one that was asked for, else what its server said; empty where the run says neither. A run of one version
    need not name it."""
    server = run.manifest.systems.get(contestant.server)
    return contestant.version or ("" if server is None else server.version)


def number_word(value: float) -> str:
    """The one word for a number, whole or not: to six digits where those are all that it has, else to all of them.

    Keys of stored cells hold the shorter word, so that it stays.
    """
    short = f"{value:g}"
    if float(short) == value:
        return short
    return str(int(value)) if float(value).is_integer() else repr(value)


def _words(facts: Mapping[str, object]) -> Setup:
    """Numbers are compared as numbers: an account count of 100000 is one of 100000.0."""
    return frozenset(
        (name, number_word(value) if isinstance(value, int | float) else str(value))
        for name, value in facts.items()
    )
