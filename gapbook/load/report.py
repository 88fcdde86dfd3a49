"""The report of a client, checked as it arrives: types and ranges by one schema, then every count against
the others, against the series and against what the client was told to do (clients/CONTRACT.md).

A client is not believed: what it claims to have done must follow from what it lists of each connection,
for that is what the audit replays.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeAlias

import msgspec

from gapbook.errors import ClientError
from gapbook.record.fields import Amount, Count
from gapbook.record.histograms import decode_histogram
from gapbook.record.schema import Flawed, one_line

__all__ = ["checked_event", "checked_report"]

FailureClass: TypeAlias = Annotated[str, msgspec.Meta(pattern="^(insufficient|error|timeout)$")]
_RELATIVE = 1e-9
_BIN_S = 0.1
_BINS_PER_SECOND = 10
_EDGE_S = 1e-6
_MOST_CHARACTERS = 300


class _Client(msgspec.Struct):
    name: str
    language: str
    version: str
    build_id: str | None


class _Failed(msgspec.Struct, forbid_unknown_fields=True):
    insufficient: Count
    error: Count
    timeout: Count


class _Window(msgspec.Struct):
    acknowledged: Count
    goodput_per_s: Amount
    completed: Count
    mean_in_flight: Amount
    mean_service_time_s: Amount | None
    cpu_user_s: Amount
    cpu_system_s: Amount


class _Connection(msgspec.Struct):
    connection: Count
    issued: Count
    failed: list[tuple[Count, FailureClass]]
    in_doubt: list[Count]
    retried: list[Count]

    def problem(self) -> str | None:
        """What cannot be of the operations that it lists, or None."""
        left_out = [index for index, _ in self.failed] + self.in_doubt
        if len(set(left_out)) != len(left_out) or len(set(self.retried)) != len(self.retried):
            return "lists an operation twice"
        if max(left_out + self.retried, default=-1) >= self.issued:
            return f"lists an operation that is none of the {self.issued} it issued"
        return None


class _Report(msgspec.Struct):
    client: _Client
    started_unix_s: Amount
    warmup_s: Amount
    window_s: Amount
    drained_s: Amount
    attempted: Count
    acknowledged: Count
    retried: Count
    in_doubt: Count
    failed: _Failed
    first_error: str | None
    lost_connections: Count
    window: _Window
    connections: list[_Connection]
    per_second: list[Count]
    per_100ms: list[Count]
    service_time_ns: str
    response_time_ns: str
    cpu_user_s: Amount
    cpu_system_s: Amount
    peak_memory_bytes: Count | None
    flawed: Flawed = msgspec.field(default_factory=Flawed)
    engine: dict[str, str] = msgspec.field(default_factory=dict)
    agreed: dict[str, str] = msgspec.field(default_factory=dict)


class _Progress(msgspec.Struct):
    elapsed_s: Amount
    acknowledged: Count


def checked_report(output: bytes, told: Mapping[str, Any], *, contract: int) -> dict[str, Any]:
    """The report that a client wrote after it was ``told`` its configuration.

    Raises ClientError with what is wrong in one line, for the caller to name the client.
    """
    try:
        report = json.loads(output)
        stated = report.get("contract") if isinstance(report, dict) else None
        if type(stated) is not int or stated != contract:
            raise ClientError(f"its report is not of contract {contract}")
        typed = msgspec.convert(report, _Report)
    except (msgspec.ValidationError, OverflowError) as error:
        raise ClientError(f"its report is not as the contract has it: {one_line(error)}") from error
    except (ValueError, RecursionError) as error:
        raise ClientError(f"its report is not JSON ({one_line(error)})") from error
    problems = [
        *_off_configuration(typed, told),
        *_off_connections(typed, told),
        *_off_window(typed, told),
        *_off_series(typed),
        *_off_histograms(typed),
    ]
    if problems:
        raise ClientError(f"its report contradicts itself or its configuration: {problems[0]}")
    return dict(report)


def checked_event(line: bytes) -> dict[str, Any]:
    """One line of a client's standard error; what is no JSON is told as an error of the client.

    Raises ClientError for a progress line without its counts.
    """
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return {"event": "error", "message": line.decode(errors="replace").strip()[:_MOST_CHARACTERS]}
    if not isinstance(event, dict):
        return {}
    if event.get("event") == "progress":
        try:
            msgspec.convert(event, _Progress)
        except (msgspec.ValidationError, OverflowError) as error:
            raise ClientError(f"its progress is not as the contract has it: {one_line(error)}") from error
    return event


def _off_configuration(report: _Report, told: Mapping[str, Any]) -> list[str]:
    stated = {"warmup_s": report.warmup_s, "window_s": report.window_s}
    off = [
        f"{name} is {value:g}, configured {told[name]:g}"
        for name, value in stated.items()
        if value != told[name]
    ]
    asked = sorted(flaw["name"] for flaw in told.get("flaws", ()))
    if asked != sorted(report.flawed.names()):
        off.append(f"flawed holds {report.flawed.names() or 'nothing'}, asked for {asked or 'nothing'}")
    return off


def _off_connections(report: _Report, told: Mapping[str, Any]) -> list[str]:
    """Counts of the whole trial that do not follow from what is listed of each connection."""
    rows = report.connections
    first = told.get("first_connection", 0)
    if [row.connection for row in rows] != list(range(first, first + told["connections"])):
        return [f"it lists {len(rows)} connections, configured {told['connections']} from number {first} on"]
    if strange := [f"connection {row.connection} {problem}" for row in rows if (problem := row.problem())]:
        return strange
    classes = Counter(name for row in rows for _, name in row.failed)
    failed = sum(len(row.failed) for row in rows)
    in_doubt = sum(len(row.in_doubt) for row in rows)
    issued = sum(row.issued for row in rows)
    counts = {
        "attempted": (report.attempted, issued),
        "acknowledged": (report.acknowledged, issued - failed - in_doubt),
        "in_doubt": (report.in_doubt, in_doubt),
        **{
            f"failed.{name}": (count, classes[name])
            for name, count in msgspec.structs.asdict(report.failed).items()
        },
    }
    off = [
        f"{name} is {stated:,}, its connections make {listed:,}"
        for name, (stated, listed) in counts.items()
        if stated != listed
    ]
    if (least := sum(len(row.retried) for row in rows)) > report.retried:
        off.append(f"retried is {report.retried:,}, its connections list {least:,}")
    if report.lost_connections > len(rows):
        off.append(f"lost_connections is {report.lost_connections} of {len(rows)}")
    return off


def _off_window(report: _Report, told: Mapping[str, Any]) -> list[str]:
    window = report.window
    off = [
        f"{smaller} is {less:,}, above {larger}, {more:,}"
        for smaller, less, larger, more in (
            ("window.acknowledged", window.acknowledged, "acknowledged", report.acknowledged),
            ("window.acknowledged", window.acknowledged, "window.completed", window.completed),
            ("window.completed", window.completed, "attempted", report.attempted),
        )
        if less > more
    ]
    rate_per_s = window.acknowledged / told["window_s"]
    if not math.isclose(window.goodput_per_s, rate_per_s, rel_tol=_RELATIVE):
        off.append(f"window.goodput_per_s is {window.goodput_per_s:g}, its counts make {rate_per_s:g}")
    if (window.mean_service_time_s is None) != (window.completed == 0):
        off.append(f"window.mean_service_time_s does not fit {window.completed:,} completed")
    most_in_flight = told["connections"] * told["in_flight"]
    if window.mean_in_flight > most_in_flight * (1 + _RELATIVE):
        off.append(f"window.mean_in_flight is {window.mean_in_flight:g}, at most {most_in_flight} can be")
    return off


def _off_series(report: _Report) -> list[str]:
    """Series that do not add up to the counts: of the trial, and of the window, to the bins at its edges."""
    off = [
        f"{name} adds up to {sum(series):,}, acknowledged is {report.acknowledged:,}"
        for name, series in (("per_second", report.per_second), ("per_100ms", report.per_100ms))
        if sum(series) != report.acknowledged
    ]
    tenths = report.per_100ms
    starts = range(0, len(tenths), _BINS_PER_SECOND)
    if report.per_second != [sum(tenths[start : start + _BINS_PER_SECOND]) for start in starts]:
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


def _off_histograms(report: _Report) -> list[str]:
    """Each histogram holds every request that is goodput, once."""
    held = {
        name: decode_histogram(text).get_total_count()
        for name, text in (
            ("service_time_ns", report.service_time_ns),
            ("response_time_ns", report.response_time_ns),
        )
    }
    return [
        f"{name} holds {count:,} times, window.acknowledged is {report.window.acknowledged:,}"
        for name, count in held.items()
        if count != report.window.acknowledged
    ]
