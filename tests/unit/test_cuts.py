"""What power cuts showed: rows of the record, verdicts by class, tables, sentences and the chart."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gapbook import charts
from gapbook.errors import RecordError
from gapbook.method.findings import Findings
from gapbook.method.interval import Interval
from gapbook.pages.losses.cuts import cut_values, cuts_table, faults_table, losses_chart, price_table
from gapbook.record.cuts import FAULTS, CutCheck, Left, cut_verdict, loss_window_s, observed_cuts
from gapbook.record.durability import Durability
from gapbook.record.losses import BROKEN
from gapbook.trial.cut_check import cut_after_fault_s, fault_of
from gapbook.trial.cut_outcome import CutOutcome, rate_per_s
from gapbook.trial.kill_outcome import KillOutcome
from gapbook.trial.struck_load import UNEXPLAINED
from tests.unit import chart_inputs as inputs
from tests.unit import stored_runs as runs

_FSYNC, _NONE = Durability("fsync-per-commit"), Durability("none")
_DELAYED = Durability("delayed", 500.0)


def cut(contestant: str, number: int = 0, durability: Durability = _DELAYED, **found: Any) -> dict[str, Any]:
    """A row as a check makes it; without more, of a cut that took nothing."""
    outcome = CutOutcome(
        **{
            "left": "whole",
            "acknowledged": 9000,
            "lost": 0,
            "in_doubt": 4,
            "in_doubt_committed": 1,
            "refused": 0,
            "load_s": 1.0,
            "rate_per_s": 6000.0,
            "oldest_lost_s": 0.0,
            "recovered_in_s": 0.4,
            "written_bytes": 900_000,
            "fsyncs": 4500,
            "unsynced_bytes": 8192,
            "dropped_bytes": 8192,
            **found,
        }
    )
    check = outcome.as_check(contestant, durability, number, fault_of(number))
    return dict(msgspec.to_builtins(check))


def checks(*rows: dict[str, Any]) -> list[CutCheck]:
    """Rows as a run holds them."""
    return msgspec.convert(list(rows), list[CutCheck])


def test_a_row_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    rows = [
        cut("drizzle"),
        cut("drizzle", 1, lost=600, oldest_lost_s=0.1),
        cut("drizzle", 2, left="unreadable", lost=None, oldest_lost_s=None, note="ended with code 1"),
        cut("sql", left="unknown", acknowledged=None, lost=None, load_s=None, note="not mounted"),
    ]
    run = runs.store(tmp_path / runs.CHAPTER, runs.whole(), cuts=3, cut_checks=rows)
    assert (run.manifest.cuts, run.manifest.cut_checks) == (3, checks(*rows))


@pytest.mark.parametrize(
    "changed",
    [
        {"fault": "flood"},
        {"left": "half"},
        {"lost": -1},
        {"lost": None},
        {"resolved": False},
        {"durability": "x"},
    ],
    ids=str,
)
def test_a_row_that_cannot_be_is_refused_in_one_line(tmp_path: Path, changed: dict[str, Any]) -> None:
    with pytest.raises(RecordError, match=r"cut_checks|cut check") as refused:
        runs.store(tmp_path / runs.CHAPTER, runs.whole(), cuts=1, cut_checks=[cut("drizzle") | changed])
    assert "\n" not in str(refused.value)


def test_a_run_without_cuts_has_none_and_says_so(tmp_path: Path) -> None:
    run = runs.store(tmp_path / runs.CHAPTER, runs.whole())
    assert (run.manifest.cuts, run.manifest.cut_checks) == (0, [])
    found, levels = Findings(run, runs.CHAPTER), [("Drizzle", runs.DRIZZLE)]
    assert "cut no power" in cuts_table(found, levels).html
    assert "cut no power" in faults_table(found, levels).html
    assert losses_chart(found, levels).name == "missing"
    assert "Power cut" not in runs.answer_ratio(found, runs.PROCEDURE, runs.DRIZZLE).html


@pytest.mark.parametrize(
    ("durability", "left", "lost", "says"),
    [
        (_FSYNC, "unknown", None, "not resolved"),
        (_FSYNC, "whole", 0, "kept"),
        (_FSYNC, "whole", 1, BROKEN),
        (_NONE, "nothing", 9000, "lost 9,000 (within its class)"),
        (_DELAYED, "nothing", 9000, BROKEN),
        (_DELAYED, "inconsistent", None, BROKEN),
        (_DELAYED, "unreadable", None, BROKEN),
        (_NONE, "unreadable", None, "unreadable (within its class)"),
    ],
)
def test_only_the_class_none_allows_a_state_that_cannot_be(
    durability: Durability, left: Left, lost: int | None, says: str
) -> None:
    assert cut_verdict(durability, left, lost, 1.5, 1.5) == says


def test_a_verdict_is_that_of_the_counts_and_not_of_the_row() -> None:
    forged = cut("bank", durability=_FSYNC, lost=5, oldest_lost_s=0.1) | {"verdict": "kept"}
    observed = observed_cuts(checks(forged, cut("other", durability=_FSYNC)), "bank")
    assert (observed.cuts, observed.lossy, observed.refutes_declared) == (1, 1, True)


def test_a_cut_that_left_no_state_has_no_age() -> None:
    gone, whole = checks(cut("bank", left="inconsistent", lost=None, oldest_lost_s=None), cut("bank"))
    assert loss_window_s(gone) is None
    assert loss_window_s(whole) == 0.0
    assert loss_window_s(*checks(cut("bank", lost=60, oldest_lost_s=None))) == pytest.approx(0.01)
    assert observed_cuts([gone, whole], "bank")[:4] == (2, 0, 1, 0.0)


def test_what_a_server_did_not_do_after_a_fault_is_no_loss() -> None:
    power, fsync_error = (list(FAULTS).index(fault) for fault in ("power", "fsync-error"))
    assert loss_window_s(*checks(cut("bank", power, lost=60, oldest_lost_s=0.9))) == pytest.approx(0.9)
    assert loss_window_s(*checks(cut("bank", fsync_error, lost=60, oldest_lost_s=0.9))) == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("lost", "note", "impossible", "left"),
    [
        (3, None, None, "whole"),
        (9000, "nothing is left", None, "nothing"),
        (None, UNEXPLAINED, "the sum moved", "inconsistent"),
        # A search that finds no explanation is no proof that there is none.
        (None, UNEXPLAINED, None, "unknown"),
        (None, "no request was cut off", None, "unknown"),
    ],
)
def test_what_is_left_is_told_apart(
    lost: int | None, note: str | None, impossible: str | None, left: str
) -> None:
    outcome = CutOutcome()
    is_empty = left == "nothing"
    outcome.take_state(KillOutcome(lost=lost, note=note), is_empty=is_empty, impossible=impossible)
    assert (outcome.left, outcome.lost, outcome.note) == (left, lost, impossible or note)


def test_the_rate_is_that_between_warm_up_and_fault() -> None:
    assert rate_per_s([9, 9, 5, 5, 5, 0, 0], 0.2, 0.5) == pytest.approx(50.0)
    assert rate_per_s([9, 9, 5, 5, 5], 0.2, 0.2) is None


def test_a_server_that_stood_still_before_the_fault_was_as_slow_as_that() -> None:
    answered_until_1_3_s = [100] * 13
    assert rate_per_s(answered_until_1_3_s, 0.5, 1.9) == pytest.approx(800 / 1.4)
    assert rate_per_s([9, 9], 0.5, 1.0) == 0.0


def test_each_round_takes_the_next_fault() -> None:
    assert [fault_of(number) for number in (0, 5)] == ["power", "power"]
    assert len({fault_of(number) for number in range(5)}) == 5


def test_cuts_after_a_failed_fsync_meet_a_recovery_at_any_moment_and_a_clean_cut_comes_at_once() -> None:
    rounds = {fault_of(number): range(number, 100, 5) for number in range(5)}
    for fault, numbers in rounds.items():
        waits_s = [cut_after_fault_s(3110, number) for number in numbers]
        if fault in {"fsync-error", "disk-full"}:
            assert min(waits_s) < 0.5, fault
            assert max(waits_s) > 1.5, fault
            assert waits_s == [cut_after_fault_s(3110, number) for number in numbers]
        else:
            assert set(waits_s) == {0.0}, fault


def test_tables_tell_what_was_lost_how_often_and_what_was_not_seen(tmp_path: Path) -> None:
    rows = [
        *(cut("drizzle", number) for number in range(5)),
        cut("procedure", 0, lost=600, oldest_lost_s=0.1),
        cut("procedure", 1, left="unreadable", lost=None, oldest_lost_s=None, note="no start"),
        cut("procedure", 2, left="unknown", lost=None, acknowledged=None, note="client: ended with code 4"),
    ]
    run = runs.store(tmp_path / runs.CHAPTER, runs.whole(), cuts=5, cut_checks=rows)
    found = Findings(run, runs.CHAPTER)
    levels = [("Kept", runs.DRIZZLE), ("Lost", runs.PROCEDURE), ("Uncut", runs.SQL)]
    text = html.unescape(cuts_table(found, levels).html)
    assert "nothing lost; at 95 % confidence, at most 45 % of cuts lose anything" in text
    assert f"{BROKEN}, in 1 of 2 cuts; 1 left nothing that starts" in text
    assert "acknowledged work gone in 1 other; no answer in 1 of 3 cuts (client: ended with code 4)" in text
    assert "100 ms" in text
    faults = html.unescape(faults_table(found, levels).html)
    assert "lost up to 600 in 1 of 1" in faults
    assert "nothing usable left in 1 of 1" in faults
    prices = html.unescape(price_table(found, levels).html)
    assert "100 B/transfer" in prices
    assert "0.5/transfer" in prices
    assert cut_values(found, levels)["cuts"] == "7"
    assert cut_values(found, levels)["refuted_levels"] == "Lost"
    assert losses_chart(found, levels).title.startswith("1 of 2 settings lost no acknowledged transfers")


def test_an_answer_tells_what_cuts_took_and_whether_a_class_was_kept(tmp_path: Path) -> None:
    told = {}
    ruin = cut("procedure", 1, left="unreadable", lost=None, oldest_lost_s=None, note="no start")
    for name, lost, oldest_lost_s, more in (
        ("kept", 300, 0.05, []),
        ("refuted", 9000, 0.9, []),
        ("ruined", 300, 0.05, [ruin]),
    ):
        rows = [cut("drizzle"), cut("procedure", lost=lost, oldest_lost_s=oldest_lost_s), *more]
        run = runs.store(tmp_path / name / runs.CHAPTER, runs.whole(), cuts=1, cut_checks=rows)
        answer = runs.answer_ratio(Findings(run, runs.CHAPTER), runs.SPACETIMEDB, runs.PROCEDURE)
        told[name] = html.unescape(answer.html)
    assert "lost up to 300 acknowledged transfers, up to 50.0 ms back." in told["kept"]
    assert "class allows" not in told["kept"]
    assert (
        "left nothing usable in 1 of 2 cuts, which its class does not allow, and lost up to 300 ack"
        in told["ruined"]
    )
    assert "more than its class allows" not in told["ruined"]
    assert (
        "lost up to 9,000 acknowledged transfers, up to 900 ms back, more than its class allows."
        in told["refuted"]
    )


def test_what_a_cut_took_after_the_disk_had_failed_is_told_apart(tmp_path: Path) -> None:
    rows = [
        cut("spacetimedb", 0),
        cut("spacetimedb", 2, lost=700, oldest_lost_s=0.2),
        cut("procedure", 0, lost=300, oldest_lost_s=0.05),
        cut("procedure", 2, lost=900, oldest_lost_s=0.2),
    ]
    run = runs.store(tmp_path / runs.CHAPTER, runs.whole(), cuts=1, cut_checks=rows)
    told = html.unescape(
        runs.answer_ratio(Findings(run, runs.CHAPTER), runs.SPACETIMEDB, runs.PROCEDURE).html
    )
    assert " lost nothing, and up to 700 where the disk had failed before" in told
    assert (
        " lost up to 300 acknowledged transfers, up to 50.0 ms back, and up to 900 where the disk had failed before"
        in told
    )


def test_kills_are_told_only_where_cuts_do_not_tell_more(tmp_path: Path) -> None:
    compared = ("spacetimedb", "procedure")
    told = {}
    for name, cut_ones, lost in (
        ("all cut", compared, 300),
        ("one not cut", compared[:1], 300),
        ("refuted", compared, 3000),
    ):
        kills = [runs.kills(one, lost, "as the class says") for one in compared]
        cuts = [cut(one, lost=300, oldest_lost_s=0.05) for one in cut_ones]
        run = runs.store(
            tmp_path / name / runs.CHAPTER, runs.whole(), kill_checks=kills, cuts=1, cut_checks=cuts
        )
        told[name] = runs.answer_ratio(Findings(run, runs.CHAPTER), runs.SPACETIMEDB, runs.PROCEDURE).html
    killed_too = {name for name, text in told.items() if "killed under load" in text}
    assert killed_too == {"one not cut", "refuted"}


_LEVELS = [
    charts.Level("postgres", "Postgres on", "fsync-per-commit", 0.0, inputs.interval(12_000), (charts.Cut(0.0, False),) * 9),
    charts.Level("postgres", "Postgres off", "delayed(600 ms)", 0.6, inputs.interval(41_000), (charts.Cut(0.21, False), charts.Cut(0.9, True))),
    charts.Level("spacetimedb", "SpacetimeDB 2.8.3 default", "delayed", "any", Interval(40_000, float("nan"), float("nan"), 1), (charts.Cut(0.004, False),)),
    charts.Level("sqlite", "SQLite journal, OFF", "none", "all", inputs.interval(39_500), (charts.Cut(None, False),)),
]  # fmt: skip


@pytest.mark.parametrize("levels", [_LEVELS, _LEVELS[:1], _LEVELS[3:], _LEVELS * 4], ids=len)
def test_the_chart_keeps_its_text_apart_at_both_widths(levels: list[charts.Level]) -> None:
    figure = charts.losses(
        levels,
        provenance=inputs.PROVENANCE,
        title="Two of four levels lost nothing",
        subtitle="Each dot is a cut.",
    )
    assert figure.wide.problems() == []
    assert figure.phone.problems() == []
    assert len(figure.table.rows) == len(levels)


def test_the_chart_needs_a_level_and_tells_its_worst() -> None:
    with pytest.raises(ValueError, match="at least one level"):
        charts.losses([], provenance=inputs.PROVENANCE, title="", subtitle="")
    figure = charts.losses(_LEVELS, provenance=inputs.PROVENANCE, title="t", subtitle="")
    worst = {row[0]: row[4] for row in figure.table.rows}
    assert worst["Postgres off"] == "900 ms"
    assert worst["SQLite journal, OFF"] == "unknown, 1 left nothing usable"
