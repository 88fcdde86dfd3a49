"""Which of a chapter's published runs its page shows.

The newest takes the page over, save where it says no more under the same load: the same contestants on a processor with
no more sessions in all, or some of the contestants alone, as a campaign of headlines does. Such a run stands beside: it
counts wherever runs are counted, and replaces none, or a page's answer would be that of whichever machine measured last.
A run with a contestant that the page has not yet is no such run.
"""

from __future__ import annotations

from collections.abc import Sequence
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

    def stands_beside(self, older: Standing, so_far: Sequence[Standing]) -> bool:
        """Whether this newer run leaves the page to an older one, where both are among the runs so far."""
        if self.scenario.load != older.scenario.load:
            return False
        names, others = self.scenario.names, older.scenario.names
        if names != others:
            return names < others
        here, there = self.machine.processor, older.machine.processor
        return here != there and self._sessions_on(here, so_far) <= self._sessions_on(there, so_far)

    def _sessions_on(self, processor: str, runs: Sequence[Standing]) -> int:
        """The sessions of all runs of the same contestants under the same load on a processor."""
        return sum(
            run.sessions
            for run in runs
            if run.machine.processor == processor
            and run.scenario.load == self.scenario.load
            and run.scenario.names == self.scenario.names
        )


def shown(runs: Sequence[Standing]) -> Standing:
    """The run that the page shows, of at least one."""
    by_time = sorted(runs, key=lambda run: run.started_unix_s)
    page = by_time[0]
    for count, newer in enumerate(by_time[1:], start=2):
        if not newer.stands_beside(page, by_time[:count]):
            page = newer
    return page
