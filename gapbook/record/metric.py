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
    alone in a table, ``spoken`` in a sentence, and ``told`` says how it was counted, with ``{row}`` for what a
    row of the audited state is called. ``log``: it is above 0 and compared by ratios; what can be 0 has
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
    told: str = ""

    @property
    def axis(self) -> str:
        """``verified goodput, transactions/s (log scale)``"""
        return f"{self.words}, {self.spelled}{' (log scale)' if self.log else ''}"

    @property
    def column(self) -> str:
        """``goodput, transactions/s``: the head of a column of its values."""
        return f"{self.label}, {self.spelled}"

    @property
    def best(self) -> str:
        """What the best of several is called: ``Fastest``."""
        if self.name == "goodput":
            return "Fastest"
        return f"{'Highest' if self.better == 'higher' else 'Lowest'} {self.label}"

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


def _latency_ms(percentile: float) -> Metric:
    def at(text: str) -> float | None:
        points = json.loads(text)
        return next((p["latency_ms"] for p in points if p["percentile"] == percentile), None)

    return Metric(
        name=f"p{percentile:g}",
        label=f"p{percentile:g}",
        words=f"service time, {percentile:g}th percentile",
        unit=" ms",
        spelled="ms",
        spoken="milliseconds",
        better="lower",
        value=pl.col("latency_ms").map_elements(at, return_dtype=pl.Float64),
        decimals=1,
    )


_MEAN_LATENCY = Metric(
    name="mean-latency",
    label="mean latency",
    words="mean service time",
    unit=" ms",
    spelled="ms",
    spoken="milliseconds",
    better="lower",
    value=1e3 * pl.col("mean_service_time_s"),
    decimals=1,
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
    told="acknowledged in the window, reconciled with every {row}",
)
_CATCH_UP = Metric(
    name="catch-up",
    label="until idle",
    words="time from the last acknowledgement until the server was idle",
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
        *map(_latency_ms, (50.0, 95.0, 99.0, 99.9)),
        _MEAN_LATENCY,
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
