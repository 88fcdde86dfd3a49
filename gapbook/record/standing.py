"""Which of a chapter's published runs its page shows.

The newest takes the page over, save where it says less under the same load: the same contestants on another processor
in fewer sessions, or some of the contestants alone, as a campaign of headlines does. Such a run stands beside: it counts
wherever runs are counted, and replaces none. A run with a contestant that the page has not yet is no such run.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import msgspec

__all__ = ["Standing", "shown"]


class _Machine(msgspec.Struct, frozen=True):
    processor: str


class _Deployed(msgspec.Struct, frozen=True):
    session: int


class _Contestant(msgspec.Struct, frozen=True):
    name: str


class _Scenario(msgspec.Struct, frozen=True):
    workload: Any = None
    connections: Any = None
    treatment: Any = None
    contestants: Sequence[_Contestant] = ()

    @property
    def load(self) -> tuple[Any, ...]:
        return self.workload, self.connections, self.treatment

    @property
    def names(self) -> set[str]:
        return {one.name for one in self.contestants}


class Standing(msgspec.Struct, frozen=True):
    """As much of a manifest as says whether its run takes a page over. A run that does not tell its sessions has none."""

    started_unix_s: float
    machine: _Machine
    scenario: _Scenario
    deployments: Sequence[_Deployed] = ()

    @property
    def sessions(self) -> int:
        return len({one.session for one in self.deployments})

    def stands_beside(self, older: Standing) -> bool:
        """Whether this newer run leaves the page to an older one."""
        if self.scenario.load != older.scenario.load:
            return False
        elsewhere = self.machine.processor != older.machine.processor
        names, others = self.scenario.names, older.scenario.names
        return names < others or (names == others and elsewhere and self.sessions < older.sessions)


def shown(runs: Sequence[Standing]) -> Standing:
    """The run that the page shows, of at least one."""
    by_time = sorted(runs, key=lambda run: run.started_unix_s)
    return reduce(lambda page, newer: page if newer.stands_beside(page) else newer, by_time)
