"""A client is not believed: each count that does not follow from the others refuses its report."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hdrh.histogram import HdrHistogram

from gapbook.errors import ClientError
from gapbook.load.event import checked_event
from gapbook.load.report import checked_report
from gapbook.model.event import Event, Progress
from gapbook.model.report import Report

_TOLD = {"connections": 2, "in_flight": 4, "warmup_s": 0.2, "window_s": 0.5}
_PER_100MS = [10, 20, 30, 30, 30, 30, 30, 5]
_IN_WINDOW = 150

Forge = Callable[[dict[str, Any]], object]


def _histogram(count: int) -> str:
    histogram = HdrHistogram(1_000, 600_000_000_000, 3)
    histogram.record_value(2_000_000, count)
    return str(histogram.encode().decode())


def _kind(
    attempted: int, acknowledged: int, in_window: int, failed: dict[str, int], *, in_doubt: int
) -> dict[str, Any]:
    return {
        "attempted": attempted,
        "acknowledged": acknowledged,
        "failed": failed,
        "in_doubt": in_doubt,
        "window": {"acknowledged": in_window, "completed": in_window + (attempted > acknowledged) * 2},
        "service_time_ns": _histogram(in_window),
        "response_time_ns": _histogram(in_window),
    }


@pytest.fixture(name="report")
def _report() -> dict[str, Any]:
    """185 acknowledged of 188: one insufficient, one error, one in doubt."""
    return {
        "contract": 2,
        "client": {"name": "gap", "language": "rust", "version": "1", "build_id": None},
        "started_unix_s": 1.0,
        "warmup_s": 0.2,
        "window_s": 0.5,
        "drained_s": 0.01,
        "attempted": 188,
        "acknowledged": 185,
        "retried": 3,
        "in_doubt": 1,
        "failed": {"insufficient": 1, "error": 1, "timeout": 0},
        "first_error": "deadlock",
        "lost_connections": 0,
        "window": {
            "acknowledged": _IN_WINDOW,
            "goodput_per_s": _IN_WINDOW / 0.5,
            "completed": _IN_WINDOW + 2,
            "mean_in_flight": 7.9,
            "mean_service_time_s": 0.026,
            "cpu_user_s": 0.1,
            "cpu_system_s": 0.1,
        },
        "kinds": {
            "deposit": _kind(100, 97, 80, {"insufficient": 1, "error": 1, "timeout": 0}, in_doubt=1),
            "transfer": _kind(88, 88, 70, {"insufficient": 0, "error": 0, "timeout": 0}, in_doubt=0),
        },
        "connections": [
            {
                "connection": 0,
                "issued": 100,
                "failed": [[17, "insufficient"]],
                "in_doubt": [99],
                "retried": [17],
            },
            {"connection": 1, "issued": 88, "failed": [[3, "error"]], "in_doubt": [], "retried": [3]},
        ],
        "per_second": [185],
        "per_100ms": list(_PER_100MS),
        "service_time_ns": _histogram(_IN_WINDOW),
        "response_time_ns": _histogram(_IN_WINDOW),
        "cpu_user_s": 0.2,
        "cpu_system_s": 0.2,
        "peak_memory_bytes": None,
    }


def _check(report: Any, **told: Any) -> Report:
    return checked_report(json.dumps(report).encode(), {**_TOLD, **told})


def test_an_honest_report_is_taken_as_it_is(report: dict[str, Any]) -> None:
    checked = msgspec.to_builtins(_check(report))
    read = {name: value for name, value in report.items() if name in checked}
    assert {*report} - {*read} == {"contract", "started_unix_s"}
    rows = checked.pop("connections")
    assert [
        {name: row[name] for name in told} for row, told in zip(rows, read.pop("connections"), strict=True)
    ] == [{**told, "failed": [tuple(entry) for entry in told["failed"]]} for told in report["connections"]]
    assert {name: checked[name] for name in read} == read


def test_a_report_of_a_window_without_an_answer_is_taken(report: dict[str, Any]) -> None:
    window = {"acknowledged": 0, "goodput_per_s": 0.0, "completed": 0, "mean_service_time_s": None}
    report["window"] |= window
    for kind in report["kinds"].values():
        kind["window"] = {"acknowledged": 0, "completed": 0}
        kind["service_time_ns"] = kind["response_time_ns"] = _histogram(0)
    report |= {"per_100ms": [185], "service_time_ns": _histogram(0), "response_time_ns": _histogram(0)}
    checked = msgspec.to_builtins(_check(report))
    read = {name: value for name, value in report.items() if name in checked}
    assert {*report} - {*read} == {"contract", "started_unix_s"}
    rows = checked.pop("connections")
    assert [
        {name: row[name] for name in told} for row, told in zip(rows, read.pop("connections"), strict=True)
    ] == [{**told, "failed": [tuple(entry) for entry in told["failed"]]} for told in report["connections"]]
    assert {name: checked[name] for name in read} == read


def _scale(report: dict[str, Any], factor: int) -> None:
    """Every number of goodput at once, as one who forges with care would."""
    report["acknowledged"] *= factor
    report["attempted"] = report["acknowledged"] + 3
    report["window"]["acknowledged"] *= factor
    report["window"]["completed"] *= factor
    report["window"]["goodput_per_s"] *= factor
    report["per_second"] = [count * factor for count in report["per_second"]]
    report["per_100ms"] = [count * factor for count in report["per_100ms"]]
    report["service_time_ns"] = report["response_time_ns"] = _histogram(_IN_WINDOW * factor)


@pytest.mark.parametrize(
    ("forge", "says"),
    [
        (
            lambda r: r["window"].update(goodput_per_s=3000.0),
            "window.goodput_per_s is 3000, its counts make 300",
        ),
        (lambda r: _scale(r, 10), "attempted is 1,853, its connections make 188"),
        (lambda r: r.update(acknowledged=10**9), "acknowledged is 1,000,000,000, its connections make 185"),
        (lambda r: r.update(attempted=189), "attempted is 189, its connections make 188"),
        (lambda r: r.update(in_doubt=0), "in_doubt is 0, its connections make 1"),
        (
            lambda r: r["failed"].update(insufficient=0, error=2),
            "failed.insufficient is 0, its connections make 1",
        ),
        (lambda r: r["failed"].update(timeout=1), "failed.timeout is 1, its connections make 0"),
        (lambda r: r.update(retried=1), "retried is 1, its connections list 2"),
        (lambda r: r.update(lost_connections=3), "lost_connections is 3 of 2"),
        (lambda r: r.update(window_s=0.05), "window_s is 0.05, configured 0.5"),
        (lambda r: r.update(warmup_s=0.1), "warmup_s is 0.1, configured 0.2"),
        (lambda r: r["connections"].pop(), "it lists 1 connections, configured 2 from number 0 on"),
        (lambda r: r["connections"][1].update(connection=0), "it lists 2 connections"),
        (lambda r: r["connections"][1].update(issued=188), "attempted is 188, its connections make 288"),
        (lambda r: r["connections"][0].update(in_doubt=[17]), "connection 0 lists an operation twice"),
        (
            lambda r: r["connections"][1].update(failed=[[88, "error"]]),
            "connection 1 lists an operation that is none",
        ),
        (lambda r: r["window"].update(acknowledged=186, goodput_per_s=372.0), "above acknowledged, 185"),
        (
            lambda r: r["window"].update(completed=149),
            "window.acknowledged is 150, above window.completed, 149",
        ),
        (lambda r: r["window"].update(completed=189), "window.completed is 189, above attempted, 188"),
        (lambda r: r["window"].update(mean_in_flight=8.1), "window.mean_in_flight is 8.1, at most 8 can be"),
        (lambda r: r["window"].update(mean_service_time_s=None), "does not fit 152 completed"),
        (lambda r: r.update(per_second=[1850]), "per_second adds up to 1,850, acknowledged is 185"),
        (lambda r: r["per_100ms"].append(1), "per_100ms adds up to 186, acknowledged is 185"),
        (lambda r: r.update(per_second=[180, 5]), "per_second is not per_100ms by whole seconds"),
        (
            lambda r: r.update(per_100ms=[185], per_second=[185]),
            "window.acknowledged is 150, per_100ms has 0 to 0 there",
        ),
        (lambda r: r.update(service_time_ns=_histogram(151)), "service_time_ns holds 151 times"),
        (lambda r: r.update(response_time_ns=_histogram(15)), "response_time_ns holds 15 times"),
        (
            lambda r: r["kinds"]["transfer"].update(attempted=89, acknowledged=89),
            "attempted is 188, its kinds make 189",
        ),
        (lambda r: r["kinds"].pop("transfer"), "attempted is 188, its kinds make 100"),
        (
            lambda r: r["kinds"]["transfer"].update(attempted=87),
            "kinds.transfer.attempted is 87, their ends make 88",
        ),
        (
            lambda r: r["kinds"]["deposit"].update(failed={"insufficient": 2, "error": 0, "timeout": 0}),
            "failed.insufficient is 1, its kinds make 2",
        ),
        (
            lambda r: r["kinds"]["deposit"]["window"].update(acknowledged=79),
            "kinds.deposit.service_time_ns holds 80 times, kinds.deposit.window.acknowledged is 79",
        ),
        (
            lambda r: r["kinds"]["transfer"]["window"].update(completed=69),
            "kinds.transfer.window.acknowledged is 70, above kinds.transfer.window.completed, 69",
        ),
        (
            lambda r: r["connections"][0].update(failed=[[17, "asleep"]]),
            "failed.insufficient is 1, its connections make 0",
        ),
        (
            lambda r: r.update(flawed={"status-unread": {"transactions_per_s": 1.0}}),
            "flawed holds ['status-unread']",
        ),
    ],
)
def test_a_report_that_contradicts_itself_is_refused(report: dict[str, Any], forge: Forge, says: str) -> None:
    forge(report)
    with pytest.raises(ClientError) as caught:
        _check(report)
    assert str(caught.value).startswith("its report contradicts itself or its configuration: ")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def _count(report: dict[str, Any]) -> dict[str, Any]:
    """The same report from a client that counts only."""
    rows = [
        {"connection": 0, "issued": 101, "counts": {"deposit": 97}},
        {"connection": 1, "issued": 88, "counts": {"transfer": 88}},
    ]
    return {**report, "connections": rows}


def test_a_client_may_count_only(report: dict[str, Any]) -> None:
    counted = _count(report)
    rows = _check(counted).connections
    assert [(row.connection, row.issued, row.counts) for row in rows] == [
        (0, 101, {"deposit": 97}),
        (1, 88, {"transfer": 88}),
    ]


@pytest.mark.parametrize(
    ("forge", "says"),
    [
        (
            lambda r: r["connections"][0]["counts"].update(deposit=98),
            "kinds.deposit.acknowledged is 97, its connections make 98",
        ),
        (
            lambda r: r["connections"][1]["counts"].update(theft=1),
            "kinds.theft.acknowledged is 0, its connections make 1",
        ),
        (lambda r: r["connections"][0].update(issued=99), "attempted is 188, its connections issued 187"),
        (
            lambda r: r["connections"].__setitem__(
                1, {"connection": 1, "issued": 88, "failed": [], "in_doubt": [], "retried": []}
            ),
            "connection 1 has no counts, as others have",
        ),
    ],
)
def test_counts_that_contradict_the_kinds_are_refused(
    report: dict[str, Any], forge: Forge, says: str
) -> None:
    counted = _count(report)
    forge(counted)
    with pytest.raises(ClientError) as caught:
        _check(counted)
    assert says in str(caught.value)


def test_every_entry_of_a_long_list_is_checked(report: dict[str, Any]) -> None:
    """Of long lists the schema sees the beginning only."""
    report["connections"][1]["failed"] = [[index, "error"] for index in range(50)]
    report["connections"][1]["failed"][40] = [-1, "error"]
    with pytest.raises(ClientError, match="its report is not as the contract has it"):
        _check(report)


def test_what_was_asked_for_is_reported(report: dict[str, Any]) -> None:
    with pytest.raises(ClientError, match=r"flawed holds nothing, asked for \['status-unread'\]"):
        _check(report, flaws=[{"name": "status-unread"}])
    report["flawed"] = {"status-unread": {"transactions_per_s": 300.0, "transactions": 1}}
    assert _check(report, flaws=[{"name": "status-unread"}])


def _fields(holder: Any) -> list[tuple[Any, Any]]:
    """Every place in a report, as what holds it and its key."""
    keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
    within = [pair for key in keys if isinstance(holder[key], dict | list) for pair in _fields(holder[key])]
    return [(holder, key) for key in keys] + within


@pytest.mark.parametrize("value", [True, -1, {}, [[[]]], math.nan, math.inf, 10**30], ids=repr)
def test_no_field_takes_another_type_or_a_value_out_of_range(report: dict[str, Any], value: Any) -> None:
    for holder, key in _fields(report):
        kept = holder[key]
        holder[key] = value
        with pytest.raises(ClientError) as caught:
            _check(report)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 400
        holder[key] = kept
    checked = msgspec.to_builtins(_check(report))
    read = {name: value for name, value in report.items() if name in checked}
    assert {*report} - {*read} == {"contract", "started_unix_s"}
    rows = checked.pop("connections")
    assert [
        {name: row[name] for name in told} for row, told in zip(rows, read.pop("connections"), strict=True)
    ] == [{**told, "failed": [tuple(entry) for entry in told["failed"]]} for told in report["connections"]]
    assert {name: checked[name] for name in read} == read


@pytest.mark.parametrize("value", [None, 0, 1.5, "12", "\ud800", "x" * 5_000, [], [1]], ids=repr)
def test_what_a_field_may_hold_elsewhere_is_refused_in_one_line_or_taken(
    report: dict[str, Any], value: Any
) -> None:
    refused = []
    for holder, key in _fields(report):
        kept = holder[key]
        holder[key] = value
        try:
            _check(report)
        except ClientError as error:
            refused.append(str(error))
        holder[key] = kept
    assert len(refused) > 20
    assert all("\n" not in line and len(line) < 400 for line in refused)


@pytest.mark.parametrize(
    "output", [b"", b"nonsense", b"[]", b"{}", b"null", b"\xff", b"[" * 100_000, b"1" * 9_000]
)
def test_what_is_no_report_is_refused(output: bytes) -> None:
    with pytest.raises(ClientError, match=r"^its report is not (JSON|of contract 2)") as caught:
        checked_report(output, _TOLD)
    assert "\n" not in str(caught.value)


def test_progress_without_its_counts_is_refused() -> None:
    told = checked_event(b'{"event":"progress","elapsed_s":1.0,"acknowledged":3}')
    assert told == Progress(elapsed_s=1.0, acknowledged=3)
    assert checked_event(b"panic!") == Event("error", "panic!")
    assert checked_event(b"[]") == Event()
    for line in (b'{"event":"progress"}', b'{"event":"progress","elapsed_s":"1","acknowledged":3}'):
        with pytest.raises(ClientError, match="its progress is not as the contract has it"):
            checked_event(line)
