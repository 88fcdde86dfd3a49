"""Chapters of one load are measured together: each cell once, and each chapter's run is its part of that."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gapbook.book import campaign, together
from gapbook.book.campaign import Campaign
from gapbook.book.plans import PublishedPlan
from gapbook.errors import ParameterError, RecordError, SessionsLeftError
from gapbook.method import over_runs
from gapbook.method.cell_key import cell_key
from gapbook.method.findings import Findings
from gapbook.method.same import cells_of
from gapbook.record.machine import Machine
from gapbook.record.run import Run, finished_folders, live_folder
from gapbook.record.view import write_view
from gapbook.trial.asked import Asked, Together
from gapbook.trial.contestant import Contestant
from tests.bank import alphas
from tests.unit import stored_runs as runs


class _EndedError(Exception):
    """Stands for whatever ends a command."""


_BLOCKS = 2
_GIVEN = {"blocks": _BLOCKS, "sessions": 1, "warmup_s": 0.5, "window_s": 2.0}


def asked(chapter: str, *contestants: Contestant, **changed: Any) -> Asked:
    own = {name: changed.pop(name) for name in ("connections", "window_s") if name in changed}
    scenario = replace(runs.SCENARIO, chapter=chapter, contestants=contestants, **own)
    usual = {"blocks": _BLOCKS, "sessions": 1, "attempts": 1, "kills": 0, "cuts": 0, "parameters": {**_GIVEN}}
    return Asked(scenario, {}, **{**usual, **changed})


# One cell under two names, one that only the first asks for, and one name for two different cells.
_FIRST = asked("first", runs.DRIZZLE, replace(runs.SQL, name="mine"), runs.PROCEDURE)
_SECOND = asked(
    "second",
    replace(runs.DRIZZLE, name="application"),
    replace(runs.PROCEDURE_RUST, name="mine"),
    runs.PROCEDURE,
    trials_per_block={"application": 3.0},
    only_at={"procedure": [1.5]},
)


def measured(whole: Asked) -> Run:
    """A run of all that was asked for, as a campaign would store it; every trial of another rate."""
    rows = [runs.valid(planned, 1_000.0 + planned.number) for planned in whole.plan()]
    return runs.store(
        live_folder(whole.chapter),
        rows,
        scenario=whole.scenario,
        planned=whole.plan(),
        kills=1,
        kill_checks=[runs.kills("drizzle", 5, "kept"), runs.kills("mine", 6, "kept")],
        absent={},
    )


def test_a_cell_of_several_chapters_is_measured_once_as_often_as_one_of_them_asks() -> None:
    both = Together([_FIRST, _SECOND])
    names = [contestant.name for contestant in both.whole.scenario.contestants]
    assert names == ["drizzle", "mine", "procedure", "second: mine"]
    assert both.names["second"] == {
        "application": "drizzle",
        "mine": "second: mine",
        "procedure": "procedure",
    }
    trials = [(planned.contestant, planned.treatment) for planned in both.whole.plan()]
    assert trials.count(("drizzle", 0.0)) == 3 * _BLOCKS
    # What one chapter wants at one value and another at both is measured at both.
    assert trials.count(("procedure", 0.0)) == trials.count(("procedure", 1.5)) == _BLOCKS


@pytest.mark.usefixtures("runs_folder")
def test_chapters_may_ask_for_other_values_of_one_treatment() -> None:
    other = asked("second", runs.DRIZZLE, runs.SPACETIMEDB)
    other = replace(other, scenario=replace(other.scenario, treatment=alphas(1.0, 1.5)))
    both = Together([_FIRST, other])
    cells = {(planned.contestant, planned.treatment) for planned in both.whole.plan()}
    assert {value for name, value in cells if name == "drizzle"} == {0.0, 1.0, 1.5}
    assert {value for name, value in cells if name == "procedure"} == {0.0, 1.5}
    assert {value for name, value in cells if name == "spacetimedb"} == {1.0, 1.5}
    run = measured(both.whole)
    _, second = (write_view(run, view, ["first", "second"]) for view in both.views(run))
    assert set(second.trials["treatment"]) == {1.0, 1.5}
    assert second.scenario.treatment.values == [1.0, 1.5]


def test_contestants_of_one_chapter_that_differ_in_name_alone_stay_two() -> None:
    one = asked("first", runs.SQL, replace(runs.SQL, name="again"))
    other = asked("second", replace(runs.SQL, name="theirs"))
    both = Together([one, other])
    assert both.names == {"first": {"sql": "sql", "again": "again"}, "second": {"theirs": "sql"}}


@pytest.mark.parametrize(
    "changed", [{"connections": 9}, {"window_s": 3.0}, {"blocks": 3}, {"attempts": 2}, {"kills": 1}]
)
def test_chapters_that_load_otherwise_are_not_measured_together(changed: Mapping[str, Any]) -> None:
    other = asked("second", runs.SQL, **changed)
    assert not _FIRST.can_share(other)
    with pytest.raises(ParameterError, match="first, second: they load their contestants differently"):
        Together([_FIRST, other])


@pytest.mark.usefixtures("runs_folder")
def test_each_chapter_has_the_very_trials_of_its_cells() -> None:
    both = Together([_FIRST, _SECOND])
    run = measured(both.whole)
    first, second = (write_view(run, view, ["first", "second"]) for view in both.views(run))
    assert [one.name for one in second.scenario.contestants] == ["application", "mine", "procedure"]
    assert set(second.trials.filter(treatment=0.0)["contestant"]) == {"application", "mine"}
    for view, chapter in ((first, "first"), (second, "second")):
        assert view.folder.parent == live_folder(chapter)
        assert view.manifest.chapter == view.scenario.chapter == chapter
        assert view.manifest.measured_with is not None
        assert view.manifest.measured_with.run == run.run_id
        assert view.manifest.measured_with.chapters == ["first", "second"]
        assert view.histograms.height == view.trials.height == len(view.manifest.trials)
        whole = {row["trial"]: row for row in run.trials.iter_rows(named=True)}
        for row in view.trials.iter_rows(named=True):
            name = both.names[chapter][row["contestant"]]
            assert row == {**whole[row["trial"]], "contestant": row["contestant"]}
            assert whole[row["trial"]]["contestant"] == name
    assert [row.contestant for row in second.manifest.kill_checks] == ["application"]
    assert set(second.manifest.systems) == {"postgres"}
    # Equal keys, equal trials: the drizzle of the one is the application of the other.
    cells = (first, "drizzle"), (second, "application")
    assert (
        len({cell_key(view, found, 1.5) for view, name in cells if (found := view.scenario.find(name))}) == 1
    )
    assert len({tuple(v.trials.filter(contestant=name)["goodput_per_s"]) for v, name in cells}) == 1


@pytest.mark.usefixtures("runs_folder")
def test_runs_of_one_measurement_count_once_wherever_runs_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = asked("first", runs.DRIZZLE, runs.PROCEDURE, blocks=3)
    other = asked("second", replace(runs.DRIZZLE, name="application"), runs.PROCEDURE, blocks=3)
    both = Together([one, other])
    run = measured(both.whole)
    views = [write_view(run, view, ["first", "second"]) for view in both.views(run)]
    found = [Findings(view, view.manifest.chapter) for view in views]
    monkeypatch.setattr(over_runs, "published_findings", lambda: [(one, cells_of(one.run)) for one in found])
    several = over_runs.ratio_over_runs(found[0], "drizzle", "procedure", 1.5)
    assert several is not None
    assert [each.run for each in several.each] == [views[0]]


@pytest.mark.usefixtures("runs_folder")
def test_who_could_not_be_measured_is_absent_from_each_chapter_that_asked() -> None:
    both = Together([_FIRST, _SECOND])
    here = replace(both.whole, scenario=both.whole.here({"drizzle"}))
    rows = [runs.valid(planned, 1e3) for planned in here.plan()]
    run = runs.store(
        live_folder("both"), rows, scenario=here.scenario, planned=here.plan(), absent={"drizzle": "no node"}
    )
    first, second = (write_view(run, view, ["first", "second"]) for view in both.views(run))
    assert first.manifest.absent == {"drizzle": "no node"}
    assert second.manifest.absent == {"application": "no node"}
    assert second.scenario.find("application") is None


def test_a_chapter_of_which_nobody_can_be_measured_has_no_view() -> None:
    # An empty selection means everybody elsewhere; here it may not.
    with pytest.raises(ParameterError, match="contestants: none is left"):
        _FIRST.here({"drizzle", "mine", "procedure"})


@pytest.mark.usefixtures("runs_folder")
def test_a_view_that_cannot_be_written_says_where_what_was_measured_is() -> None:
    both = Together([_FIRST, _SECOND])
    run = measured(both.whole)
    live_folder("first").write_text("in the way", encoding="utf-8")
    with pytest.raises(RecordError, match=f"what was measured is kept in .*{run.run_id}; make room"):
        write_view(run, both.views(run)[0], ["first", "second"])


def test_what_was_measured_and_not_yet_cut_is_not_measured_again(
    runs_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs_folder.mkdir()
    stated, wholes = {"first": _FIRST, "second": _SECOND}, list[str]()

    def measure(whole: Asked, _source: str, _say: Any) -> Run:
        wholes.append(whole.chapter)
        rows = [runs.valid(planned, 1e3) for planned in whole.plan()]
        runs.store(
            live_folder(whole.chapter),
            rows,
            scenario=whole.scenario,
            planned=whole.plan(),
            absent={},
            parameters=whole.parameters,
            finished_unix_s=time.time(),
        )
        raise _EndedError

    monkeypatch.setattr(together, "stated", lambda chapter, parameters: stated[chapter])
    monkeypatch.setattr(campaign, "install_on_demand", lambda chapter: None)
    monkeypatch.setattr(campaign, "measured", measure)
    monkeypatch.setattr(campaign, "machine", lambda: msgspec.convert(runs.MACHINE, Machine))
    plans = [PublishedPlan(chapter, _GIVEN, _GIVEN) for chapter in stated]
    with pytest.raises(_EndedError):
        Campaign(plans, list[str]().append).run()
    assert Campaign(plans, list[str]().append).run() == []
    assert wholes == ["first+second"]
    assert [len(finished_folders(chapter)) for chapter in stated] == [1, 1]


def test_a_campaign_measures_them_as_one_and_stores_a_run_for_each(
    runs_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs_folder.mkdir()
    stated = {"first": _FIRST, "second": _SECOND, "alone": asked("alone", runs.SQL, connections=9)}
    wholes, alone = [], []

    def store(one: Asked, **facts: Any) -> Run:
        rows, finished_unix_s = [runs.valid(planned, 1e3) for planned in one.plan()], time.time()
        return runs.store(
            live_folder(one.chapter),
            rows,
            scenario=one.scenario,
            planned=one.plan(),
            finished_unix_s=finished_unix_s,
            **facts,
        )

    def measure(whole: Asked, source: str, _say: Any) -> Run:
        assert source == "session"
        wholes.append(whole.chapter)
        if len(wholes) == 1:
            raise SessionsLeftError("session 1 of 2 is done")
        return store(whole, absent={})

    def execute(chapter: str, _parameters: Mapping[str, Any], **_where: Path) -> None:
        alone.append(chapter)
        store(stated[chapter], parameters=_GIVEN)

    monkeypatch.setattr(together, "stated", lambda chapter, parameters: stated[chapter])
    monkeypatch.setattr(campaign, "install_on_demand", lambda chapter: None)
    monkeypatch.setattr(campaign, "measured", measure)
    monkeypatch.setattr(campaign, "machine", lambda: msgspec.convert(runs.MACHINE, Machine))
    monkeypatch.setattr(campaign, "execute_chapter", execute)
    said = list[str]()
    plans = [PublishedPlan(chapter, _GIVEN, _GIVEN) for chapter in stated]
    whole = Campaign(plans, said.append)
    assert whole.lines()[0].endswith("; 8 cells for the 11 that they ask for")
    assert whole.run() == []
    assert (wholes, alone) == (["first+second"] * 2, ["alone"])
    assert any(line.startswith("campaign: first + second, session 1 of 1 in ") for line in said)
    for chapter in stated:
        (folder,) = finished_folders(chapter)
        (finished,) = whole.finished(PublishedPlan(chapter, _GIVEN, _GIVEN)).values()
        assert finished.folder == folder
