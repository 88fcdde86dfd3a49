"""A probe of the machine: a fixed piece of work, timed on each processor while a load runs.

It says how fast the machine is at a moment, whatever the server does. It takes about 2 % of each processor.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.process import Process, Ready
from gapbook.deploy.rust import rust_binary
from gapbook.errors import StackError
from gapbook.model.event import Event
from gapbook.record.own_metric import PROBE_ARITHMETIC, PROBE_MEMORY, OwnMetric

__all__ = ["Probe", "probe_of_machine"]

_PROGRAM = "gap-probe"
_EVERY_MS = 25


class _Reading(msgspec.Struct):
    at_ns: int
    processor: int
    arithmetic_ns: int
    memory_ns: int


class _Told(msgspec.Struct):
    readings: list[_Reading]


class Probe:
    """A running probe; the events of a client tell it where the window lies."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self._edges_ns: dict[str, int] = {}

    def on_event(self, event: Event) -> None:
        """Progress of a client (clients/CONTRACT.md); other events than the edges of its window are passed over."""
        if event.name in {"window_start", "window_end"}:
            self._edges_ns[event.name] = time.monotonic_ns()

    def finish(self) -> dict[str, OwnMetric]:
        """End the probe; what it read inside the window, as metrics of the trial.

        Raises StackError when it ended by itself, and where no reading lies in the window.
        """
        self.process.stdin.close()
        told = self.process.said("probe of the machine", _Told)
        start, end = self._edges_ns.get("window_start", 0), self._edges_ns.get("window_end", 0)
        inside = [one for one in told.readings if start <= one.at_ns <= end]
        if not inside:
            raise StackError("probe of the machine: it read nothing inside the window")
        return {
            PROBE_ARITHMETIC: _as_metric(statistics.fmean(one.arithmetic_ns for one in inside)),
            PROBE_MEMORY: _as_metric(statistics.fmean(one.memory_ns for one in inside)),
        }


@contextmanager
def probe_of_machine(deployment: Deployment) -> Iterator[Probe]:
    """A probe that reads from now on; raises SetupError when it is not built and StackError when it does not start."""
    process = deployment.start(
        [rust_binary(_PROGRAM, "probe"), "--every-ms", str(_EVERY_MS)], name="probe", stdin=True, stdout=True
    )
    try:
        process.said("probe of the machine", Ready)
        yield Probe(process)
    finally:
        deployment.stop(process)


def _as_metric(mean_ns: float) -> OwnMetric:
    return OwnMetric(mean_ns / 1000, "µs", "lower")
