"""In which phase a run is: the harness says so itself, where a tiny run is made without a notebook."""

from __future__ import annotations

import functools
import importlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gapbook.load.client import ClientRun
from gapbook.model.event import Event
from gapbook.model.report import Report

__all__ = ["Mark", "Marker"]

_MARKED = (
    ("gapbook.deploy.deployment", "Deployment.__enter__", "setup"),
    ("gapbook.deploy.deployment", "Deployment.__exit__", "leave"),
    ("gapbook.load.maker", "measure_ceiling", "ceiling"),
    ("gapbook.trial.campaign", "run_trial", "seed"),
    ("gapbook.trial.trial", "wait_until_idle", "audit"),
    ("gapbook.trial.campaign", "kill_servers", "kills"),
    ("gapbook.trial.campaign", "cut_disks", "cuts"),
    ("gapbook.record.journal", "Journal.finish", "finish"),
)
"""What is called as a phase begins, where it is called from."""
_OF_CLIENT = {"window_start": "window", "window_end": "drain"}
_CHECKS = frozenset({"kills", "cuts"})
_STARTING = "starting "


@dataclass(frozen=True)
class Mark:
    """A phase began: the so-manieth of its name, from 0, at a moment of the monotonic clock."""

    phase: str
    occurrence: int
    at_s: float

    @classmethod
    def read(cls, line: str) -> Mark:
        return cls(**json.loads(line))


@dataclass
class Marker:
    """Writes a mark into a pipe as each phase begins; ``hook`` once, in the process that makes the run."""

    pipe: int
    _counts: dict[str, int] = field(default_factory=dict)
    _phase: str = ""
    _checking: bool = False
    """Whether servers are killed or disks cut: their loads and deployments are parts of that phase."""

    def mark(self, phase: str) -> None:
        if self._checking and phase != "finish":
            return
        self._checking = phase in _CHECKS
        self._phase = phase
        occurrence = self._counts.get(phase, 0)
        self._counts[phase] = occurrence + 1
        line = json.dumps({"phase": phase, "occurrence": occurrence, "at_s": time.monotonic()})
        os.write(self.pipe, f"{line}\n".encode())

    def said(self, line: str) -> None:
        """A line that the run says to its reader."""
        if line.startswith(_STARTING):
            self.mark("start")

    def hook(self) -> None:
        for module, name, phase in _MARKED:
            *owner, last = name.split(".")
            holder: Any = importlib.import_module(module)
            for word in owner:
                holder = getattr(holder, word)
            setattr(holder, last, self._marking(getattr(holder, last), phase))
        run = ClientRun.run

        @functools.wraps(run)
        def watched(client: ClientRun, *arguments: Any) -> Report:
            if self._phase == "seed":
                self.mark("warm-up")
                client.on_event = self._hearing(client.on_event)
            return run(client, *arguments)

        setattr(ClientRun, "run", watched)  # noqa: B010 (a method is not assigned to)

    def _marking(self, called: Callable[..., Any], phase: str) -> Callable[..., Any]:
        @functools.wraps(called)
        def marking(*arguments: Any, **named: Any) -> Any:
            self.mark(phase)
            try:
                return called(*arguments, **named)
            finally:
                if phase in _CHECKS:
                    self._checking = False

        return marking

    def _hearing(self, on_event: Callable[[Event], None]) -> Callable[[Event], None]:
        def heard(event: Event) -> None:
            if event.name in _OF_CLIENT:
                self.mark(_OF_CLIENT[event.name])
            on_event(event)

        return heard
