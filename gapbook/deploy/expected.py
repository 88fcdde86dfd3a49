"""How long a step still takes, from what is expected of it and what is seen of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["CARGO_COUNTS", "Counted", "Expected", "crates_counted", "duration", "without_progress"]

CARGO_COUNTS = {
    "CARGO_TERM_PROGRESS_WHEN": "always",
    "CARGO_TERM_PROGRESS_WIDTH": "80",
    "CARGO_TERM_QUIET": "false",
}
"""Variables that have cargo show its progress, though nobody's terminal is there."""
_OVERWRITTEN = re.compile(r"[^\n\r]*\r(?!\n)")
_CRATES = re.compile(r" Building \[[=> ]*\] (\d+)/([1-9]\d*)")
_SLOW_FROM = 1.5
"""From this multiple of the expected time on, a machine is called slow: below it, machines merely differ."""
_BEFORE_THE_LAST = 0.8
"""The part of the time that all crates but the last take: those are large, and are linked."""
_SHOWN_IN_SECONDS_S = 100


@dataclass(frozen=True)
class Counted:
    """How many of the parts of a step are done."""

    done: int
    of: int


def crates_counted(said: str) -> Counted | None:
    """The last count in what cargo wrote, which shows its progress; None before it has one."""
    found = _CRATES.findall(said)
    return Counted(*map(int, found[-1])) if found else None


def without_progress(said: str) -> str:
    """What a terminal would show in the end of what was written, with ``\\r`` before what is written over a line."""
    return _OVERWRITTEN.sub("", said)


@dataclass(frozen=True)
class Expected:
    """A step that takes ``total_s`` where its time was measured."""

    total_s: float

    def line(self, elapsed_s: float, counted: Counted | None = None) -> str:
        """How far the step is after ``elapsed_s``, what is left of it, and whether it goes slowly here."""
        left_s = self._left_s(elapsed_s, counted)
        parts = [f"{counted.done} of {counted.of} crates"] if counted else []
        parts.append(duration(elapsed_s))
        if left_s > 0:
            parts.append(f"about {duration(left_s)} left")
        if elapsed_s + left_s > self.total_s * _SLOW_FROM:
            parts.append(f"this machine is slow or busy ({duration(self.total_s)} were expected)")
        elif left_s <= 0:
            parts.append(f"{duration(self.total_s)} were expected")
        return ", ".join(parts)

    def _left_s(self, elapsed_s: float, counted: Counted | None) -> float:
        """What is expected in the beginning, and the more is done, the more what the pace so far comes to."""
        if counted is None:
            return max(0.0, self.total_s - elapsed_s)
        left = 1 - _BEFORE_THE_LAST * counted.done / counted.of
        return left * (elapsed_s + left * self.total_s)


def duration(seconds: float) -> str:
    """A time as a person says it."""
    return f"{seconds:.0f} s" if seconds < _SHOWN_IN_SECONDS_S else f"{seconds / 60:.1f} min"
