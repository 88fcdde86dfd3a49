"""A campaign takes chapters in turn, session by session, and goes on from wherever and however it was ended."""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace as replace_in

from gapbook import cli
from gapbook.book import campaign, expected, plans, together, widest
from gapbook.book import time_spent as time_module
from gapbook.book.campaign import Campaign
from gapbook.book.chapters import own_parameters
from gapbook.book.elsewhere import Ended, Wanted
from gapbook.book.expected import duration_words, seconds_of
from gapbook.book.plans import PublishedPlan, planned_chapters, published_plans
from gapbook.book.time_spent import time_spent, time_table
from gapbook.book.together import Unit
from gapbook.errors import (
    DeclarationError,
    ParameterError,
    RecordError,
    SessionsLeftError,
    SetupError,
    StackError,
)
from gapbook.method.stated import KnownNumber, KnownNumbers
from gapbook.record.journal import Journal
from gapbook.record.kind import kind_of
from gapbook.record.machine import Machine
from gapbook.record.run import finished_folders, live_folder, load_run
from gapbook.record.schema import Facts
from gapbook.trial.campaign import SessionFiles
from gapbook.trial.facts import code_version
from tests.unit import stored_runs as runs


def plan(chapter: str, sessions: int, **given: Any) -> PublishedPlan:
    given = {"sessions": sessions, **given}
    return PublishedPlan(chapter, given, {"blocks": 4, "warmup_s": 0.5, "window_s": 2.0, **given})


HERE = msgspec.convert(runs.MACHINE, Machine)
OTHER = replace_in(HERE, processor="Cascade Lake", processors=4)
_ON_OTHER = "4 cores of Cascade Lake, 8 GiB, ext4"


class Chapters:
    """Chapters that measure nothing: sessions pass, and the last of a chapter on a kind of machine leaves a run."""

    def __init__(self, *planned: PublishedPlan) -> None:
        self.plans = {one.chapter: one for one in planned}
        self.measured = list[str]()
        self.here = HERE
        self.done = Counter[tuple[str, str]]()
        self.instead: dict[int, Callable[[], None]] = {}
        """What happens at the so-manieth call, in place of a session."""

    def execute(self, chapter: str, parameters: Mapping[str, Any], *, folder: Path) -> Path:
        assert parameters == {**self.plans[chapter].given, "source": "session"}
        self.measured.append(chapter)
        self.instead.get(len(self.measured), lambda: None)()
        key = chapter, self.here.processor
        self.done[key] += 1
        sessions = self.plans[chapter].sessions
        if self.done[key] % sessions:
            raise SessionsLeftError(f"{chapter}: session {self.done[key]} of {sessions} is done")
        self.store(chapter)
        return folder / f"{chapter}.ipynb"

    def store(self, chapter: str, **changed: Any) -> None:
        facts = {
            "parameters": dict(self.plans[chapter].parameters),
            "finished_unix_s": time.time(),
            "machine": msgspec.to_builtins(self.here),
            **changed,
        }
        scenario = replace(runs.SCENARIO, chapter=chapter)
        rows = [runs.valid(planned) for planned in runs.planned_trials(1, scenario)]
        runs.store(live_folder(chapter), rows, scenario=scenario, **facts)


@pytest.fixture(name="measured")
def _measured(monkeypatch: pytest.MonkeyPatch, runs_folder: Path) -> Chapters:
    """Two chapters, of three sessions and of one."""
    runs_folder.mkdir()
    chapters = Chapters(plan("long", 3), plan("short", 1))
    monkeypatch.setattr(campaign, "execute_chapter", chapters.execute)
    monkeypatch.setattr(campaign, "machine", lambda: chapters.here)
    monkeypatch.setattr(campaign, "install_on_demand", lambda chapter: None)
    # They are no notebooks, and state nothing.
    monkeypatch.setattr(together, "stated", lambda chapter, parameters: None)
    return chapters


def started(chapters: Chapters, said: list[str] | None = None) -> Campaign:
    return Campaign(list(chapters.plans.values()), (said if said is not None else list[str]()).append)


def raising(error: BaseException) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


