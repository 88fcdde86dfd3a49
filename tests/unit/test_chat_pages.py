"""What the pages of the chat show: a fixed amount of work, what a server takes, and times that others noted."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from gapbook.errors import ParameterError
from gapbook.method.findings import Findings
from gapbook.pages.exhibits.fixed_work import fixed_work_table, seconds_to
from gapbook.pages.exhibits.footprint import footprint_table
from gapbook.pages.exhibits.rates import goodput_table
from gapbook.pages.exhibits.watched import moments_of, watched_table
from gapbook.pages.gloss import gloss_of
from gapbook.pages.published.times import absent_table, published_ratio, published_times_table
from gapbook.pages.who import Rows, who_table
from gapbook.record.scenario import RecordedTreatment
from tests.unit import stored_runs as runs


@pytest.mark.parametrize(
    ("amount", "counts", "seconds"),
    [
        (10, [10], 0.1),
        (5, [10], 0.05),
        (15, [10, 10], 0.15),
        (11, [10, 0, 0, 4], 0.325),
        (21, [10, 10], None),
        (1, [], None),
    ],
)
def test_an_amount_is_reached_within_a_tenth_of_a_second(
    amount: int, counts: list[int], seconds: float | None
) -> None:
    assert seconds_to(amount, counts) == (None if seconds is None else pytest.approx(seconds))


@pytest.fixture(scope="module", name="shown")
def _shown(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    rows = [runs.valid(planned) for planned in runs.planned_trials(3)]
    return Findings(runs.store(tmp_path_factory.mktemp("chat") / runs.CHAPTER, rows), runs.CHAPTER)


def _labelled(shown: Findings) -> Rows:
    """Every contestant with words for its row."""
    return [(f"what {contestant.name} is", contestant) for contestant in shown.scenario.contestants]


def test_an_amount_that_no_load_reaches_is_said(shown: Findings) -> None:
    table = str(fixed_work_table(shown, _labelled(shown), [10**9]))
    assert "not reached in this load" in table
    assert "first 1,000,000,000 transfers" in table
    assert all(label in table for label, _ in _labelled(shown))


def test_what_a_server_takes_is_told_for_each_contestant(shown: Findings) -> None:
    table = str(footprint_table(shown, _labelled(shown)))
    assert all(label in table for label, _ in _labelled(shown))
    assert "memory of the server" in table


def test_a_share_of_reads_is_said_in_words(shown: Findings) -> None:
    treatment = RecordedTreatment("read_share", "reads", "", [0.0, 0.25, 1.0])
    assert gloss_of(msgspec.structs.replace(shown.scenario, treatment=treatment)) == (
        "reads = 0 means that every operation stores a message; "
        "reads = 0.25 means that 25 % of the operations read a message and the others store one; "
        "reads = 1 means that every operation reads a message."
    )


def test_a_rate_is_called_what_its_row_is(shown: Findings) -> None:
    (label, first), (_, second), *_ = _labelled(shown)
    table = str(goodput_table(shown, first.name, second.name, labels={first.name: label}))
    assert f"{label}, α = 0" in table
    assert f"<td>{second.name}, α = 0" in table


def test_a_short_name_stands_beside_what_it_means_and_what_an_acknowledgement_promises(
    shown: Findings,
) -> None:
    table = str(who_table(shown, _labelled(shown)))
    for label, contestant in _labelled(shown):
        (row,) = [row for row in table.split("<tr>") if f"<td>{contestant.name}</td>" in row]
        assert label in row
        assert "delayed(500 ms)" in row


def test_a_published_ratio_is_one_of_two_clients() -> None:
    table = str(published_times_table("trailbase", "post", fastest="TrailBase"))
    (payload,) = [row for row in table.split("<tr>") if "Payload, write-ahead log" in row]
    # By TrailBase's time with any client, then by that with the same one.
    assert f"×{647.907 / 9.424714:.1f}" in payload
    assert f"×{647.907 / 24.835:.1f}" in payload
    one_client = {"over": "TrailBase", "under": "Payload, write-ahead log", "client": "TypeScript"}
    assert published_ratio("trailbase", "post", **one_client) == f"{647.907 / 24.835:.1f}"
    assert "Supabase" in table
    assert "not measured here" in str(absent_table("trailbase"))


def test_a_system_that_is_not_noted_is_refused() -> None:
    with pytest.raises(ParameterError, match="'Oracle' has none of 'post'"):
        published_times_table("trailbase", "post", fastest="Oracle")
    with pytest.raises(
        ParameterError, match="'Payload, write-ahead log' has none of 'post' with a client in Dart"
    ):
        published_ratio(
            "trailbase", "post", over="TrailBase", under="Payload, write-ahead log", client="Dart"
        )


def test_noted_times_name_files_of_the_repository() -> None:
    text = (Path(__file__).parents[2] / "book" / "trailbase-times.toml").read_text(encoding="utf-8")
    assert text.count("[[time]]") == text.count('file = "benchmarks/')


# --- over the time of a load ------------------------------------------------------------------
_MIB = 2**20


def _watched(*read: tuple[float, float | None, int | None]) -> str:
    return json.dumps(
        [{"elapsed_s": at, "cpu_s": cpu_s, "memory_bytes": memory} for at, cpu_s, memory in read]
    )


def test_cores_are_what_was_used_since_the_moment_before() -> None:
    told = moments_of({"watched": _watched((1.0, 0.5, _MIB), (2.0, 2.0, 2 * _MIB), (4.0, 3.0, 5 * _MIB))})
    assert [(one.elapsed_s, one.cores, one.memory_mib) for one in told] == [(2.0, 1.5, 2.0), (4.0, 0.5, 5.0)]


@pytest.mark.parametrize(
    "text", [None, "[]", _watched((1.0, 0.5, _MIB)), _watched((1.0, None, None), (2.0, 1.0, None))]
)
def test_what_was_not_watched_or_cannot_be_read_tells_nothing(text: str | None) -> None:
    assert moments_of({"watched": text}) == []


def test_a_watched_contestant_is_in_the_table_and_another_is_said_not_to_be(
    tmp_path_factory: pytest.TempPathFactory, shown: Findings
) -> None:
    every = _labelled(shown)
    (_, first), *_ = every
    assert "not watched" in str(watched_table(shown, every))
    told = [{"elapsed_s": float(at), "cpu_s": 1.5 * at, "memory_bytes": 64 * _MIB} for at in range(1, 9)]
    rows = [
        runs.valid(planned, watched=told if planned.contestant == first.name else [])
        for planned in runs.planned_trials(3)
    ]
    found = Findings(runs.store(tmp_path_factory.mktemp("watched") / runs.CHAPTER, rows), runs.CHAPTER)
    table = str(watched_table(found, every))
    assert "1.50" in table
    assert "64 MiB" in table
