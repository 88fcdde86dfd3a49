"""What a newer published run replaced, and how far the ratios moved."""

from __future__ import annotations

import csv
import math
import re
import subprocess
from html import unescape
from itertools import pairwise
from pathlib import Path

import pytest

from gapbook.method.findings import Findings
from gapbook.method.interval import Interval
from gapbook.pages import page_files
from gapbook.pages.page_files import links_to_files
from gapbook.pages.superseded import (
    Move,
    Replacement,
    machines_table,
    moved_table,
    moves,
    processors_table,
    replaced_table,
    replacements,
    reversed_table,
    unkept_table,
)
from gapbook.paths import CHECKOUT
from gapbook.record.kept_code import code_is_kept
from gapbook.record.published import published_runs
from gapbook.record.run import latest_published


def test_every_published_run_that_is_older_than_what_its_chapter_shows_is_replaced_by_that() -> None:
    page = {run.manifest.chapter: latest_published(run.manifest.chapter) for run in published_runs()}
    every = replacements()
    replaced, table = {one.old.run_id: one for one in every}, replaced_table(every).html
    for run in published_runs():
        is_older = run.manifest.started_unix_s < page[run.manifest.chapter].manifest.started_unix_s
        assert is_older == (run.run_id in replaced)
    for one in replaced.values():
        assert one.new.run_id == page[one.chapter].run_id
        assert one.old.run_id in table


def test_a_run_compared_with_itself_has_not_moved() -> None:
    run = replacements()[0].new
    found = moves(Replacement(run, run))
    assert found
    assert all(move.then == move.now and not move.apart for move in found)
    assert "×1.00" in moved_table(Replacement(run, run)).html


def test_two_machines_are_told_with_what_they_did_to_each_system() -> None:
    run = replacements()[0].new
    assert machines_table(Replacement(run, run)).html == ""
    told = 0
    for replaced in replacements():
        kinds = [one.manifest.machine.processor for one in (replaced.old, replaced.new)]
        html = machines_table(replaced).html
        if kinds[0] == kinds[1]:
            assert html == ""
        elif moves(replaced):
            assert all(kind in html for kind in kinds)
            told += 1
    assert told


def test_the_table_has_the_ratios_that_moved_farthest_and_its_file_has_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_files, "build_directory", lambda: tmp_path)
    longest = 0
    for replaced in replacements():
        found, html = moves(replaced), moved_table(replaced).html
        if not found:
            continue
        narrow = sorted((move for move in found if move.narrow), key=lambda move: -move.distance)
        longest = max(longest, len(narrow))
        shown = re.findall(r"<tr><td>([^<]*)</td>", html)
        assert [unescape(one) for one in shown] == [move.quantity for move in narrow[:12]]
        assert f"{len(found)} ratios in both runs; {len(narrow)} narrow" in html
        assert f"{len(found) - len(narrow)} more have an interval wider" in html
        (place,) = links_to_files(html)
        rows = list(csv.DictReader((tmp_path / place).read_text(encoding="utf-8").splitlines()))
        assert {row["ratio"]: float(row["now"]) for row in rows} == {
            move.quantity: pytest.approx(move.now.estimate, rel=1e-5) for move in found
        }
        assert sum(row["narrow"] == "true" for row in rows) == len(narrow)
    assert longest > 12


def test_contestants_that_differ_in_several_things_are_compared_and_a_reversal_is_told() -> None:
    """SpacetimeDB over HTTP and SQLite differ in access, tier and promise; a newer run says the opposite."""
    (replaced,) = (one for one in replacements() if one.chapter == "convex-vs-spacetimedb")
    quantity = "spacetimedb-http-rust ÷ sqlite-http-unflushed-rust, 50 users"
    (move,) = (move for move in moves(replaced) if move.quantity == quantity)
    over, under = quantity.partition(",")[0].split(" ÷ ")
    runs = (replaced.old, replaced.new)
    assert [move.then, move.now] == [Findings(run, replaced.chapter).ratio(over, under, 50.0) for run in runs]
    assert move.reversed
    assert not move.differ_in_one
    assert quantity in reversed_table([replaced]).html


