"""What is counted over all connections of a trial."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from hdrh.histogram import HdrHistogram

from gap_python.answer import ERROR
from gap_python.schedule import Phases
from gap_python.workload import Workload

_LOWEST_NS = 1_000
_HIGHEST_NS = 600_000_000_000
_SIGNIFICANT_DIGITS = 3
_BIN_NS = 100_000_000
_BINS_PER_SECOND = 10
_TIMEOUT = "timeout"


class Times(NamedTuple):
    """When a request was intended, handed to its connection, and answered."""

    intended: int
    start: int
    end: int


class Counts:
    """Counters of one kind of operation, and the times of its goodput: they become histograms after the load, which
    a slow recorder would take CPU from."""

    def __init__(self, refusals: Iterable[str]) -> None:
        self.acknowledged = 0
        self.in_doubt = 0
        self.window_acknowledged = 0
        self.window_completed = 0
        self.failed = dict.fromkeys((*refusals, ERROR, _TIMEOUT), 0)
        """By the name of the refusal; every name that there can be is there."""
        self.service_ns = array("q")
        self.response_ns = array("q")

    @property
    def attempted(self) -> int:
        return self.acknowledged + sum(self.failed.values()) + self.in_doubt

    def add(self, other: Counts) -> None:
        """Add the counters; times stay where they are."""
        self.acknowledged += other.acknowledged
        self.in_doubt += other.in_doubt
        self.window_acknowledged += other.window_acknowledged
        self.window_completed += other.window_completed
        for name, count in other.failed.items():
            self.failed[name] += count


class Tally:
    """Counts by kind, and what is told of all kinds together."""

    def __init__(self, phases: Phases, workload: Workload) -> None:
        self.phases = phases
        self.refusals = workload.refusals
        self.kinds = {kind: Counts(workload.refusals) for kind in workload.kinds}
        self.retried = 0
        self.lost_connections = 0
        self.first_error: str | None = None
        self.window_out_ns = 0
        """Sum of the requests' overlaps with the window."""
        self.window_service_ns = 0
        """Sum of the service times of the requests that end inside the window."""
        self.per_100ms: list[int] = []
        """Acknowledgements by tenth of a second since the clock started."""

    @property
    def acknowledged(self) -> int:
        return sum(counts.acknowledged for counts in self.kinds.values())

    @property
    def failed(self) -> int:
        return sum(sum(counts.failed.values()) for counts in self.kinds.values())

    @property
    def per_second(self) -> list[int]:
        """Acknowledgements by whole second since the clock started."""
        return [
            sum(self.per_100ms[first : first + _BINS_PER_SECOND])
            for first in range(0, len(self.per_100ms), _BINS_PER_SECOND)
        ]

    def total(self) -> Counts:
        """The counters of all kinds together, without times."""
        total = Counts(self.refusals)
        for counts in self.kinds.values():
            total.add(counts)
        return total

    def answered(self, kind: str, refusal: str | None, times: Times) -> None:
        """``refusal`` is None of what is acknowledged."""
        counts, phases = self.kinds[kind], self.phases
        intended, start, end = times
        ends_inside = phases.window_start <= end <= phases.window_end
        self.window_out_ns += phases.overlap(start, end)
        if ends_inside:
            counts.window_completed += 1
            self.window_service_ns += end - start
        if refusal is not None:
            counts.failed[refusal] += 1
            return
        counts.acknowledged += 1
        place = end // _BIN_NS
        while len(self.per_100ms) <= place:
            self.per_100ms.append(0)
        self.per_100ms[place] += 1
        if ends_inside:
            counts.window_acknowledged += 1
            counts.service_ns.append(end - start)
            counts.response_ns.append(end - intended)

    def unanswered(self, kind: str, start: int, end: int) -> None:
        """A request that nobody answered until ``end``."""
        self.kinds[kind].in_doubt += 1
        self.window_out_ns += self.phases.overlap(start, end)


def encode_histogram(parts: Iterable[array[int]]) -> str:
    """One HdrHistogram of all parts, in V2, deflate, base64."""
    histogram = HdrHistogram(_LOWEST_NS, _HIGHEST_NS, _SIGNIFICANT_DIGITS)
    for times_ns in parts:
        bounded = np.clip(np.frombuffer(times_ns, dtype=np.int64), _LOWEST_NS, _HIGHEST_NS)
        values, counts = np.unique(bounded, return_counts=True)
        for value, count in zip(values.tolist(), counts.tolist(), strict=True):
            histogram.record_value(value, count)
    return str(histogram.encode().decode())
