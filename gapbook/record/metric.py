"""Metrics: what a trial can be compared by, each with its unit, which way is better, and where it is recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from gapbook.errors import ParameterError, cut

__all__ = ["GOODPUT", "METRICS", "Metric", "metric_named"]


@dataclass(frozen=True)
class Metric:
    """One quantity of a trial.

    ``label`` is short, ``words`` say what it is. ``unit`` is printed right behind a number, ``spelled`` stands
    alone in a table, ``spoken`` in a sentence. ``log``: it is above 0 and compared by ratios; what can be 0 has
    differences only. ``value`` is computed from the columns of a trial; null where a trial does not tell it.
    ``decimals`` are those of a value that is printed whole.
    """

    name: str
    label: str
    words: str
    unit: str
    spelled: str
    spoken: str
    better: Literal["higher", "lower"]
    value: pl.Expr = field(compare=False, repr=False)
    decimals: int = 0
    log: bool = True

    @property
    def axis(self) -> str:
        """``verified goodput, transactions/s (log scale)``"""
        return f"{self.words}, {self.spelled}{' (log scale)' if self.log else ''}"

    @property
    def column(self) -> str:
        """``goodput, transactions/s``: the head of a column of its values."""
        return f"{self.label}, {self.spelled}"

    def whole(self, value: float) -> str:
        """A value to as many digits as its decimals ask for: ``12,345``."""
        return f"{value:,.{self.decimals}f}"


def _processor_us(part: str) -> Metric:
    """Processor time of client, tier or server for each operation that ended in the window."""
    ended = pl.col("completed_in_window")
    return Metric(
        name=f"{part}-cpu",
        label=f"{part} CPU",
        words=f"processor time of the {part} for each operation",
        unit=" µs",
        spelled="µs",
        spoken="microseconds",
        better="lower",
        value=pl.when(ended > 0).then(1e6 * pl.col(f"{part}_cpu_s") / ended),
        decimals=1,
    )


def _latency_at(text: str, percentile: float) -> float | None:
    points = json.loads(text)
    return next((point["latency_ms"] for point in points if point["percentile"] == percentile), None)


def _service_time_ms(name: str, label: str, words: str, value: pl.Expr) -> Metric:
    return Metric(
        name=name,
        label=label,
        words=words,
        unit=" ms",
        spelled="ms",
        spoken="milliseconds",
        better="lower",
        value=value,
        decimals=1,
    )


def _percentile_ms(percentile: float) -> Metric:
    def at(text: str) -> float | None:
        return _latency_at(text, percentile)

    name = f"p{percentile:g}"
    value = pl.col("latency_ms").map_elements(at, return_dtype=pl.Float64)
    return _service_time_ms(name, name, f"service time, {percentile:g}th percentile", value)


_MEAN_LATENCY = _service_time_ms(
    "mean-latency", "mean latency", "mean service time", 1e3 * pl.col("mean_service_time_s")
)


def _tail(text: str) -> float | None:
    """The 90th percentile of the service time by its median."""
    high, middle = _latency_at(text, 90.0), _latency_at(text, 50.0)
    return high / middle if high and middle else None


_TAIL = Metric(
    name="tail",
    label="p90 ÷ p50",
    words="service time, 90th percentile by the median",
    unit="",
    spelled="times the median",
    spoken="times the median",
    better="lower",
    value=pl.col("latency_ms").map_elements(_tail, return_dtype=pl.Float64),
    decimals=2,
)
_TRANSACTIONS = Metric(
    name="transactions",
    label="server transactions",
    words="transactions that the server counted for each acknowledged operation",
    unit=" per operation",
    spelled="transactions per operation",
    spoken="transactions per operation",
    better="lower",
    value=pl.when(pl.col("acknowledged") > 0).then(pl.col("metric_transactions") / pl.col("acknowledged")),
    decimals=2,
)
GOODPUT = Metric(
    name="goodput",
    label="goodput",
    words="verified goodput",
    unit="/s",
    spelled="transactions/s",
    spoken="transactions per second",
    better="higher",
    value=pl.col("goodput_per_s"),
)
_CATCH_UP = Metric(
    name="catch-up",
    label="until idle",
    words="time from the end of the load client until the server was idle",
    unit=" s",
    spelled="s",
    spoken="seconds",
    better="lower",
    value=pl.col("catch_up_s"),
    decimals=1,
    log=False,
)
_MEMORY = Metric(
    name="server-memory",
    label="server memory",
    words="memory of the server",
    unit=" MiB",
    spelled="MiB",
    spoken="mebibytes",
    better="lower",
    value=pl.col("server_memory_bytes") / 2**20,
)
METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        GOODPUT,
        *map(_percentile_ms, (50.0, 90.0, 95.0, 99.0, 99.9)),
        _MEAN_LATENCY,
        _TAIL,
        *map(_processor_us, ("client", "tier", "server")),
        _TRANSACTIONS,
        _MEMORY,
        _CATCH_UP,
    )
}


def metric_named(name: str) -> Metric:
    """Raises ParameterError listing the metrics that there are."""
    if name not in METRICS:
        raise ParameterError(f"metric {cut(repr(name))}: unknown; allowed: {', '.join(METRICS)}")
    return METRICS[name]
