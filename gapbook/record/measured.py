"""The metrics of a run as a long table: a row for each trial and each metric that it tells.

Those of :data:`gapbook.record.metric.METRICS` are computed from the columns of the trials, and must agree with
them. A trial can tell others, by a name of their own, with unit and direction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import polars as pl

from gapbook.record.fields import Name
from gapbook.record.metric import METRICS, Metric
from gapbook.record.own_metric import OwnMetric

__all__ = [
    "OWN_METRICS",
    "checked_metrics",
    "make_metrics",
    "own_metric",
    "trials_with_own",
]

OWN_METRICS = "metrics"
"""What the row of a trial calls the metrics that have no column: by name, each with value, unit and direction."""
_KINDS: Mapping[str, pl.DataType] = {
    "trial": pl.Int64(),
    "name": pl.String(),
    "unit": pl.String(),
    "better": pl.String(),
    "value": pl.Float64(),
}
_TOLD = pl.DataFrame(
    [{"name": metric.name, "unit": metric.spelled, "better": metric.better} for metric in METRICS.values()]
)
"""What the long table says of each known metric beside its values."""
_COLUMN = "metric "


def make_metrics(trials: pl.DataFrame, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """The long table of these trials; ``rows`` are what they were made of.

    Raises ValueError for a metric of a trial's own that is none, or that has the name of a known one.
    """
    known = (
        trials.select(
            "trial", *(metric.value.cast(pl.Float64).alias(name) for name, metric in METRICS.items())
        )
        .unpivot(index="trial", variable_name="name", value_name="value")
        .drop_nulls("value")
        .join(_TOLD, on="name")
        .select(*_KINDS)
    )
    own = [
        {"trial": row["trial"], "name": name, **msgspec.to_builtins(told)}
        for row in rows
        for name, told in _own_metrics(row).items()
    ]
    return pl.concat([known, pl.DataFrame(own, schema=_KINDS)]).sort("trial", "name")


def checked_metrics(table: pl.DataFrame, trials: pl.DataFrame) -> pl.DataFrame:
    """The table, where it holds what its trials say; raises ValueError in one line."""
    if dict(table.schema) != dict(_KINDS):
        raise ValueError(f"its columns are not {', '.join(_KINDS)}, each in its type")
    if table.null_count().sum_horizontal().item() or not table["value"].is_finite().all():
        raise ValueError("a value is missing or not finite")
    if table.select("trial", "name").is_duplicated().any():
        raise ValueError("a metric of a trial stands twice")
    if not table["trial"].is_in(trials["trial"].to_list()).all():
        raise ValueError("a trial is none of this run")
    if not table["better"].is_in(["higher", "lower"]).all():
        raise ValueError("better is neither higher nor lower")
    named = table.filter(pl.col("name").is_in(list(METRICS))).sort("trial", "name")
    # A run from before a metric was known has none of it: that follows from its trials all the same.
    if not named.equals(
        make_metrics(trials, []).filter(pl.col("name").is_in(named["name"].unique().to_list()))
    ):
        raise ValueError("it does not agree with the trials")
    return table


def own_metric(metrics: pl.DataFrame, name: str) -> Metric | None:
    """A metric that trials told under a name of their own; None when none did."""
    told = metrics.filter((pl.col("name") == name) & ~pl.col("name").is_in(list(METRICS)))
    if told.is_empty():
        return None
    unit, better = told.select("unit", "better").row(0)
    return Metric(
        name=name,
        label=name,
        words=name,
        unit=f" {unit}",
        spelled=unit,
        spoken=unit,
        better=better,
        value=pl.col(f"{_COLUMN}{name}"),
        decimals=1,
        log=bool((told["value"] > 0).all()),
    )


def trials_with_own(trials: pl.DataFrame, metrics: pl.DataFrame) -> pl.DataFrame:
    """The trials with a column for each metric that they told under a name of its own."""
    own = metrics.filter(~pl.col("name").is_in(list(METRICS)))
    for name in own["name"].unique().sort():
        values = own.filter(pl.col("name") == name).select("trial", pl.col("value").alias(f"{_COLUMN}{name}"))
        trials = trials.join(values, on="trial", how="left", maintain_order="left")
    return trials


def _own_metrics(row: Mapping[str, Any]) -> dict[str, OwnMetric]:
    try:
        told = msgspec.convert(row.get(OWN_METRICS, {}), dict[Name, OwnMetric])
    except msgspec.ValidationError as error:
        raise ValueError(f"trial {row['trial']}: metrics: {error}") from error
    if known := sorted(told.keys() & METRICS.keys()):
        raise ValueError(f"trial {row['trial']}: metric {', '.join(known)} follows from its columns")
    return told