def test_chapters_take_turns_session_by_session(measured: Chapters, runs_folder: Path) -> None:
    said = list[str]()
    assert started(measured, said).run() == []
    assert measured.measured == ["long", "short", "long", "long"]
    assert "0 of 4 sessions done" in said[0]
    assert "besides 2 chapters that nobody has measured yet" in said[0]
    first = next(line for line in said if line.startswith("campaign: long, session 1 of 3 in "))
    assert first.endswith("besides 1 chapter that nobody has measured yet")
    assert said[-1].startswith("campaign: short: run ")
    assert not (runs_folder / "campaign.json").exists()


def test_what_is_over_begins_anew_only_as_another_campaign(measured: Chapters) -> None:
    started(measured).run()
    # A new campaign does not take the runs of the one before for its own.
    time.sleep(0.01)
    assert started(measured).run() == []
    assert Counter(measured.measured) == {"long": 6, "short": 2}


def test_a_budget_goes_first_where_intervals_are_widest_for_their_time_and_ends_in_time(
    measured: Chapters, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured.plans["wide"] = plan("wide", 2)
    took_s = {"long": 100.0, "short": 100.0, "wide": 100.0}
    width = {"long": 0.1, "short": 0.2, "wide": 0.3}
    clock = [0.0]

    def session(self: Campaign, unit: Unit) -> None:
        clock[0] += took_s[unit.name]
        with contextlib.suppress(SessionsLeftError):
            measured.execute(unit.name, {**unit.plans[0].given, "source": "session"}, folder=Path())
        self._finished.clear()
        self._notes.add(unit, measured.here, took_s[unit.name])

    monkeypatch.setattr(Campaign, "_session", session)
    monkeypatch.setattr(campaign, "widest_log", lambda chapters: width[chapters[0]])
    monkeypatch.setattr("gapbook.book.campaign.time.monotonic", lambda: clock[0])
    monkeypatch.setattr(together, "seconds_of", lambda plan: took_s[plan.chapter] * plan.sessions)
    said = list[str]()
    assert started(measured, said).run(350.0) == []
    assert measured.measured == ["wide", "wide", "short"]
    assert said[-1].startswith("campaign: ")
    assert any("no session fits into what is left of 6 min" in line for line in said)
    # What was left is the next command's.
    assert started(measured).run(1000.0) == []
    assert measured.measured[3:] == ["long"] * 3


@pytest.mark.parametrize(
    ("text", "seconds"), [("2h", 7200.0), ("90m", 5400.0), ("1h30m", 5400.0), ("1.5h", 5400.0)]
)
def test_a_budget_is_read_as_it_is_typed(text: str, seconds: float) -> None:
    assert cli._parser().parse_args(["campaign", "--budget", text]).budget == seconds


@pytest.mark.parametrize("text", ["", "2", "0h", "h", "2 days", "-1h"])
def test_what_is_no_budget_is_refused_in_one_line(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli._parser().parse_args(["campaign", f"--budget={text}"])
    assert "is no length of time; allowed: 2h, 90m, 1h30m" in capsys.readouterr().err


def test_the_widest_printed_interval_tells_how_little_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = {
        name: KnownNumber(name, chapter, "", "", value, 5, "", "")
        for name, chapter, value in (
            ("a", "fair", "×1.00 [0.90–1.10]"),
            ("b", "fair", "×2,000 [1,000–4,000]"),
            ("c", "other", "×1 [0.01–100]"),
            ("d", "fair", "×3"),
        )
    }
    monkeypatch.setattr(widest, "known_numbers", lambda: KnownNumbers(numbers, {}))
    assert widest.widest_log(["fair"]) == pytest.approx(math.log(2))
    assert widest.widest_log(["new"]) == math.inf


def test_an_interrupted_campaign_goes_on_where_it_was(measured: Chapters) -> None:
    measured.instead[3] = raising(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        started(measured).run()
    said = list[str]()
    later = started(measured, said)
    assert later.progress().startswith("2 of 4 sessions done")
    assert later.run() == []
    # The third call was cut off; the short chapter is not measured again.
    assert measured.measured == ["long", "short", "long", "long", "long"]


def test_sessions_of_a_notebook_that_was_changed_since_are_not_counted(measured: Chapters) -> None:
    measured.instead[3] = raising(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        started(measured).run()
    long = measured.plans["long"]
    assert started(measured).lines()[0].startswith("long: 1 of 3 sessions done")
    measured.plans["long"] = replace(long, parameters={**long.parameters, "warmup_s": 9.0})
    assert started(measured).lines()[0].startswith("long: 0 of 3 sessions done")


def test_a_run_that_ended_unseen_is_not_measured_again(measured: Chapters) -> None:
    measured.instead[1] = raising(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        started(measured).run()
    measured.store("short")
    assert started(measured).run() == []
    assert measured.measured.count("short") == 0


@pytest.mark.parametrize("changed", [{"finished_unix_s": 1.0}, {"parameters": {"sessions": 2}}])
def test_an_earlier_run_or_one_of_another_plan_is_none_of_the_campaign(
    measured: Chapters, changed: dict[str, Any]
) -> None:
    measured.store("short", **changed)
    started(measured).run()
    assert measured.measured.count("short") == 1


@pytest.mark.parametrize(("backend", "times"), [("native", 0), ("docker", 1)])
def test_a_run_from_before_there_were_containers_is_one_of_processes(
    measured: Chapters, backend: str, times: int
) -> None:
    measured.instead[1] = raising(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        started(measured).run()
    measured.store("short")
    measured.plans["short"] = plan("short", 1, backend=backend)
    assert started(measured).run() == []
    assert measured.measured.count("short") == times


def test_what_a_chapter_needs_is_installed_before_it_and_who_cannot_have_it_holds_nobody_up(
    measured: Chapters, monkeypatch: pytest.MonkeyPatch
) -> None:
    def install(chapter: str) -> None:
        if chapter == "long":
            raise SetupError("go is missing")

    monkeypatch.setattr(campaign, "install_on_demand", install)
    said = list[str]()
    assert started(measured, said).run() == ["long"]
    assert measured.measured == ["short"]
    assert any(line.startswith("campaign: long: go is missing; ") for line in said)


def test_a_chapter_that_fails_is_tried_again_and_holds_nobody_up(measured: Chapters) -> None:
    measured.instead[1] = raising(StackError("postgres did not start"))
    said = list[str]()
    assert started(measured, said).run() == []
    assert measured.measured == ["long", "short", "long", "long", "long"]
    assert any(
        "long: postgres did not start; what was measured is kept, to be tried again" in line for line in said
    )


def test_a_chapter_that_fails_again_is_left_out_and_named_and_the_campaign_stays_open(
    measured: Chapters, runs_folder: Path
) -> None:
    for call in (1, 3):
        measured.instead[call] = raising(StackError("postgres did not start"))
    assert started(measured).run() == ["long"]
    assert measured.measured == ["long", "short", "long"]
    assert (runs_folder / "campaign.json").exists()
    measured.instead.clear()
    assert started(measured).run() == []
    assert measured.measured.count("short") == 1


def test_a_run_that_cannot_be_trusted_is_said_and_in_nobodys_way(measured: Chapters) -> None:
    measured.store("short")
    (trials,) = live_folder("short").glob("*/trials.parquet")
    trials.write_bytes(b"")
    said = list[str]()
    assert started(measured, said).run() == []
    assert any("trials.parquet was changed" in line for line in said)


def test_a_chosen_chapter_alone_leaves_the_others_of_a_campaign_open(
    measured: Chapters, runs_folder: Path
) -> None:
    measured.instead[3] = raising(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        started(measured).run()
    assert Campaign([measured.plans["short"]], list[str]().append).run() == []
    assert "long" in json.loads((runs_folder / "campaign.json").read_text(encoding="utf-8"))["took_s"]


@pytest.mark.parametrize(
    "kept",
    [
        "",
        "[]",
        "{}",
        '{"started_unix_s": 1}',
        '{"started_unix_s": 1, "took_s": {"long": {"seconds": ["x"]}}}',
    ],
)
def test_what_is_no_campaign_is_refused_in_one_line(measured: Chapters, runs_folder: Path, kept: str) -> None:
    (runs_folder / "campaign.json").write_text(kept, encoding="utf-8")
    with pytest.raises(RecordError, match="remove it to begin a new campaign") as caught:
        started(measured)
    assert "\n" not in str(caught.value)


# --- kinds of machines ------------------------------------------------------------------------
def interrupted(chapters: Chapters, before_call: int) -> None:
    """A campaign of which a call of a chapter was cut off."""
    chapters.instead[before_call] = raising(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        started(chapters).run()
    chapters.instead.clear()
    chapters.measured.clear()


def machines_of_runs(chapter: str) -> list[str]:
    found = [load_run(folder).manifest for folder in finished_folders(chapter)]
    return [one.machine.processor for one in sorted(found, key=lambda one: one.finished_unix_s or 0.0)]


def test_a_campaign_that_goes_on_on_another_kind_of_machine_has_a_run_of_that_kind_and_keeps_the_first(
    measured: Chapters, runs_folder: Path
) -> None:
    interrupted(measured, before_call=4)
    measured.here = OTHER
    said = list[str]()
    there = started(measured, said)
    assert there.lines()[0].startswith(
        "long: 0 of 3 sessions done on this kind of machine, 2 on 2 cores of Zen 2, 8 GiB, ext4, "
    )
    assert there.lines()[1].startswith(
        "short: 0 of 1 sessions done on this kind of machine, 1 on 2 cores of Zen 2"
    )
    assert there.run() == []
    # What the first kind finished is not measured again, what it left unfinished is, from its first session.
    assert measured.measured == ["long"] * 3
    assert machines_of_runs("long") == [OTHER.processor]
    assert machines_of_runs("short") == [HERE.processor]
    assert said[-1] == (
        "campaign: long: 2 of 3 sessions on 2 cores of Zen 2, 8 GiB, ext4 are kept; a campaign on such a machine goes "
        "on with them"
    )
    # The campaign is over: what is kept keeps none of the next ones open.
    for times in (1, 2):
        time.sleep(0.01)
        assert Campaign([measured.plans["short"]], list[str]().append).run() == []
        assert machines_of_runs("short") == [HERE.processor, *[OTHER.processor] * times]
    # The next one on a machine of the first kind needs one session of the long chapter.
    time.sleep(0.01)
    measured.here = HERE
    measured.measured.clear()
    again = started(measured)
    assert again.progress().startswith("2 of 4 sessions done")
    assert again.run() == []
    assert measured.measured == ["long", "short"]
    assert machines_of_runs("long") == [OTHER.processor, HERE.processor]
    assert not (runs_folder / "campaign.json").exists()


def test_a_kind_that_comes_back_while_the_campaign_is_open_measures_what_it_began_to_its_end(
    measured: Chapters,
) -> None:
    measured.plans["last"] = plan("last", 1)
    interrupted(measured, before_call=3)
    measured.here = OTHER
    interrupted(measured, before_call=2)
    measured.here = HERE
    for call in (2, 4):
        measured.instead[call] = raising(StackError("postgres did not start"))
    assert started(measured).run() == ["last"]
    assert measured.measured == ["long", "last", "long", "last"]
    measured.instead.clear()
    measured.measured.clear()
    measured.here = OTHER
    there = started(measured)
    assert there.lines()[0].startswith(
        "long: 1 of 3 sessions done on this kind of machine, 3 on 2 cores of Zen 2, 8 GiB, ext4, "
    )
    assert there.run() == []
    # It never began the short chapter, which the first kind finished.
    assert measured.measured == ["long", "last", "long"]
    assert machines_of_runs("long") == [HERE.processor, OTHER.processor]
    assert machines_of_runs("last") == [OTHER.processor]


def test_a_finished_run_of_each_kind_is_named_with_its_machine(measured: Chapters) -> None:
    interrupted(measured, before_call=2)
    measured.store("short")
    measured.store("short", machine=msgspec.to_builtins(OTHER))
    said = list[str]()
    whole = started(measured, said)
    assert whole.run() == []
    assert whole.finished(measured.plans["short"]).keys() == {kind_of(HERE), kind_of(OTHER)}
    lines = [line for line in said if line.startswith("campaign: short: run ")]
    assert sorted(line.rpartition(", on ")[2] for line in lines) == [
        "2 cores of Zen 2, 8 GiB, ext4",
        _ON_OTHER,
    ]


@pytest.mark.parametrize(("kept", "done"), [(True, 2), (False, 0)])
def test_notes_from_before_kinds_were_told_apart_are_of_the_kind_that_began_the_run(
    measured: Chapters, runs_folder: Path, kept: bool, done: int
) -> None:
    interrupted(measured, before_call=4)
    path = runs_folder / "campaign.json"
    noted = json.loads(path.read_text(encoding="utf-8"))
    for took in noted["took_s"].values():
        took["seconds"] = next(iter(took.pop("kinds").values()))["seconds"]
    path.write_text(json.dumps(noted), encoding="utf-8")
    if kept:
        began = Facts(started_unix_s=1.0, machine=OTHER, code=code_version())
        Journal(live_folder("long"), "key", ()).directory.mkdir(parents=True)
        Journal(live_folder("long"), "key", ()).write_plan({"facts": msgspec.to_builtins(began)})
    measured.here = OTHER
    assert started(measured).lines()[0].startswith(f"long: {done} of 3 sessions done, ")


class _Sessions:
    """What a unit's measurement keeps by kind of machine, without a measurement."""

    plan_key = "key"

    def __init__(self, chapters: Chapters, unit: Unit) -> None:
        self.chapters, self.unit = chapters, unit
        self.came: dict[str, set[int]] = {}
        self.kind = ""

    def on(self, kind: str) -> _Sessions:
        self.kind = kind
        return self

    def sessions_left(self) -> list[int]:
        return sorted({*range(self.unit.sessions)} - self.came.get(self.kind, set()))

    def take(self, session: int, files: SessionFiles, kind: str) -> Machine:
        on: Machine = msgspec.json.decode(files["machine"], type=Machine)
        assert kind_of(on) == kind
        self.came.setdefault(kind, set()).add(session)
        return on

    def finish(self) -> None:
        (of_kind,) = (one for one in (HERE, OTHER) if kind_of(one) == self.kind)
        self.chapters.store(self.unit.name, machine=msgspec.to_builtins(of_kind))


class _Workers:
    """Machines of several kinds, each of which takes one session after the other, in turn."""

    def __init__(self, *machines: Machine) -> None:
        self.machines = {kind_of(one): one for one in machines}
        self.lost_after: dict[str, int] = {}
        """By kind, after how many sessions its machine is lost."""
        self.fails: set[str] = set()
        self.given: list[tuple[str, str, int]] = []

    def measured(self, wanted_on: Callable[[str], Sequence[Wanted]]) -> Iterator[Ended]:
        left = {kind: list(wanted_on(kind)) for kind in self.machines}
        while any(left.values()):
            for kind, on in self.machines.items():
                if self.lost_after.get(kind) == sum(one[0] == on.processor for one in self.given):
                    left[kind] = []
                elif left[kind]:
                    wanted = left[kind].pop(0)
                    assert wanted.kind == kind
                    if on.processor in self.fails:
                        yield Ended(wanted, error="no node")
                    else:
                        self.given.append((on.processor, wanted.unit.name, wanted.session))
                        yield Ended(wanted, 60.0, {"machine": msgspec.json.encode(on)})
                    left[kind] = left[kind] or list(wanted_on(kind))


@pytest.fixture(name="elsewhere")
def _elsewhere(measured: Chapters, monkeypatch: pytest.MonkeyPatch) -> Chapters:
    """The same chapters, of which other machines measure the sessions."""
    kept: dict[str, _Sessions] = {}
    monkeypatch.setattr(campaign, "_asked", lambda unit: unit)
    monkeypatch.setattr(
        campaign, "to_measure", lambda unit, say: kept.setdefault(unit.name, _Sessions(measured, unit))
    )
    return measured


def test_each_kind_behind_a_scheduler_has_whole_runs_of_its_own(elsewhere: Chapters) -> None:
    said, workers = list[str](), _Workers(HERE, OTHER)
    assert started(elsewhere, said).run_on(workers) == []
    for one in (HERE, OTHER):
        given = [(name, session) for processor, name, session in workers.given if processor == one.processor]
        assert sorted(given) == [("long", 0), ("long", 1), ("long", 2), ("short", 0)]
    for chapter in ("long", "short"):
        assert sorted(machines_of_runs(chapter)) == sorted([HERE.processor, OTHER.processor])
    assert said[0] == "campaign: 2 chapters"
    assert any(line.startswith(f"campaign: long, session 3 of 3 on {_ON_OTHER} in 1 min; ") for line in said)


def test_a_kind_whose_machine_is_lost_keeps_its_sessions_and_holds_nobody_up(elsewhere: Chapters) -> None:
    said, workers = list[str](), _Workers(HERE, OTHER)
    workers.lost_after = {kind_of(OTHER): 2}
    assert started(elsewhere, said).run_on(workers) == []
    assert machines_of_runs("long") == machines_of_runs("short") == [HERE.processor]
    assert said[-1] == (
        f"campaign: long: 2 of 3 sessions on {_ON_OTHER} are kept; a campaign on such a machine goes on with them"
    )
    again = _Workers(OTHER)
    time.sleep(0.01)
    assert started(elsewhere).run_on(again) == []
    assert again.given == [(OTHER.processor, "long", 2), (OTHER.processor, "short", 0)]


def test_a_kind_that_fails_again_and_again_is_left_out_alone(elsewhere: Chapters) -> None:
    said, workers = list[str](), _Workers(HERE, OTHER)
    workers.fails = {OTHER.processor}
    assert started(elsewhere, said).run_on(workers) == []
    assert machines_of_runs("long") == [HERE.processor]
    assert sum("session 1: no node; what was measured is kept" in line for line in said) >= 2
    nobody = _Workers(OTHER)
    nobody.fails = {OTHER.processor}
    time.sleep(0.01)
    assert started(elsewhere).run_on(nobody) == ["long", "short"]


def test_expected_time_follows_from_sessions_done_else_from_the_published_run(
    measured: Chapters, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rows = [{**row, "started_unix_s": 4.0 * place} for place, row in enumerate(runs.whole(2))]
    published = runs.store(tmp_path / "published", rows, started_unix_s=0, finished_unix_s=None)
    monkeypatch.setattr(expected, "latest_published", lambda chapter: published)
    # Trials of 4 s; a warm-up that is longer by 1 s makes 5 s of each, and there are twice the blocks.
    assert seconds_of(plan("long", 3, warmup_s=1.5)) == pytest.approx(2 * len(rows) * 5.0)
    # Of seven contestants two, as their names stand in a notebook.
    two = plan("long", 3, warmup_s=1.5, contestants="drizzle, procedure")
    assert seconds_of(two) == pytest.approx(2 * len(rows) * 5.0 * 2 / 7)
    assert seconds_of(plan("long", 3, warmup_s=1.5, contestants="renamed")) == seconds_of(
        plan("long", 3, warmup_s=1.5, contestants="all")
    )
    struck = runs.store(
        tmp_path / "struck", rows, kills=1, cuts=3, started_unix_s=0, finished_unix_s=4.0 * len(rows) + 60
    )
    monkeypatch.setattr(expected, "latest_published", lambda chapter: struck)
    # Four strikes took a minute, so there are two minutes of the plan's eight.
    assert seconds_of(plan("long", 3, warmup_s=1.5, kills=2, cuts=6)) == pytest.approx(
        2 * len(rows) * 5.0 + 120
    )
    half, pause_s = len(rows) // 2, 3600.0
    late = [
        {**row, "started_unix_s": row["started_unix_s"] + pause_s * (place >= half)}
        for place, row in enumerate(rows)
    ]
    paused = runs.store(
        tmp_path / "paused",
        late,
        kills=1,
        cuts=3,
        started_unix_s=0,
        resumed_unix_s=[4.0 * half + pause_s],
        finished_unix_s=4.0 * len(rows) + pause_s + 60,
    )
    monkeypatch.setattr(expected, "latest_published", lambda chapter: paused)
    # Nobody measured in the pause.
    assert seconds_of(plan("long", 3, warmup_s=1.5, kills=1, cuts=3)) == pytest.approx(
        2 * len(rows) * 5.0 + 60
    )
    monkeypatch.setattr(expected, "latest_published", lambda chapter: published)
    before = started(measured)
    assert f"about {duration_words(2 * 2 * len(rows) * 4.0)} left" in before.progress()
    measured.instead[3] = raising(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        before.run()
    assert "about 0 s left" in started(measured).progress()


def test_where_the_time_of_a_run_went_adds_up_to_what_it_took(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    planned = runs.planned_trials(2)
    rows = [
        {**runs.valid(one), "session": one.block, "started_unix_s": 100.0 + 5 * place + 1000 * one.block}
        for place, one in enumerate(planned)
    ]
    # Refused once, and tried again at the end of the last block.
    rows[3] |= {"valid": False, "refused_because": "quiet machine"}
    ended = rows[-1]["started_unix_s"] + 4
    again = {
        **rows[3],
        **runs.valid(planned[3]),
        "trial": len(planned) + 3,
        "session": 1,
        "started_unix_s": ended,
    }
    machine = {"session": 0, "started_unix_s": 90.0, "waited_s": 2.0}
    run = runs.store(
        tmp_path,
        [*rows, again],
        planned=planned,
        sessions=2,
        trials=[list(vars(one).values()) for one in planned],
        deployments=[machine, machine | {"session": 1, "started_unix_s": 1090.0 + 5 * len(planned) / 2}],
    )
    spent = time_spent(run)
    assert spent.loaded_s == pytest.approx(len(planned) * 2.5)
    assert spent.around_s == pytest.approx(len(planned) * 1.5)
    assert (spent.again_s, spent.waited_s) == (4.0, 4.0)
    # Ten seconds before the first trial of a session, one between any two.
    assert spent.between_s == pytest.approx(2 * 10 + (len(planned) - 2) * 1 - 4.0)
    monkeypatch.setattr(time_module, "latest_published", lambda chapter: run)
    _heads, line = time_table([plan("long", 2)])
    assert line.split()[0] == "long"
    assert line.endswith(f"{spent.overhead:.2f}")
    both = {"run": "0" * 12, "chapters": ["long", "short"]}
    part, other = (
        runs.store(tmp_path / name, rows, measured_with=both, deployments=[machine])
        for name in ("together", "and-together")
    )
    assert time_spent(part).between_s == 0
    # What they share was measured once, and what lies between trials is that of both.
    whole = time_spent(part, other)
    assert whole.loaded_s == time_spent(part).loaded_s
    assert whole.between_s > 0
    monkeypatch.setattr(time_module, "latest_published", lambda chapter: part)
    assert [line.split()[:3] for line in time_table([plan("long", 2), plan("short", 2)])[1:]] == [
        ["2", "chapters", "together"]
    ]


@pytest.mark.parametrize(
    ("seconds", "words"), [(39.6, "40 s"), (719, "12 min"), (3599, "1 h 0 min"), (12_000, "3 h 20 min")]
)
def test_durations_in_words(seconds: float, words: str) -> None:
    assert duration_words(seconds) == words


def test_every_published_plan_is_one_that_its_notebook_takes() -> None:
    found = published_plans()
    assert [one.chapter for one in found] == planned_chapters()
    for one in found:
        assert 1 <= one.sessions <= one.parameters["blocks"]
        assert one.parameters.keys() >= {"warmup_s", "window_s", "seed"}


def test_a_campaign_of_headlines_measures_what_notebooks_name_by_themselves(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shorter = 0
    for one in published_plans():
        headline, named = one.headline, own_parameters(one.chapter)["contestants"]
        assert headline.parameters == {**one.parameters, "contestants": named}
        whole_s, headline_s = seconds_of(one), seconds_of(headline)
        assert whole_s is not None
        assert headline_s is not None
        assert headline_s == whole_s if named == "all" else 0 < headline_s < whole_s
        shorter += headline_s < whole_s
    assert shorter >= 5
    assert cli.main(["campaign", "fair", "--show"]) == cli.main(["campaign", "fair", "--show", "--headlines"])
    whole, headlines = (line for line in capsys.readouterr().out.splitlines() if line.startswith("fair: "))
    assert whole != headlines


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sessions = 0", "fair.plan.toml:1: sessions: 0 is not allowed"),
        ("sessions = 99", "sessions: 99 of 2 blocks"),
        ("unheard = 1", "fair.plan.toml:1: unheard: unknown key; allowed: "),
        ("source = 'live'", "fair.plan.toml:1: source: unknown key; "),
        ("sessions", "fair.plan.toml:1: not TOML: "),
    ],
)
def test_a_plan_that_its_notebook_does_not_take_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: str
) -> None:
    path = tmp_path / "fair.plan.toml"
    path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(plans, "plan_path", lambda chapter: path)
    with pytest.raises(DeclarationError) as caught:
        published_plans(["fair"])
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_chapter_without_a_plan_is_refused_by_name() -> None:
    with pytest.raises(ParameterError, match=r"campaign: 'unheard' has no published plan; allowed: .*fair"):
        published_plans(["fair", "unheard"])
