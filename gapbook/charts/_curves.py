"""What a chart of latencies is made of: the trials of each contestant, and the curve through them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from gapbook.charts._tokens import system_token
from gapbook.method.interval import format_count

__all__ = [
    "FEWEST_ABOVE",
    "LOWEST",
    "MARKED",
    "Curve",
    "LatencySeries",
    "LatencyTrial",
    "Points",
    "curves_of",
]

FEWEST_ABOVE = 100
"""A percentile with fewer operations above it is a handful of events, not a quantile."""

MARKED = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999)
LOWEST = 30.0
_DASHES: tuple[tuple[float, ...], ...] = ((), (7, 3), (2, 2.5), (9, 3, 2, 3), (4, 4), (12, 3), (1, 4))
Points = list[tuple[float, float]]


@dataclass(frozen=True)
class LatencyTrial:
    """One trial's latency at ascending percentiles (``99.9``), and how many operations lie above each."""

    percentiles: tuple[float, ...]
    latency_ms: tuple[float, ...]
    counts_above: tuple[int, ...]

    def __post_init__(self) -> None:
        if not len(self.percentiles) == len(self.latency_ms) == len(self.counts_above):
            raise ValueError("percentiles, latency_ms and counts_above of a trial must have the same length")
        if any(not 0 <= percentile < 100 for percentile in self.percentiles):
            raise ValueError("percentiles are from 0 up to, but not including, 100")


@dataclass(frozen=True)
class LatencySeries:
    """The trials of one contestant, all at the same percentiles."""

    system: str
    label: str
    detail: str
    trials: tuple[LatencyTrial, ...]

    def __post_init__(self) -> None:
        if len({trial.percentiles for trial in self.trials}) != 1:
            raise ValueError(f"{self.label}, {self.detail}: the trials must share one list of percentiles")


@dataclass(frozen=True)
class Curve:
    """What is drawn of one series: points are (percentile, ms)."""

    number: int
    series: LatencySeries
    token: str
    dash: tuple[float, ...]
    trials: list[Points]
    median: Points

    @property
    def summary(self) -> str:
        """The farthest marked percentile that every trial reaches."""
        reached = [(percentile, value) for percentile, value in self.median if percentile in MARKED]
        if not reached:
            return "too few operations"
        percentile, value = reached[-1]
        return f"p{percentile:g} {format_count(value)} ms"

    def median_at(self, percentile: float) -> float | None:
        return dict(self.median).get(percentile)


def curves_of(series: Sequence[LatencySeries]) -> list[Curve]:
    """A curve for each series, numbered; those of one system differ by dash."""
    seen: dict[str, int] = {}
    curves = []
    for number, one in enumerate(series, start=1):
        token = system_token(one.system)
        dash = _DASHES[seen.setdefault(token, 0)]
        seen[token] += 1
        trials = [_carried(trial) for trial in one.trials]
        curves.append(Curve(number, one, token, dash, trials, _median(trials)))
    return curves


def _carried(trial: LatencyTrial) -> Points:
    columns = zip(trial.percentiles, trial.latency_ms, trial.counts_above, strict=True)
    return [(p, value) for p, value, above in columns if above >= FEWEST_ABOVE and p >= LOWEST and value > 0]


def _median(trials: list[Points]) -> Points:
    """Across trials, only where every trial still has enough operations: a survivor's tail is no median."""
    by_trial = [dict(points) for points in trials]
    shared = [p for p, _ in trials[0] if all(p in points for points in by_trial)]
    return [(p, statistics.median(points[p] for points in by_trial)) for p in shared]
