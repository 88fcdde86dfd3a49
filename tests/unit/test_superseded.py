"""What a newer published run replaced, and how far the ratios moved."""

from __future__ import annotations

import math
import subprocess

import pytest

from gapbook.method.interval import Interval
from gapbook.pages.corrections import stored_runs
from gapbook.pages.superseded import (
    Move,
    Replacement,
    machines_table,
    moved_table,
    moves,
    processors_table,
    replaced_table,
    replacements,
    unkept_table,
)
from gapbook.paths import CHECKOUT
from gapbook.record.kept_code import code_is_kept


def test_every_published_run_but_the_newest_of_its_chapter_is_replaced_by_that() -> None:
    newest: dict[str, float] = {}
    for run in stored_runs():
        chapter = run.manifest["chapter"]
        newest[chapter] = max(newest.get(chapter, 0.0), run.manifest["started_unix_s"])
    every = replacements()
    replaced, table = {one.old.run_id: one for one in every}, replaced_table(every).html
    for run in stored_runs():
        is_newest = run.manifest["started_unix_s"] == newest[run.manifest["chapter"]]
        assert is_newest == (run.run_id not in replaced)
    for one in replaced.values():
        assert one.new.manifest["started_unix_s"] == newest[one.chapter]
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
        kinds = [one.manifest["machine"]["processor"] for one in (replaced.old, replaced.new)]
        html = machines_table(replaced).html
        if kinds[0] == kinds[1]:
            assert html == ""
        elif moves(replaced):
            assert all(kind in html for kind in kinds)
            told += 1
    assert told


def test_intervals_overlap_only_where_there_are_two() -> None:
    for replaced in replacements():
        without = sum(not move.bounded for move in moves(replaced))
        assert moved_table(replaced).html.count("one has no interval") == without
    assert any(not move.bounded for replaced in replacements() for move in moves(replaced))


def test_only_ratios_that_both_runs_hold_are_compared() -> None:
    for replaced in replacements():
        names = [{one.name for one in run.scenario.contestants} for run in (replaced.old, replaced.new)]
        for move in moves(replaced):
            assert set(_names(move)) <= names[0] & names[1]


def test_a_version_that_only_the_newer_run_names_is_still_the_same_server() -> None:
    renamed = [
        (replaced, one)
        for replaced in replacements()
        for one in replaced.new.scenario.contestants
        if one.version is not None
        and (older := replaced.old.scenario.find(one.name)) is not None
        and older.version is None
    ]
    assert renamed
    for replaced, one in renamed:
        ran = replaced.old.manifest["systems"][one.system]["version"]
        compared = {name for move in moves(replaced) for name in _names(move)}
        assert (one.name in compared) == (one.version == ran)


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
    for run in stored_runs():
        revision = run.manifest["code"]["revision"]
        here = git("cat-file", "-e", f"{revision}^{{commit}}").returncode == 0
        assert code_is_kept(run.manifest) == here, run.run_id
        assert (run.run_id in table) == (not here)


def test_moves_are_told_apart_by_whether_the_processor_stayed() -> None:
    every = replacements()
    html = processors_table(every).html
    for words, is_same in (("the same kind", True), ("two kinds", False)):
        pairs = [one for one in every if (one.processors[0] == one.processors[1]) is is_same]
        found = [move for one in pairs for move in moves(one) if move.bounded]
        row = html.split(f"<td>{words}</td>")[1].split("</tr>")[0]
        assert f">{len(pairs)}<" in row
        assert f">{len(found)}<" in row
        assert f"{sum(move.apart for move in found)} (" in row
