"""A campaign: the published plans of several chapters, measured anew, session by session in turn.

A session of one chapter is followed by one of the next, so that each chapter's sessions lie hours apart and a
slow hour falls on all. Chapters that share their settings are measured together
(:mod:`gapbook.book.together`). What was measured stands in each chapter's own journal and runs; the campaign keeps
when it began and how long sessions took (:mod:`gapbook.book.campaign_notes`), and finds the rest there. It can be ended at
any moment, in any way, and goes on where it was, on this machine or on another that is given the same files.

Each kind of machine has runs of its own, each finished as soon as its last session is done. A kind begins what no other
has finished, and measures all sessions of what it began. What it leaves unfinished when its machines are gone is kept,
and holds nobody up: a later campaign on such a machine goes on with it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from papermill.exceptions import PapermillExecutionError

from gapbook.book.campaign_notes import CampaignNotes, OnKind
from gapbook.book.elsewhere import Ended, Hosts, Wanted
from gapbook.book.execute import execute_chapter
from gapbook.book.expected import duration_words
from gapbook.book.on_demand import install_on_demand
from gapbook.book.plans import PublishedPlan
from gapbook.book.together import Unit, measuring_parameters, units_of
from gapbook.book.widest import widest_log
from gapbook.errors import GapbookError, ParameterError, RecordError, SessionsLeftError
from gapbook.locks import taking_turns
from gapbook.parameters import chapter_parameters
from gapbook.paths import build_directory, runs_directory
from gapbook.record.kind import kind_of, kind_words
from gapbook.record.machine import Machine
from gapbook.record.run import Run, finished_folders, live_folder, load_run
from gapbook.record.schema import one_line
from gapbook.record.view import write_view
from gapbook.trial.asked import Asked, Together
from gapbook.trial.facts import machine
from gapbook.trial.measured import measured, to_measure

__all__ = ["Campaign"]

_FAILURES_IN_A_ROW = 2


class Campaign:
    """The campaign under way in the folder of live runs, or a new one.

    ``say`` hears one line of each session. Raises RecordError when what was kept of the campaign cannot be read.
    """

    def __init__(self, plans: Sequence[PublishedPlan], say: Callable[[str], None] = print) -> None:
        self.plans = plans
        self.units = units_of(plans)
        self.say = say
        self.folder = runs_directory()
        self._here = machine()
        self._at_work = [kind_of(self._here)]
        self._notes = CampaignNotes(self.folder)
        self._failed: Counter[tuple[str, str]] = Counter()
        self._finished: dict[str, dict[str, Run]] = {}

    def run(self, budget_s: float | None = None) -> list[str]:
        """Measure until every plan has a finished run; returns the chapters that have none, because each attempt
        at them failed.

        With a budget in seconds, each session is that of the unit whose printed intervals are widest for the time that
        a session takes, as long as one fits into what is left; the command then ends, to be given again.
        """
        with self._under_way():
            if budget_s is None:
                while left := [unit for unit in self.units if self._left_here(unit)]:
                    for unit in left:
                        self._session(unit)
            else:
                ends_s = time.monotonic() + budget_s
                while (best := self._next_within(ends_s - time.monotonic())) is not None:
                    self._session(best)
                if any(map(self._left_here, self.units)):
                    self.say(f"campaign: no session fits into what is left of {duration_words(budget_s)}")
            return self._end()

    def run_on(self, hosts: Hosts) -> list[str]:
        """The same with each session on a machine of ``hosts``, in the run of its kind; returns the chapters that have no
        run.

        What comes is kept here at once, so that the campaign goes on where it was, whatever ends. Raises what ``hosts``
        does.
        """
        self._at_work = []
        with self._under_way():
            for ended in hosts.measured(self._wanted_on):
                self._take(ended)
            # What a kind still has to do though the hosts have ended has no machine any more.
            self._at_work = [kind for kind in self._at_work if not self._left_on(kind)]
            return self._end()

    @contextmanager
    def _under_way(self) -> Iterator[None]:
        with taking_turns(self.folder, self.say):
            # Another command may have been at work on it until now.
            self._notes, self._finished = CampaignNotes(self.folder), {}
            self._notes.begin(self.units)
            self._cut_what_is_whole()
            progress = f", {self.progress()}" if self._at_work else ""
            self.say(f"campaign: {_chapters(len(self.plans))}{progress}")
            yield

    def _next_within(self, seconds: float) -> Unit | None:
        """The unit to measure next where only so much time is left; None where no session fits."""
        fitting = [
            (unit, session_s)
            for unit in self.units
            if self._left_here(unit) and (session_s := self._session_s(unit)) <= seconds
        ]
        best = max(fitting, key=lambda one: widest_log(one[0].chapters) / max(one[1], 1.0), default=None)
        return best and best[0]

    def _session_s(self, unit: Unit) -> float:
        """How long its next session takes, the shortest there is for one that nobody has measured yet."""
        kind = self._kind_here
        left_s, left = self._left_s(unit, kind), unit.sessions - self._done(unit, kind)
        return 0.0 if left_s is None else left_s / left

    def finished(self, plan: PublishedPlan) -> Mapping[str, Run]:
        """By kind of machine, the newest run of a plan that was finished in this campaign."""
        if plan.chapter not in self._finished:
            runs = [
                run
                for run in self._readable(plan.chapter)
                if self._is_of(plan, run, run.manifest.parameters or {})
            ]
            by_age = sorted(runs, key=lambda run: run.manifest.started_unix_s)
            self._finished[plan.chapter] = {kind_of(run.manifest.machine): run for run in by_age}
        return self._finished[plan.chapter]

    def _readable(self, chapter: str) -> Iterator[Run]:
        """The finished runs of a chapter that can be trusted; what is none is said, and in nobody's way."""
        for folder in finished_folders(chapter):
            try:
                yield load_run(folder)
            except RecordError as error:
                self.say(f"campaign: {chapter}: {error}")

    def progress(self) -> str:
        """``12 of 41 sessions done, about 3 h 20 min left``, of all kinds of machines that are at work"""
        each = [(unit, kind) for unit in self.units for kind in self._at_work]
        done = sum(self._done(unit, kind) for unit, kind in each)
        expected = [(unit, self._left_s(unit, kind)) for unit, kind in each]
        known = sum(one for _, one in expected if one is not None)
        unknown = {chapter for unit, one in expected if one is None for chapter in unit.chapters}
        left = f"about {duration_words(known)} left"
        if unknown:
            left += f", besides {_chapters(len(unknown))} that nobody has measured yet"
        return f"{done} of {sum(unit.sessions for unit, _ in each)} sessions done, {left}"

    def lines(self) -> list[str]:
        """What is to be measured, a line for each unit, and how far it is on which kind of machine."""
        told = []
        for unit in self.units:
            left_s = self._left_s(unit, self._kind_here)
            left = "nobody has measured it yet" if left_s is None else f"about {duration_words(left_s)} left"
            told.append(f"{unit.name}: {self._done_words(unit)}, {left}{_shared(unit)}")
        return [*told, f"{_chapters(len(self.plans))}: {self.progress()}"]

    def _done_words(self, unit: Unit) -> str:
        """``3 of 5 sessions done``; ``3 of 5 sessions done on this kind of machine, 5 on 2 cores of ...``"""
        others = [
            f"{self._done_on(unit, kind)} on {words}"
            for kind, words in self._kinds_of(unit).items()
            if kind != self._kind_here
        ]
        here = f"{self._done_on(unit, self._kind_here)} of {unit.sessions} sessions done"
        return ", ".join([f"{here} on this kind of machine", *others]) if others else here

    def _kinds_of(self, unit: Unit) -> Mapping[str, str]:
        """The kinds of machines that have sessions of a unit, each in words."""
        finished = {
            kind: kind_words(run.manifest.machine)
            for plan in unit.plans
            for kind, run in self.finished(plan).items()
        }
        return {**{kind: noted.machine for kind, noted in self._notes.of(unit).items()}, **finished}

    # --- one session --------------------------------------------------------------------------
    @property
    def _kind_here(self) -> str:
        return kind_of(self._here)

    def _session(self, unit: Unit) -> None:
        """Measure the next session of a unit; what fails is said, and the rest goes on."""
        # Somebody may have given this command less of the machine, or more, since it began.
        self._here = machine()
        self._at_work = [self._kind_here]
        try:
            for chapter in unit.chapters:
                install_on_demand(chapter)
            started = time.monotonic()
            self._measure(unit)
        except SessionsLeftError:
            pass
        except (GapbookError, PapermillExecutionError) as error:
            self._say_failed(unit, self._kind_here, _told(error))
            return
        self._say_done(unit, self._here, time.monotonic() - started)

    def _say_failed(self, unit: Unit, kind: str, why: str) -> None:
        self._failed[unit.name, kind] += 1
        last = self._failed[unit.name, kind] >= _FAILURES_IN_A_ROW
        after = "left out of this command" if last else "to be tried again"
        self.say(f"campaign: {unit.name}: {why}; what was measured is kept, {after}")

    def _say_done(self, unit: Unit, on: Machine, took_s: float) -> None:
        kind = kind_of(on)
        self._failed[unit.name, kind] = 0
        self._notes.add(unit, on, took_s)
        where = f" on {kind_words(on)}" if len(self._at_work) > 1 else ""
        self.say(
            f"campaign: {unit.name}, session {self._done(unit, kind)} of {unit.sessions}{where} "
            f"in {duration_words(took_s)}; {self.progress()}"
        )

    # --- sessions on other machines -----------------------------------------------------------
    def _wanted_on(self, kind: str) -> list[Wanted]:
        """All sessions that a kind of machine has left."""
        if kind not in self._at_work:
            self._at_work.append(kind)
        return [one for unit in self._left_on(kind) for one in self._wanted(unit, kind)]

    def _left_on(self, kind: str) -> list[Unit]:
        return [unit for unit in self.units if self._left(unit, kind)]

    def _wanted(self, unit: Unit, kind: str) -> Iterator[Wanted]:
        """The sessions of a unit that are to be measured elsewhere; one that has none left is finished here."""
        try:
            measurement = to_measure(_asked(unit), self.say).on(kind)
            left = measurement.sessions_left()
            if not left:
                self._finish(unit, measurement.finish())
            for session in left:
                yield Wanted(unit, session, measurement.plan_key, kind)
        except GapbookError as error:
            self._say_failed(unit, kind, str(error))

    def _take(self, ended: Ended) -> None:
        """Keep what came of a session; after the last one of a unit on a kind of machine, its runs are made."""
        unit, kind, number = ended.wanted.unit, ended.wanted.kind, ended.wanted.session + 1
        if ended.files is None:
            self._say_failed(unit, kind, f"session {number}: {ended.error}")
            return
        try:
            measurement = to_measure(_asked(unit), lambda line: None).on(kind)
            on = measurement.take(ended.wanted.session, ended.files, kind)
            if not measurement.sessions_left():
                self._finish(unit, measurement.finish())
        except GapbookError as error:
            self._say_failed(unit, kind, f"session {number}: {error}")
            return
        self._say_done(unit, on, ended.seconds)

    def _finish(self, unit: Unit, run: Run) -> None:
        if unit.together is not None:
            self._write_views(unit.together, run)
        for chapter in unit.chapters:
            self._finished.pop(chapter, None)

    def _measure(self, unit: Unit) -> None:
        """Raises SessionsLeftError when that was not the last session."""
        try:
            if unit.together is None:
                (plan,) = unit.plans
                execute_chapter(
                    plan.chapter, {**plan.given, "source": "session"}, folder=build_directory() / "campaign"
                )
            else:
                self._measure_together(unit.together)
        finally:
            for chapter in unit.chapters:
                self._finished.pop(chapter, None)
        for plan in unit.plans:
            if self._kind_here not in self.finished(plan):
                raise RecordError(f"its run is not in {live_folder(plan.chapter)}")

    def _measure_together(self, together: Together) -> None:
        """One session of all cells; after the last, the run of each chapter is cut from that of all."""
        self._write_views(together, measured(together.whole, "session", self.say))

    def _write_views(self, together: Together, run: Run) -> None:
        chapters = [one.chapter for one in together.asked]
        for view in together.views(run):
            write_view(run, view, chapters)

    def _cut_what_is_whole(self) -> None:
        """Cut the runs of chapters that were measured together from the run of all, where a command was ended before it had."""
        for unit in self.units:
            for run in () if unit.together is None else self._readable(unit.measured_as):
                kind, given = kind_of(run.manifest.machine), run.manifest.parameters or {}
                is_ours = all(self._is_of(plan, run, given.get(plan.chapter, {})) for plan in unit.plans)
                if is_ours and kind not in self._finished_on(unit):
                    try:
                        self._finish(unit, run)
                    except RecordError as error:
                        self._say_failed(unit, kind, str(error))

    def _left_here(self, unit: Unit) -> bool:
        return self._left(unit, self._kind_here)

    def _left(self, unit: Unit, kind: str) -> bool:
        """Whether a kind of machine has sessions of a unit to measure, and did not fail at them again and again."""
        return self._failed[unit.name, kind] < _FAILURES_IN_A_ROW and not self._over(unit, kind)

    def _over(self, unit: Unit, kind: str) -> bool:
        """Whether a kind of machine has no session of a unit to measure: it has finished it, or another has that it did
        not begin."""
        finished = self._finished_on(unit)
        return kind in finished or (bool(finished) and kind not in self._notes.of(unit))

    def _finished_on(self, unit: Unit) -> set[str]:
        """The kinds of machines that have a run of each chapter of a unit."""
        return set.intersection(*(set(self.finished(plan)) for plan in unit.plans))

    def _is_of(self, plan: PublishedPlan, run: Run, given: Mapping[str, object]) -> bool:
        """Whether a run, which was given these parameters for the plan's chapter, has those of the plan and was finished in
        this campaign."""
        table = chapter_parameters()
        same = all(
            given.get(name, table[name].absent) == value for name, value in measuring_parameters(plan).items()
        )
        finished_unix_s = run.manifest.finished_unix_s
        return same and finished_unix_s is not None and finished_unix_s >= self._notes.started_unix_s

    # --- how far it is ------------------------------------------------------------------------
    def _done(self, unit: Unit, kind: str) -> int:
        """Sessions of which nothing is left to do on a kind of machine."""
        return unit.sessions if self._over(unit, kind) else self._done_on(unit, kind)

    def _done_on(self, unit: Unit, kind: str) -> int:
        """Sessions that are known to be done on a kind of machine: one that ended between its last trial and our note
        counts later."""
        if kind in self._finished_on(unit):
            return unit.sessions
        return min(len(self._took_s(unit, kind)), unit.sessions - 1)

    def _left_s(self, unit: Unit, kind: str) -> float | None:
        """Seconds that a kind of machine still needs for a unit, from its own sessions or else from published runs; None
        when neither is there."""
        left = unit.sessions - self._done(unit, kind)
        took_s = self._took_s(unit, kind)
        if not left or took_s:
            return left * sum(took_s) / max(1, len(took_s))
        whole_s = unit.expected_s()
        return None if whole_s is None else whole_s * left / unit.sessions

    def _took_s(self, unit: Unit, kind: str) -> Sequence[float]:
        noted = self._notes.of(unit).get(kind)
        return () if noted is None else noted.seconds

    # --- the end ------------------------------------------------------------------------------
    def _end(self) -> list[str]:
        """Say what there is; a campaign that has nothing left is over, and the next is a new one."""
        for plan in self.plans:
            runs = self.finished(plan).values()
            for run in runs:
                where = f", on {kind_words(run.manifest.machine)}" if len(runs) > 1 else ""
                self.say(f"campaign: {plan.chapter}: run {run.run_id} in {run.folder}{where}")
        over = [unit for unit in self.units if all(self._over(unit, kind) for kind in self._at_work)]
        kept = {unit.name: self._unfinished(unit) for unit in over}
        for unit in over:
            for noted in kept[unit.name].values():
                self.say(
                    f"campaign: {unit.name}: {len(noted.seconds)} of {unit.sessions} sessions on {noted.machine} are "
                    "kept; a campaign on such a machine goes on with them"
                )
        if len(over) == len(self.units):
            self._notes.end(kept)
        return sorted(
            plan.chapter
            for unit in self.units
            if any(self._failed[unit.name, kind] >= _FAILURES_IN_A_ROW for kind in self._at_work)
            for plan in unit.plans
            if not self.finished(plan)
        )

    def _unfinished(self, unit: Unit) -> Mapping[str, OnKind]:
        """The sessions of a unit on kinds of machines that have no whole run of it."""
        finished = self._finished_on(unit)
        return {kind: noted for kind, noted in self._notes.of(unit).items() if kind not in finished}


def _asked(unit: Unit) -> Asked:
    if unit.asked is None:
        raise ParameterError(f"{unit.name}: it refuses its plan; run it here, and it says why")
    return unit.asked


def _told(error: Exception) -> str:
    """An error of ours is one line; of one in a notebook its name and value are."""
    if isinstance(error, PapermillExecutionError):
        return one_line(f"{error.ename}: {error.evalue}")
    return str(error)


def _chapters(number: int) -> str:
    return "1 chapter" if number == 1 else f"{number} chapters"


def _shared(unit: Unit) -> str:
    """How many cells are measured for chapters that are measured together, and how many they ask for."""
    if unit.together is None:
        return ""
    asked = sum(map(_cells, unit.together.asked))
    return f"; {_cells(unit.together.whole)} cells for the {asked} that they ask for"


def _cells(asked: Asked) -> int:
    return len({(planned.contestant, planned.treatment) for planned in asked.plan()})
