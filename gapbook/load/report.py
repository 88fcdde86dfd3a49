"""The report of a client, checked as it arrives: types and ranges by the contract's schema, then every count
against the others, against the series and against what the client was told to do (clients/CONTRACT.md).

A client is not believed: what it claims to have done must follow from what it says of each kind and each
connection, for that is what the audit replays.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import msgspec

from gapbook.errors import ClientError
from gapbook.load.contract import CONTRACT_VERSION, schema_problem
from gapbook.model.report import Kind, Report
from gapbook.record.histograms import decode_histogram
from gapbook.record.schema import one_line

__all__ = ["BINS_PER_SECOND", "checked_report"]

_RELATIVE = 1e-9
_BIN_S = 0.1
BINS_PER_SECOND = 10
"""The bins of ``per_100ms`` in a report."""
_EDGE_S = 1e-6
_SAMPLE = 16
"""How many entries of a connection's lists the schema sees. There can be millions, and all have one type,
which is checked of the others as they are converted."""


def checked_report(output: bytes, told: Mapping[str, Any]) -> Report:
    """The report that a client wrote after it was ``told`` its configuration.

    Raises ClientError with what is wrong in one line, for the caller to name the client.
    """
    report = _typed(_parsed(output))
    problems = [
        *_off_configuration(report, told),
        *_off_connections(report, told),
        *_off_kinds(report),
        *_off_window(report, told),
        *_off_series(report),
    ]
    if problems:
        raise ClientError(f"its report contradicts itself or its configuration: {problems[0]}")
    return report


def _parsed(output: bytes) -> Mapping[str, Any]:
    try:
        report = json.loads(output, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ClientError(f"its report is not JSON ({one_line(error)})") from error
    stated = report.get("contract") if isinstance(report, dict) else None
    if type(stated) is not int or stated != CONTRACT_VERSION:
        raise ClientError(f"its report is not of contract {CONTRACT_VERSION}")
    parsed: Mapping[str, Any] = report
    return parsed


def _typed(report: Mapping[str, Any]) -> Report:
    try:
        problem = schema_problem("report", _sampled(report))
        if problem is None:
            return msgspec.convert(report, Report)
    except (msgspec.ValidationError, OverflowError, RecursionError) as error:
        problem = one_line(error)
    raise ClientError(f"its report is not as the contract has it: {problem}")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _sampled(report: Mapping[str, Any]) -> Mapping[str, Any]:
    """The report with long lists of its connections cut."""
    connections = report.get("connections")
    if not isinstance(connections, list):
        return report
    return {**report, "connections": [_cut(row) for row in connections]}


def _cut(row: Any) -> Any:
    if not isinstance(row, dict):
        return row
    return {key: value[:_SAMPLE] if isinstance(value, list) else value for key, value in row.items()}


def _off_configuration(report: Report, told: Mapping[str, Any]) -> list[str]:
    stated = {"warmup_s": report.warmup_s, "window_s": report.window_s}
    off = [
        f"{name} is {value:g}, configured {told[name]:g}"
        for name, value in stated.items()
        if abs(value - told[name]) > _EDGE_S  # clients keep time in whole nanoseconds
    ]
    asked = sorted(flaw["name"] for flaw in told.get("flaws", ()))
    if asked != sorted(report.flawed):
        off.append(f"flawed holds {sorted(report.flawed) or 'nothing'}, asked for {asked or 'nothing'}")
    return off


def _off_connections(report: Report, told: Mapping[str, Any]) -> list[str]:
    """Counts of the whole trial that do not follow from what is said of each connection."""
    rows = report.connections
    first = told.get("first_connection", 0)
    if [row.connection for row in rows] != list(range(first, first + told["connections"])):
        return [f"it lists {len(rows)} connections, configured {told['connections']} from number {first} on"]
    off = _off_indices(report) if all(row.counts is None for row in rows) else _off_counts(report)
    if report.lost_connections > len(rows):
        off.append(f"lost_connections is {report.lost_connections} of {len(rows)}")
    return off


def _off_indices(report: Report) -> list[str]:
    rows = report.connections
    if strange := [f"connection {row.connection} {problem}" for row in rows if (problem := row.problem())]:
        return strange
    names = Counter(name for row in rows for _, name in row.failed)
    in_doubt = sum(len(row.in_doubt) for row in rows)
    issued = sum(row.issued for row in rows)
    off = _unequal(
        "its connections make",
        ("attempted", report.attempted, issued),
        ("acknowledged", report.acknowledged, issued - names.total() - in_doubt),
        ("in_doubt", report.in_doubt, in_doubt),
        *((f"failed.{name}", report.failed.get(name, 0), names[name]) for name in {**report.failed, **names}),
    )
    if (least := sum(len(row.retried) for row in rows)) > report.retried:
        off.append(f"retried is {report.retried:,}, its connections list {least:,}")
    return off


def _off_counts(report: Report) -> list[str]:
    counted: Counter[str] = Counter()
    for row in report.connections:
        if row.counts is None:
            return [f"connection {row.connection} has no counts, as others have"]
        counted.update(row.counts)
    acknowledged = {name: kind.acknowledged for name, kind in report.kinds.items()}
    off = _unequal(
        "its connections make",
        *(
            (f"kinds.{name}.acknowledged", acknowledged.get(name, 0), counted[name])
            for name in {**acknowledged, **counted}
        ),
    )
    if (issued := sum(row.issued for row in report.connections)) < report.attempted:
        off.append(f"attempted is {report.attempted:,}, its connections issued {issued:,}")
    return off


def _off_kinds(report: Report) -> list[str]:
    """Kinds that do not add up in themselves or to the totals."""
    kinds = report.kinds
    every: dict[str, Kind] = {"": report, **{f"kinds.{name}.": kind for name, kind in kinds.items()}}
    off = [problem for place, kind in every.items() for problem in _off_kind(place, kind)]
    kinds_failed: Counter[str] = Counter()
    for kind in kinds.values():
        kinds_failed.update(kind.failed)
    pairs = [
        ("attempted", report.attempted, [kind.attempted for kind in kinds.values()]),
        ("acknowledged", report.acknowledged, [kind.acknowledged for kind in kinds.values()]),
        ("in_doubt", report.in_doubt, [kind.in_doubt for kind in kinds.values()]),
        ("window.acknowledged", report.window.acknowledged, [k.window.acknowledged for k in kinds.values()]),
        ("window.completed", report.window.completed, [k.window.completed for k in kinds.values()]),
        *(
            (f"failed.{name}", report.failed.get(name, 0), [kinds_failed[name]])
            for name in {**report.failed, **kinds_failed}
        ),
    ]
    return off + _unequal("its kinds make", *((name, stated, sum(parts)) for name, stated, parts in pairs))


def _off_kind(place: str, kind: Kind) -> list[str]:
    ends = kind.acknowledged + sum(kind.failed.values()) + kind.in_doubt
    window = kind.window
    off = _unequal("their ends make", (f"{place}attempted", kind.attempted, ends))
    off += [
        f"{place}{smaller} is {less:,}, above {place}{larger}, {more:,}"
        for smaller, less, larger, more in (
            ("window.acknowledged", window.acknowledged, "acknowledged", kind.acknowledged),
            ("window.acknowledged", window.acknowledged, "window.completed", window.completed),
            ("window.completed", window.completed, "attempted", kind.attempted),
        )
        if less > more
    ]
    for name in ("service_time_ns", "response_time_ns"):
        held = decode_histogram(getattr(kind, name)).get_total_count()
        if held != window.acknowledged:
            stated = f"{place}window.acknowledged is {window.acknowledged:,}"
            off.append(f"{place}{name} holds {held:,} times, {stated}")
    return off


def _unequal(why: str, *pairs: tuple[str, int, int]) -> list[str]:
    """Of numbers that are stated and those that they must be: which are not."""
    return [f"{name} is {stated:,}, {why} {made:,}" for name, stated, made in pairs if stated != made]


def _off_window(report: Report, told: Mapping[str, Any]) -> list[str]:
    window = report.window
    off = []
    rate_per_s = window.acknowledged / told["window_s"]
    if not math.isclose(window.goodput_per_s, rate_per_s, rel_tol=_RELATIVE):
        off.append(f"window.goodput_per_s is {window.goodput_per_s:g}, its counts make {rate_per_s:g}")
    if (window.mean_service_time_s is None) != (window.completed == 0):
        off.append(f"window.mean_service_time_s does not fit {window.completed:,} completed")
    most_in_flight = told["connections"] * told["in_flight"]
    if window.mean_in_flight > most_in_flight * (1 + _RELATIVE):
        off.append(f"window.mean_in_flight is {window.mean_in_flight:g}, at most {most_in_flight} can be")
    return off


def _off_series(report: Report) -> list[str]:
    """Series that do not add up to the counts: of the trial, and of the window, to the bins at its edges."""
    off = [
        f"{name} adds up to {sum(series):,}, acknowledged is {report.acknowledged:,}"
        for name, series in (("per_second", report.per_second), ("per_100ms", report.per_100ms))
        if sum(series) != report.acknowledged
    ]
    tenths = report.per_100ms
    starts = range(0, len(tenths), BINS_PER_SECOND)
    if report.per_second != [sum(tenths[start : start + BINS_PER_SECOND]) for start in starts]:
        off.append("per_second is not per_100ms by whole seconds")
    least, most = _within(tenths, report.warmup_s, report.warmup_s + report.window_s)
    if not least <= report.window.acknowledged <= most:
        off.append(
            f"window.acknowledged is {report.window.acknowledged:,}, per_100ms has {least:,} to {most:,} there"
        )
    return off


def _within(tenths: Sequence[int], start_s: float, end_s: float) -> tuple[int, int]:
    """How many lie in the bins wholly between two times, and in those that touch that span."""
    edges = [(index * _BIN_S, (index + 1) * _BIN_S, count) for index, count in enumerate(tenths)]
    inside = sum(n for low, high, n in edges if low >= start_s - _EDGE_S and high <= end_s + _EDGE_S)
    touching = sum(n for low, high, n in edges if high >= start_s - _EDGE_S and low <= end_s + _EDGE_S)
    return inside, touching
