"""One load split over hosts does the very work of the whole, and its reports add up to the one that one host would
have made."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from hdrh.histogram import HdrHistogram

from gapbook.errors import ClientError, ParameterError
from gapbook.load.configuration import LoadConfiguration
from gapbook.load.merged import merged, written
from gapbook.load.report import checked_report
from gapbook.load.split import share_sizes, split
from gapbook.model.report import Connection, Report
from gapbook.record.histograms import added_histograms, decode_histogram

_WARMUP_S, _WINDOW_S = 0.3, 1.4
_KINDS, _REFUSALS = ("increment", "message"), ("insufficient", "error", "timeout")


def _configuration(connections: int, **more: Any) -> LoadConfiguration:
    told: dict[str, Any] = {
        "contract": 2,
        "endpoint": {"protocol": "postgres", "host": "127.0.0.1", "port": 5432},
        "workload": {"name": "counter-and-messages", "seed": 1, "parameters": {}, "files": {}},
        "connections": connections,
        "in_flight": 4,
        "loop": {"kind": "closed"},
        "threads": 1,
        "warmup_s": _WARMUP_S,
        "window_s": _WINDOW_S,
        "drain_s": 1.0,
        "request_timeout_s": 1.0,
        **more,
    }
    whole: LoadConfiguration = msgspec.convert(told, LoadConfiguration)
    return whole


# --- split ------------------------------------------------------------------------------------
@pytest.mark.parametrize(("connections", "hosts"), [(1, 1), (5, 2), (50, 3), (7, 7), (1000, 9)])
def test_shares_are_the_connections_of_the_whole_each_once(connections: int, hosts: int) -> None:
    whole = _configuration(connections, first_connection=7)
    shares = split(whole, hosts)
    numbers = [
        number
        for share in shares
        for number in range(share["first_connection"], share["first_connection"] + share["connections"])
    ]
    assert numbers == list(range(7, 7 + connections))
    sizes = [share["connections"] for share in shares]
    assert sizes == share_sizes(connections, hosts)
    assert max(sizes) - min(sizes) <= 1
    own = {"connections", "first_connection"}
    assert all(
        {k: v for k, v in share.items() if k not in own} == {k: v for k, v in whole.items() if k not in own}
        for share in shares
    )


def test_what_cannot_be_split_is_refused_with_what_is_allowed() -> None:
    for whole, words in (
        (
            _configuration(2),
            "connections: 2 cannot be split over 3 load hosts; allowed: one for each at least",
        ),
        (
            _configuration(9, loop={"kind": "open", "rate_per_s": 5.0}),
            "rate_per_s: .*; allowed: a closed one",
        ),
        (_configuration(9, flaws=[{"name": "status-unread"}]), "flaws: .*; allowed: none"),
    ):
        with pytest.raises(ParameterError, match=f"^{words}$"):
            split(whole, 3)


# --- merge ------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Ended:
    """One operation as it came about: when it was handed over and when it ended, in ns of the clock."""

    connection: int
    index: int
    kind: str
    verdict: str
    start_ns: int
    end_ns: int
    retries: int


def _drawn(draw: random.Random, connections: Sequence[int]) -> list[_Ended]:
    ended = []
    for connection in connections:
        at_ns = 0
        for index in range(draw.randrange(40)):
            start_ns = at_ns
            at_ns += draw.randrange(2_000, 120_000_000)
            verdict = draw.choices(("done", *_REFUSALS, "in doubt"), (90, 4, 3, 1, 2))[0]
            retries = draw.choices((0, draw.randrange(1, 4)), (9, 1))[0]
            kind = draw.choice(_KINDS)
            ended.append(_Ended(connection, index, kind, verdict, start_ns, at_ns, retries))
    return ended


def _encoded(values_ns: Sequence[int]) -> str:
    histogram = HdrHistogram(1_000, 600_000_000_000, 3)
    for value_ns in values_ns:
        histogram.record_value(value_ns)
    return str(histogram.encode().decode())


def _reported(ended: Sequence[_Ended], connections: Sequence[int], **said: Any) -> Report:
    """What one client says that made these operations on these connections."""
    start_ns, end_ns = int(_WARMUP_S * 1e9), int((_WARMUP_S + _WINDOW_S) * 1e9)
    inside = [one for one in ended if one.verdict != "in doubt" and start_ns <= one.end_ns <= end_ns]
    done = [one for one in ended if one.verdict == "done"]
    bins = Counter(one.end_ns // 100_000_000 for one in done)
    tenths = [bins[place] for place in range(max(bins, default=-1) + 1)]

    def kind_of(several: Sequence[_Ended]) -> dict[str, Any]:
        good = [one for one in several if one in inside and one.verdict == "done"]
        times = _encoded([one.end_ns - one.start_ns for one in good])
        verdicts = Counter(one.verdict for one in several)
        return {
            "attempted": len(several),
            "acknowledged": verdicts["done"],
            "in_doubt": verdicts["in doubt"],
            "failed": {name: verdicts[name] for name in _REFUSALS},
            "window": {"acknowledged": len(good), "completed": sum(one in inside for one in several)},
            "service_time_ns": times,
            "response_time_ns": times,
        }

    total = kind_of(ended)
    served_s = sum(one.end_ns - one.start_ns for one in inside) / 1e9
    out_ns = sum(max(0, min(one.end_ns, end_ns) - max(one.start_ns, start_ns)) for one in ended)
    window = {
        **total["window"],
        "goodput_per_s": total["window"]["acknowledged"] / _WINDOW_S,
        "mean_in_flight": out_ns / 1e9 / _WINDOW_S,
        "mean_service_time_s": served_s / len(inside) if inside else None,
        "cpu_user_s": 0.25 * len(connections),
        "cpu_system_s": 0.5 * len(connections),
    }
    rows = [
        {
            "connection": number,
            "issued": len(own),
            "failed": [[one.index, one.verdict] for one in own if one.verdict in _REFUSALS],
            "in_doubt": [one.index for one in own if one.verdict == "in doubt"],
            "retried": [one.index for one in own if one.retries],
        }
        for number in connections
        for own in [[one for one in ended if one.connection == number]]
    ]
    told = {
        **total,
        "client": {"name": "made-up", "language": "rust", "version": "1", "build_id": "b"},
        "warmup_s": _WARMUP_S,
        "window_s": _WINDOW_S,
        "drained_s": 0.5,
        "retried": sum(one.retries for one in ended),
        "first_error": None,
        "lost_connections": sum(bool(row["in_doubt"]) for row in rows),
        "window": window,
        "kinds": {name: kind_of([one for one in ended if one.kind == name]) for name in _KINDS},
        "connections": rows,
        "per_second": [sum(tenths[place : place + 10]) for place in range(0, len(tenths), 10)],
        "per_100ms": tenths,
        "cpu_user_s": 1.0 * len(connections),
        "cpu_system_s": 2.0 * len(connections),
        "peak_memory_bytes": 1000 * len(connections),
        "agreed": {"protocol": "v3"},
        **said,
    }
    return msgspec.convert(told, Report)


def _counts(encoded: str) -> dict[int, int]:
    histogram = decode_histogram(encoded)
    return {
        index: count
        for index in range(histogram.counts_len)
        if (count := histogram.get_count_at_index(index))
    }


@pytest.mark.parametrize("seed", range(12))
def test_the_reports_of_many_hosts_are_the_one_that_one_host_would_have_made(seed: int) -> None:
    draw = random.Random(seed)
    hosts = draw.randrange(1, 6)
    whole = _configuration(draw.randrange(hosts, 3 * hosts + 2))
    ended = _drawn(draw, range(whole["connections"]))
    shares = split(whole, hosts)
    parts = []
    for share in shares:
        own = range(share["first_connection"], share["first_connection"] + share["connections"])
        part = _reported([one for one in ended if one.connection in own], own)
        # Each host's own report is one that the harness takes.
        parts.append(checked_report(written(part, 1.0), share))
    found = merged(parts)
    expected = _reported(ended, range(whole["connections"]))
    for name in (*expected.kinds, None):
        one, other = (report if name is None else report.kinds[name] for report in (found, expected))
        for times in ("service_time_ns", "response_time_ns"):
            assert _counts(getattr(one, times)) == _counts(getattr(other, times)), (name, times)
    assert _told(found) == _told(expected)
    assert found.window.mean_in_flight == pytest.approx(expected.window.mean_in_flight)
    assert found.window.mean_service_time_s == pytest.approx(expected.window.mean_service_time_s)
    # And it is one that the harness takes of the whole, to the last byte.
    assert checked_report(written(found, 1.0), whole) == found


def _told(report: Report) -> dict[str, Any]:
    """All of a report but its histograms, and what sums of floats make in another order."""
    told: dict[str, Any] = msgspec.to_builtins(report)
    for one in (told, *told["kinds"].values()):
        del one["service_time_ns"], one["response_time_ns"]
    del told["window"]["mean_in_flight"], told["window"]["mean_service_time_s"]
    return told


def test_connections_that_count_alone_are_merged_as_such() -> None:
    whole = _configuration(4)
    parts = []
    for share in split(whole, 2):
        own = range(share["first_connection"], share["first_connection"] + 2)
        ended = [one for one in _drawn(random.Random(own[0]), own) if one.verdict == "done"]
        kinds = {number: Counter(one.kind for one in ended if one.connection == number) for number in own}
        rows = [
            Connection(number, sum(counts.values()), counts=dict(counts)) for number, counts in kinds.items()
        ]
        part = msgspec.structs.replace(_reported(ended, own), connections=rows)
        parts.append(checked_report(written(part, 1.0), share))
    found = merged(parts)
    assert [row.counts for row in found.connections] == [
        row.counts for one in parts for row in one.connections
    ]
    assert checked_report(written(found, 1.0), whole) == found


def test_histograms_are_added_to_the_last_count() -> None:
    draw = random.Random(3)
    values = [[int(draw.lognormvariate(13, 2)) + 1_000 for _ in range(5_000)] for _ in range(4)]
    total = added_histograms([_encoded(one) for one in values])
    assert _counts(total) == _counts(_encoded([value for one in values for value in one]))
    assert decode_histogram(total).get_total_count() == 20_000
    assert added_histograms([total])
    assert _counts(added_histograms([total])) == _counts(total)


def test_histograms_that_count_in_other_steps_are_refused() -> None:
    other = str(HdrHistogram(1_000, 600_000_000_000, 2).encode().decode())
    with pytest.raises(ClientError, match=r"counts in steps of \(1000, 600000000000, 2\), another in"):
        added_histograms([_encoded([5_000]), other])


def test_reports_of_different_loads_are_refused_by_what_differs() -> None:
    one = _reported([], [0])
    for name, value in (
        ("window_s", 2.0),
        ("agreed", {"protocol": "v2"}),
        ("kinds", {"message": one.kinds["message"]}),
        ("client", msgspec.structs.replace(one.client, version="2")),
    ):
        other = msgspec.structs.replace(one, **{name: value})
        with pytest.raises(ClientError, match=f"^the load hosts disagree on {name}: "):
            merged([one, other])


def test_one_program_of_two_builds_has_no_build() -> None:
    one = _reported([], [0])
    other = msgspec.structs.replace(
        _reported([], [1]), client=msgspec.structs.replace(one.client, build_id="c")
    )
    assert merged([one, one]).client.build_id == "b"
    assert merged([one, other]).client.build_id is None
