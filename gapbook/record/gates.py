"""Gates as a record keeps them: how each judged a trial, the limits of all, and why a count is missing."""

from __future__ import annotations

import math
from dataclasses import dataclass

import msgspec

__all__ = ["LIMITS", "OWN_WORK", "Gate", "Limits", "why_uncounted"]


@dataclass(frozen=True)
class Limits:
    """The limits of all gates, each with its unit in its name."""

    depth_frac: float = 0.10
    own_work_frac: float = 0.50
    failures_frac: float = 0.001
    trend_frac: float = 0.20
    trend_p: float = 0.01
    trend_min_window_s: float = 2.0
    steal_frac: float = 0.01
    other_cpu_frac: float = 0.10
    throttled_frac: float = 0.01


LIMITS = Limits()
OWN_WORK = "own work"


class Gate(msgspec.Struct):
    """One gate of one trial. ``value`` is against ``limit`` in the same unit; NaN, where there is none, is kept as None.

    ``passed`` is None for a gate that could not be assessed: it refuses nothing, and has passed nothing.
    """

    name: str
    passed: bool | None
    value: float | None
    limit: float
    text: str

    def __post_init__(self) -> None:
        if self.value is not None and not math.isfinite(self.value):
            self.value = None


def why_uncounted(*, counts_commits: bool) -> str:
    """Why a trial has no count of commits, in words, for an engine that keeps such a count and one that does not."""
    if counts_commits:
        return "because transactions of the trial were rolled back, whose updates the engine counts too"
    return "because the engine keeps no commit count"