def test_runs_under_another_load_hold_no_ratio_and_it_is_said() -> None:
    others = [one for one in replacements() if not moves(one)]
    assert others
    for replaced in others:
        old, new = (
            (one.scenario.workload.parameters, one.scenario.connections)
            for one in (replaced.old, replaced.new)
        )
        assert old != new
        assert (
            "The two runs hold no ratio of the same load, for the newer one has" in moved_table(replaced).html
        )


def test_only_ratios_that_both_runs_hold_are_compared() -> None:
    for replaced in replacements():
        names = {one.name for one in replaced.new.scenario.contestants}
        for move in moves(replaced):
            assert set(_names(move)) <= names
            assert move.now.estimate >= 1


def test_a_version_that_only_the_newer_run_names_is_still_the_same_server() -> None:
    renamed = [
        (replaced, one)
        for replaced in _one_after_the_other()
        for one in replaced.new.scenario.contestants
        if one.version is not None
        and (older := replaced.old.scenario.find(one.name)) is not None
        and older.version is None
        and moves(replaced)
    ]
    assert renamed
    for replaced, one in renamed:
        ran = replaced.old.manifest.systems[one.system].version
        compared = {name for move in moves(replaced) for name in _names(move)}
        assert (one.name in compared) == (one.version == ran)


def _one_after_the_other() -> list[Replacement]:
    """Each published run beside the next of its chapter, whether that is shown or was itself replaced."""
    runs = sorted(published_runs(), key=lambda run: (run.manifest.chapter, run.manifest.started_unix_s))
    return [
        Replacement(old, new) for old, new in pairwise(runs) if old.manifest.chapter == new.manifest.chapter
    ]


def _names(move: Move) -> list[str]:
    return move.quantity.partition(", ")[0].split(" ÷ ")


@pytest.mark.parametrize(
    ("then", "now", "apart"),
    [
        (Interval(2.0, 1.9, 2.1, 5), Interval(2.3, 2.2, 2.4, 5), True),
        (Interval(2.3, 2.2, 2.4, 5), Interval(2.0, 1.9, 2.1, 5), True),
        (Interval(2.0, 1.9, 2.25, 5), Interval(2.3, 2.2, 2.4, 5), False),
        (Interval(2.0, math.nan, math.nan, 1), Interval(9.0, 8.9, 9.1, 5), False),
    ],
)
def test_intervals_lie_apart_when_they_share_no_value(then: Interval, now: Interval, apart: bool) -> None:
    assert Move("a ÷ b", then, now).apart == apart


def test_a_run_is_marked_exactly_where_its_commit_cannot_be_checked_out() -> None:
    def git(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", *words], cwd=CHECKOUT, capture_output=True, text=True, check=False, encoding="utf-8"
        )

    if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        pytest.skip("no whole history here to look commits up in")
    table = unkept_table().html
    for run in published_runs():
        revision = run.manifest.code.revision
        # Reached from here: a clone brings nothing else, whatever this checkout still holds.
        here = git("merge-base", "--is-ancestor", revision, "HEAD").returncode == 0
        assert code_is_kept(run.manifest) == here, run.run_id
        assert (run.run_id in table) == (not here)


def test_moves_are_told_apart_by_whether_the_processor_stayed() -> None:
    every = replacements()
    rows = processors_table(every).html.split("<tr>")[2:]
    for words, is_same, row in (("the same kind", True, rows[0]), ("two kinds", False, rows[2])):
        pairs = [one for one in every if (one.processors[0] == one.processors[1]) is is_same]
        found = [move for one in pairs for move in moves(one) if move.narrow and move.differ_in_one]
        inside = sum(move.now.low <= move.then.estimate <= move.now.high for move in found)
        assert f"<td>{words}</td>" in row
        assert f">{len(pairs)}<" in row
        assert f">{len(found)}<" in row
        assert f"{sum(move.apart for move in found)} (" in row
        assert f"{inside} ({inside / len(found):.0%})" in row


@pytest.mark.parametrize(("high", "narrow"), [(1.5, True), (1.6, False), (math.nan, False)])
def test_an_interval_wider_than_a_quarter_to_either_side_shows_no_move(high: float, narrow: bool) -> None:
    exact, other = Interval(1.2, 1.1, 1.3, 5), Interval(1.2, 1.0, high, 5)
    assert Move("a ÷ b", exact, other).narrow == Move("a ÷ b", other, exact).narrow == narrow
