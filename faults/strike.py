"""Faults: each kind strikes once, at the moment it is told to, and can be healed."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from faults.false_server import FalseServer
from faults.legs import Folders
from faults.points import Fault
from faults.surroundings import fill
from faults.victims import find_victims
from gapbook.deploy import placed, warden

__all__ = ["Striker"]

_SIGNALS = {
    "kill": signal.SIGKILL,
    "interrupt": signal.SIGINT,
    "terminate": signal.SIGTERM,
    "hang up": signal.SIGHUP,
    "stop": signal.SIGSTOP,
}


@dataclass
class Striker:
    """The fault of one point. ``strike`` is tried until it has found whom it means; ``heal`` takes back what can
    be, as a person would before going on."""

    fault: Fault
    folders: Folders
    between: FalseServer | None = None
    """What stands before the named server."""
    _filler: Path | None = None
    _takes_port: FalseServer | None = field(default=None)

    def prepare(self) -> Callable[[], None]:
        """What the first leg does before its run begins."""
        if self.fault.kind != "taken port":
            return lambda: None
        self._takes_port = FalseServer(self.fault.victim)
        return partial(_take_first_port, self._takes_port.port)

    def ready(self, harness: int) -> bool:
        """Whether there is somebody to be struck at this moment."""
        if self.fault.kind not in _SIGNALS:
            return True
        return bool(find_victims(self.fault.victim, self.folders.root, harness))

    def strike(self, harness: int) -> bool:
        """Whether it struck; False where nobody is there any more."""
        kind, victim = self.fault.kind, self.fault.victim
        if kind == "taken port":
            return True
        if kind == "full":
            self._filler = fill(self.folders.data if victim == "data disk" else self.folders.runs)
            return True
        if kind == "answers":
            if self.between is None:
                raise ValueError("nothing stands before the named server")
            self.between.answer(victim)
            return True
        return _signalled(find_victims(victim, self.folders.root, harness), _SIGNALS[kind])

    def heal(self) -> None:
        if self._filler is not None:
            self._filler.unlink(missing_ok=True)
        if self.between is not None:
            self.between.answer("true")
        if self._takes_port is not None:
            self._takes_port.end()
            self._takes_port = None

    @property
    def strikes_from_the_start(self) -> bool:
        """Whether what it does is there before the run begins."""
        return self.fault.kind == "taken port"

    @property
    def leaves_until_next(self) -> bool:
        """Whether nobody is left who could clean up, so that the next start must."""
        return self.fault.victim == "harness and warden" or self.fault.kind == "answers"


def _signalled(victims: list[int], number: signal.Signals) -> bool:
    """Whether all of them got it; one that is stopped is stopped with all that it started."""
    struck = False
    for victim in victims:
        started = warden.descendants([victim]) if number == signal.SIGSTOP else {}
        for pid in (victim, *started):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
                struck = True
    return struck


def _take_first_port(port: int) -> None:
    """The first server that asks for a free port gets one that somebody has taken since."""
    ports: Any = placed
    ports.free_port = partial(_next_port, iter([port]), ports.free_port)


def _next_port(taken: Iterator[int], free_port: Callable[[], int]) -> int:
    return next(taken, None) or free_port()
