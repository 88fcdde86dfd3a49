"""What is counted over all connections of a trial."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

import numpy as np
from hdrh.histogram import HdrHistogram

from gap_python.schedule import Phases

_LOWEST_NS = 1_000
_HIGHEST_NS = 600_000_000_000
_SIGNIFICANT_DIGITS = 3
_BIN_NS = 100_000_000
_BINS_PER_SECOND = 10


@dataclass
class Tally:
    """Counters, and the times of all goodput: they become histograms after the load, which a slow
    recorder would take CPU from."""

    phases: Phases
    acknowledged: int = 0
    insufficient: int = 0
    error: int = 0
    in_doubt: int = 0
    retried: int = 0
    lost_connections: int = 0
    first_error: str | None = None
    window_completed: int = 0
    window_out_ns: int = 0
    """Sum of the requests' overlaps with the window."""
    window_service_ns: int = 0
    """Sum of the service times of the requests that end inside the window."""
    per_100ms: list[int] = field(default_factory=list)
    """Acknowledgements by tenth of a second since the clock started."""
    service_ns: array[int] = field(default_factory=lambda: array("q"))
    response_ns: array[int] = field(default_factory=lambda: array("q"))

    @property
    def failed(self) -> int:
        return self.insufficient + self.error

    @property
    def per_second(self) -> list[int]:
        """Acknowledgements by whole second since the clock started."""
        return [
            sum(self.per_100ms[first : first + _BINS_PER_SECOND])
            for first in range(0, len(self.per_100ms), _BINS_PER_SECOND)
        ]

    def answered(self, verdict: str, intended: int, start: int, end: int) -> None:
        phases = self.phases
        ends_inside = phases.window_start <= end <= phases.window_end
        self.window_out_ns += phases.overlap(start, end)
        if ends_inside:
            self.window_completed += 1
            self.window_service_ns += end - start
        if verdict != "acknowledged":
            if verdict == "insufficient":
                self.insufficient += 1
            else:
                self.error += 1
            return
        self.acknowledged += 1
        place = end // _BIN_NS
        while len(self.per_100ms) <= place:
            self.per_100ms.append(0)
        self.per_100ms[place] += 1
        if ends_inside:
            self.service_ns.append(end - start)
            self.response_ns.append(end - intended)

    def unanswered(self, start: int, end: int) -> None:
        """A request that nobody answered until ``end``."""
        self.in_doubt += 1
        self.window_out_ns += self.phases.overlap(start, end)


def encode_histogram(times_ns: array[int]) -> str:
    """HdrHistogram V2, deflate, base64."""
    histogram = HdrHistogram(_LOWEST_NS, _HIGHEST_NS, _SIGNIFICANT_DIGITS)
    bounded = np.clip(np.frombuffer(times_ns, dtype=np.int64), _LOWEST_NS, _HIGHEST_NS)
    for value, count in zip(
        *(column.tolist() for column in np.unique(bounded, return_counts=True)), strict=True
    ):
        histogram.record_value(value, count)
    return str(histogram.encode().decode())
