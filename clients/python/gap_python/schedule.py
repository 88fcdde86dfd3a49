"""Time within a trial, in whole nanoseconds since its clock started."""

from __future__ import annotations

from dataclasses import dataclass

from gap_python.config import Config

NANOSECONDS_PER_SECOND = 1_000_000_000


def to_nanoseconds(seconds: float) -> int:
    return round(seconds * NANOSECONDS_PER_SECOND)


@dataclass(frozen=True)
class Phases:
    """Warm-up, window, drain; both edges belong to the window."""

    window_start: int
    window_end: int
    drain_end: int

    @classmethod
    def of(cls, config: Config) -> Phases:
        start = to_nanoseconds(config.warmup_s)
        end = start + to_nanoseconds(config.window_s)
        return cls(start, end, end + to_nanoseconds(config.drain_s))

    def name(self, now: int) -> str:
        if now < self.window_start:
            return "warmup"
        return "window" if now < self.window_end else "drain"

    def overlap(self, start: int, end: int) -> int:
        """How much of the time from start to end lies inside the window."""
        return max(0, min(end, self.window_end) - max(start, self.window_start))


@dataclass(frozen=True)
class Schedule:
    """The intended start of every operation: they go round the connections; in the closed loop each is due at once."""

    connections: int
    rate_per_s: float | None

    def intended(self, slot: int, index: int) -> int:
        if self.rate_per_s is None:
            return 0
        return int((index * self.connections + slot) * (NANOSECONDS_PER_SECOND / self.rate_per_s))
