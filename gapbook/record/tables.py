"""What the tables of a stored run hold: every column, in its type, in every run.

Nested values are JSON text in their column; what that text may hold is said here too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import polars as pl

from gapbook.record.fields import Amount, Count
from gapbook.record.measured import OWN_METRICS, make_metrics
from gapbook.record.schema import HISTOGRAMS, TRIALS, Flawed, Manifest, one_line

__all__ = [
    "HISTOGRAM_COLUMNS",
    "TRIAL_COLUMNS",
    "StoredGate",
    "checked_histograms",
    "checked_trials",
    "make_tables",
]


class StoredGate(msgspec.Struct):
    """A gate of a stored trial (:class:`gapbook.record.gates.Gate`); older runs leave out a value that there is not."""

    name: str
    passed: bool | None
    limit: float
    text: str
    value: float | None = None


class _Latency(msgspec.Struct):
    percentile: float
    latency_ms: Amount
    operations_above: Count


class _FromHost(msgspec.Struct):
    connections: Count
    acknowledged_in_window: Count
    cpu_s: Amount
    clock_bound_s: Amount
    ceiling_per_s: Amount | None = None
    here: bool = False


class _Watched(msgspec.Struct):
    elapsed_s: Amount
    cpu_s: Amount | None = None
    memory_bytes: Count | None = None


@dataclass(frozen=True)
class _Column:
    """The type of a column, the rows in which it must stand, what its text holds where that is JSON,
    what stands in it where a file does not have the column, and whether a number may be below 0."""

    kind: pl.DataType
    needed: Literal["always", "when valid", "never"] = "never"
    holds: Any = None
    absent: Any = None
    signed: bool = False


_INTEGER, _FLOAT, _TEXT, _BOOLEAN = pl.Int64(), pl.Float64(), pl.String(), pl.Boolean()
TRIAL_COLUMNS: Mapping[str, _Column] = {
    "trial": _Column(_INTEGER, "always"),
    "block": _Column(_INTEGER, "always"),
    "session": _Column(_INTEGER, "always", absent=0),
    "contestant": _Column(_TEXT, "always"),
    "treatment": _Column(_FLOAT, "always"),
    "work_seed": _Column(_INTEGER, "always"),
    "started_unix_s": _Column(_FLOAT, "always"),
    "took_s": _Column(_FLOAT, "always"),
    "valid": _Column(_BOOLEAN, "always"),
    "refused_because": _Column(_TEXT),
    "labels": _Column(_TEXT, "always", list[str]),
    "gates": _Column(_TEXT, "always", list[StoredGate]),
    "ceiling_per_s": _Column(_FLOAT),
    "window_s": _Column(_FLOAT),
    "goodput_per_s": _Column(_FLOAT, "when valid"),
    "acknowledged_in_window": _Column(_INTEGER),
    "completed_in_window": _Column(_INTEGER, "when valid"),
    "mean_in_flight": _Column(_FLOAT, "when valid"),
    "mean_service_time_s": _Column(_FLOAT, "when valid"),
    "attempted": _Column(_INTEGER, "when valid"),
    "acknowledged": _Column(_INTEGER, "when valid"),
    "failed": _Column(_TEXT, "when valid", dict[str, Count]),
    "retried": _Column(_INTEGER, "when valid"),
    "in_doubt": _Column(_INTEGER, "when valid"),
    "lost_connections": _Column(_INTEGER, absent=0),
    "per_second": _Column(_TEXT, "when valid", list[Count]),
    "per_100ms": _Column(_TEXT, holds=list[Count]),
    "flawed": _Column(_TEXT, holds=Flawed, absent="{}"),
    "committed": _Column(_INTEGER),
    "metric_transactions": _Column(_INTEGER),
    "mismatched_accounts": _Column(_INTEGER, "when valid"),
    "latency_ms": _Column(_TEXT, "when valid", list[_Latency]),
    "client_cpu_s": _Column(_FLOAT, "when valid"),
    "client_peak_memory_bytes": _Column(_INTEGER),
    "client_build_id": _Column(_TEXT),
    "server_cpu_s": _Column(_FLOAT),
    "tier_cpu_s": _Column(_FLOAT),
    "steal_s": _Column(_FLOAT),
    "other_cpu_s": _Column(_FLOAT, signed=True),
    "kernel_cpu_s": _Column(_FLOAT),
    "throttled_s": _Column(_FLOAT),
    "server_memory_bytes": _Column(_INTEGER),
    "log_bytes": _Column(_INTEGER),
    "watched": _Column(_TEXT, holds=list[_Watched], absent="[]"),
    "from_hosts": _Column(_TEXT, holds=list[_FromHost], absent="[]"),
    "remarks": _Column(_TEXT, holds=list[str], absent="[]"),
    "catch_up_s": _Column(_FLOAT, "when valid"),
    "catch_up_cpu_s": _Column(_FLOAT, "when valid"),
    "catch_up_log_bytes": _Column(_INTEGER),
    "settings": _Column(_TEXT, holds=dict[str, str]),
    "durability": _Column(_TEXT),
}
HISTOGRAM_COLUMNS: Mapping[str, _Column] = {
    "trial": _Column(_INTEGER, "always"),
    "service_time_histogram": _Column(_TEXT),
    "response_time_histogram": _Column(_TEXT),
}
_SHOWN_PERCENTILES = {50.0, 99.0}


def make_tables(rows: Sequence[Mapping[str, Any]]) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """The trials, the histograms of each, and their metrics; every column stands in each, whatever the rows hold.

    Raises ValueError for a value that does not fit its column, and for one that has no column.
    """
    for row in rows:
        if unknown := sorted(row.keys() - TRIAL_COLUMNS.keys() - HISTOGRAM_COLUMNS.keys() - {OWN_METRICS}):
            raise ValueError(
                f"trial {row['trial']}: {', '.join(unknown)} is no column of the record (gapbook/record/tables.py)"
            )
    trials = _make_table(rows, TRIAL_COLUMNS)
    _require_whole(trials)
    return trials, _make_table(rows, HISTOGRAM_COLUMNS), make_metrics(trials, rows)


def checked_trials(table: pl.DataFrame, manifest: Manifest) -> pl.DataFrame:
    """The table with every column in its type; raises ValueError naming the file, the column and the trial."""
    trials = _typed(TRIALS, table, TRIAL_COLUMNS)
    _require_whole(trials)
    _require_planned(trials, manifest)
    return trials


def checked_histograms(table: pl.DataFrame, trials: pl.DataFrame) -> pl.DataFrame:
    """The table with one row for each trial; raises ValueError in one line."""
    histograms = _typed(HISTOGRAMS, table, HISTOGRAM_COLUMNS)
    if sorted(histograms["trial"].to_list()) != sorted(trials["trial"].to_list()):
        raise ValueError(f"{HISTOGRAMS}: it does not hold one row for each trial")
    return histograms


def _make_table(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, _Column]) -> pl.DataFrame:
    series = []
    for name, column in columns.items():
        try:
            values = [_as_stored(row.get(name, column.absent), column) for row in rows]
            series.append(_within_range(TRIALS, pl.Series(name, values, column.kind, strict=True), column))
        except (TypeError, OverflowError, pl.exceptions.PolarsError) as error:
            raise ValueError(f"a trial's {name} does not fit the record: {one_line(error)}") from error
    return pl.DataFrame(series)


def _as_stored(value: Any, column: _Column) -> Any:
    if isinstance(value, dict | list):
        return json.dumps(value, sort_keys=True)
    return float(value) if column.kind == _FLOAT and type(value) is int else value


def _typed(file: str, table: pl.DataFrame, columns: Mapping[str, _Column]) -> pl.DataFrame:
    """These columns and no others, in their types."""
    typed = []
    for name, column in columns.items():
        if name not in table.columns:
            typed.append(pl.Series(name, [column.absent] * table.height, column.kind))
            continue
        kind = table.schema[name]
        if kind not in {column.kind, pl.Null()} and (kind, column.kind) != (_INTEGER, _FLOAT):
            raise ValueError(f"{file}: column {name} is {kind}; allowed: {column.kind}")
        typed.append(_within_range(file, table[name].cast(column.kind), column))
    found = pl.DataFrame(typed)
    if found["trial"].has_nulls() or found["trial"].is_duplicated().any():
        raise ValueError(f"{file}: the number of a trial is missing or stands twice")
    return found


def _within_range(file: str, values: pl.Series, column: _Column) -> pl.Series:
    # By sum and minimum, which ask for no query: each trial is looked at when it is kept, and when it is resumed.
    if values.dtype.is_numeric() and isinstance(least := values.min(), int | float):
        is_finite = math.isfinite(values.sum()) or values.is_finite().all()
        if not is_finite or (least < 0 and not column.signed):
            raise ValueError(f"{file}: column {values.name} holds a value below 0 or none that is finite")
    return values


def _require_whole(trials: pl.DataFrame) -> None:
    """Every row has what it needs, and its text holds what it should; raises ValueError."""
    needing = {"always": trials, "when valid": trials.filter("valid")}
    for name, column in TRIAL_COLUMNS.items():
        if column.needed != "never":
            _require_present(needing[column.needed], name)
        if column.holds is not None:
            _require_json(trials, name, column.holds)
    _require_judged(trials)


def _require_present(trials: pl.DataFrame, name: str) -> None:
    if trials[name].null_count():
        trial = trials.filter(pl.col(name).is_null())["trial"][0]
        raise ValueError(f"{TRIALS}: {name} of trial {trial} is missing")


def _require_json(trials: pl.DataFrame, name: str, holds: Any) -> None:
    decoder = msgspec.json.Decoder(holds)
    for trial, text in zip(trials["trial"], trials[name], strict=True):
        try:
            if text is not None:
                decoder.decode(text)
        except (ValueError, OverflowError, RecursionError) as error:
            raise ValueError(f"{TRIALS}: {name} of trial {trial}: {one_line(error)}") from error


def _require_planned(trials: pl.DataFrame, manifest: Manifest) -> None:
    """Every trial is one of a contestant, treatment, block and session of the run."""
    scenario = manifest.scenario
    allowed: dict[str, list[Any]] = {
        "contestant": [contestant.name for contestant in scenario.contestants],
        "treatment": [float(value) for value in scenario.treatment.values],
        "block": list(range(manifest.blocks)),
        "session": list(range(manifest.sessions)),
    }
    for name, values in allowed.items():
        strange = trials.filter(~pl.col(name).is_in(values))
        if not strange.is_empty():
            trial, value = strange.select("trial", name).row(0)
            raise ValueError(f"{TRIALS}: {name} of trial {trial} is {one_line(repr(value))}, not of this run")


def _require_judged(trials: pl.DataFrame) -> None:
    """A trial that counts has a rate and its percentiles, one that does not has a reason."""
    refused = trials.filter(~pl.col("valid") & pl.col("refused_because").is_null())
    if not refused.is_empty():
        raise ValueError(f"{TRIALS}: trial {refused['trial'][0]} is refused without a reason")
    counted = trials.filter("valid")
    idle = counted.filter((pl.col("goodput_per_s") <= 0) | (pl.col("completed_in_window") <= 0))
    if not idle.is_empty():
        raise ValueError(f"{TRIALS}: trial {idle['trial'][0]} counts, but nothing was done in its window")
    for trial, text in counted.select("trial", "latency_ms").iter_rows():
        if not {point["percentile"] for point in json.loads(text)} >= _SHOWN_PERCENTILES:
            raise ValueError(f"{TRIALS}: latency_ms of trial {trial} lacks the 50th or 99th percentile")
