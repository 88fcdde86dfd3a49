"""A campaign: the published plans of several chapters, measured anew, session by session in turn.

A session of one chapter is followed by one of the next, so that each chapter's sessions lie hours apart and a
slow hour falls on all. Chapters that share their settings are measured together
(:mod:`gapbook.book.together`). What was measured stands in each chapter's own journal and runs; the campaign keeps
when it began and how long sessions took, no more, and finds the rest there. It can be ended at any moment,
in any way, and goes on where it was, on this machine or on another of its kind that is given the same files.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from papermill.exceptions import PapermillExecutionError

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
from gapbook.record.run import Run, finished_folders, live_folder, load_run
from gapbook.record.schema import one_line
from gapbook.record.view import write_view
from gapbook.record.whole import write_whole
from gapbook.trial.asked import Asked, Together
from gapbook.trial.facts import kind_sha256
from gapbook.trial.measured import measured, to_measure

__all__ = ["Campaign"]

_STATE = "campaign.json"
_FAILURES_IN_A_ROW = 2


class _Took(msgspec.Struct):
    """How long the sessions of a unit took that was measured with these parameters."""

    parameters: Mapping[str, object] = {}
    seconds: list[float] = []


class _State(msgspec.Struct):
    """When a campaign began, and what is known of its units, by name."""

    started_unix_s: float
    took_s: dict[str, _Took]


class Campaign:
    """The campaign under way in the folder of live runs, or a new one.

    ``say`` hears one line of each session. Raises RecordError when what was kept of the campaign cannot be read.
    """

    def __init__(self, plans: Sequence[PublishedPlan], say: Callable[[str], None] = print) -> None:
        self.plans = plans
        self.units = units_of(plans)
        self.say = say
        self.folder = runs_directory()
        self._state = self._kept()
        self._failed: Counter[str] = Counter()
        self._finished: dict[str, Run | None] = {}

    def run(self, budget_s: float | None = None) -> list[str]:
        """Measure until every plan has a finished run; returns the chapters that have none, because each attempt
        at them failed.

        With a budget in seconds, each session is that of the unit whose printed intervals are widest for the time that
        a session takes, as long as one fits into what is left; the command then ends, to be given again.
        """
        with self._under_way():
            if budget_s is None:
                while left := [unit for unit in self.units if self._left(unit)]:
                    for unit in left:
                        self._session(unit)
            else:
                ends_s = time.monotonic() + budget_s
                while (best := self._next_within(ends_s - time.monotonic())) is not None:
                    self._session(best)
                if any(map(self._left, self.units)):
                    self.say(f"campaign: no session fits into what is left of {duration_words(budget_s)}")
            return self._end()

    def run_on(self, hosts: Hosts) -> list[str]:
        """The same with each session on a machine of ``hosts``; returns the chapters that have no run.

        What comes is kept here at once, so that the campaign goes on where it was, whatever ends. Cuts of a disk's power
        are made here, after the last session. Raises what ``hosts`` does.
        """
        with self._under_way():
            while wanted := [one for unit in self.units if self._left(unit) for one in self._wanted(unit)]:
                for ended in hosts.measured(wanted):
                    self._take(ended)
            return self._end()

    @contextmanager
    def _under_way(self) -> Iterator[None]:
        with taking_turns(self.folder, self.say):
            # Another command may have been at work on it until now.
            self._state, self._finished = self._kept(), {}
            self._keep()
            self.say(f"campaign: {_chapters(len(self.plans))}, {self.progress()}")
            yield

    def _next_within(self, seconds: float) -> Unit | None:
        """The unit to measure next where only so much time is left; None where no session fits."""
        fitting = [
            (unit, session_s)
            for unit in self.units
            if self._left(unit) and (session_s := self._session_s(unit)) <= seconds
        ]
        best = max(fitting, key=lambda one: widest_log(one[0].chapters) / max(one[1], 1.0), default=None)
        return best and best[0]

    def _session_s(self, unit: Unit) -> float:
        """How long its next session takes, the shortest there is for one that nobody has measured yet."""
        left_s, left = self._left_s(unit), unit.sessions - self._done(unit)
        return 0.0 if left_s is None else left_s / left

    def finished(self, plan: PublishedPlan) -> Run | None:
        """The newest run of a plan that was finished in this campaign."""
        if plan.chapter not in self._finished:
            runs = [run for run in self._readable(plan) if self._is_of(plan, run)]
            newest = max(runs, key=lambda run: run.manifest.started_unix_s, default=None)
            self._finished[plan.chapter] = newest
        return self._finished[plan.chapter]

    def _readable(self, plan: PublishedPlan) -> Iterator[Run]:
        """The finished runs of a chapter that can be trusted; what is none is said, and in nobody's way."""
        for folder in finished_folders(plan.chapter):
            try:
                yield load_run(folder)
            except RecordError as error:
                self.say(f"campaign: {plan.chapter}: {error}")

    def progress(self) -> str:
        """``12 of 41 sessions done, about 3 h 20 min left``"""
        done = sum(self._done(unit) for unit in self.units)
        expected = [(unit, self._left_s(unit)) for unit in self.units]
        known = sum(one for _, one in expected if one is not None)
        unknown = sum(len(unit.plans) for unit, one in expected if one is None)
        left = f"about {duration_words(known)} left"
        if unknown:
            left += f", besides {_chapters(unknown)} that nobody has measured yet"
        return f"{done} of {sum(unit.sessions for unit in self.units)} sessions done, {left}"

    def lines(self) -> list[str]:
        """What is to be measured, a line for each unit, and how far it is."""
        told = []
        for unit in self.units:
            left_s = self._left_s(unit)
            left = "nobody has measured it yet" if left_s is None else f"about {duration_words(left_s)} left"
            told.append(
                f"{unit.name}: {self._done(unit)} of {unit.sessions} sessions done, {left}{_shared(unit)}"
            )
        return [*told, f"{_chapters(len(self.plans))}: {self.progress()}"]

    # --- one session --------------------------------------------------------------------------
    def _session(self, unit: Unit) -> None:
        """Measure the next session of a unit; what fails is said, and the rest goes on."""
        try:
            for chapter in unit.chapters:
                install_on_demand(chapter)
            started = time.monotonic()
            self._measure(unit)
        except SessionsLeftError:
            pass
        except (GapbookError, PapermillExecutionError) as error:
            self._say_failed(unit, _told(error))
            return
        self._say_done(unit, time.monotonic() - started)

    def _say_failed(self, unit: Unit, why: str) -> None:
        self._failed[unit.name] += 1
        last = self._failed[unit.name] == _FAILURES_IN_A_ROW
        after = "left out of this command" if last else "to be tried again"
        self.say(f"campaign: {unit.name}: {why}; what was measured is kept, {after}")

    def _say_done(self, unit: Unit, took_s: float) -> None:
        self._failed[unit.name] = 0
        self._took_s(unit).append(took_s)
        self._keep()
        self.say(
            f"campaign: {unit.name}, session {self._done(unit)} of {unit.sessions} "
            f"in {duration_words(took_s)}; {self.progress()}"
        )

    # --- sessions on other machines -----------------------------------------------------------
    def _wanted(self, unit: Unit) -> Iterator[Wanted]:
        """The sessions of a unit that are to be measured elsewhere; one that has none left is finished here."""
        try:
            measurement = to_measure(_asked(unit), self.say)
            begun_on, left = measurement.begun_on(), measurement.sessions_left()
            if not left:
                self._finish(unit, measurement.run("resume"))
            for session in left:
                kind = None if begun_on is None else kind_sha256(begun_on)
                yield Wanted(unit, session, measurement.plan_key, kind)
        except GapbookError as error:
            self._say_failed(unit, str(error))

    def _take(self, ended: Ended) -> None:
        """Keep what came of a session; after the last one of a unit, its runs are made."""
        unit, number = ended.wanted.unit, ended.wanted.session + 1
        if ended.files is None:
            self._say_failed(unit, f"session {number}: {ended.error}")
            return
        try:
            measurement = to_measure(_asked(unit), lambda line: None)
            measurement.take(ended.wanted.session, ended.files)
            if not measurement.sessions_left():
                self._finish(unit, measurement.run("resume"))
        except GapbookError as error:
            self._say_failed(unit, f"session {number}: {error}")
            return
        self._say_done(unit, ended.seconds)

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
            if self.finished(plan) is None:
                raise RecordError(f"its run is not in {live_folder(plan.chapter)}")

    def _measure_together(self, together: Together) -> None:
        """One session of all cells; after the last, the run of each chapter is cut from that of all."""
        self._write_views(together, measured(together.whole, "session", self.say))

    def _write_views(self, together: Together, run: Run) -> None:
        chapters = [one.chapter for one in together.asked]
        for view in together.views(run):
            write_view(run, view, chapters)

    def _left(self, unit: Unit) -> bool:
        return self._failed[unit.name] < _FAILURES_IN_A_ROW and not self._over(unit)

    def _over(self, unit: Unit) -> bool:
        return all(self.finished(plan) for plan in unit.plans)

    def _is_of(self, plan: PublishedPlan, run: Run) -> bool:
        """Whether a run has the parameters of the plan and was finished in this campaign."""
        given, table = run.manifest.parameters or {}, chapter_parameters()
        same = all(
            given.get(name, table[name].absent) == value for name, value in measuring_parameters(plan).items()
        )
        finished_unix_s = run.manifest.finished_unix_s
        return same and finished_unix_s is not None and finished_unix_s >= self._state.started_unix_s

    # --- how far it is ------------------------------------------------------------------------
    def _done(self, unit: Unit) -> int:
        """Sessions that are known to be done: one that ended between its last trial and our note counts later."""
        return unit.sessions if self._over(unit) else min(len(self._took_s(unit)), unit.sessions - 1)

    def _left_s(self, unit: Unit) -> float | None:
        """Seconds that a unit still takes, from its own sessions or else from published runs; None when neither is
        there."""
        left = unit.sessions - self._done(unit)
        took_s = self._took_s(unit)
        if not left or took_s:
            return left * sum(took_s) / max(1, len(took_s))
        whole_s = unit.expected_s()
        return None if whole_s is None else whole_s * left / unit.sessions

    def _took_s(self, unit: Unit) -> list[float]:
        """How long the sessions of a unit took; empty for one that was changed since."""
        kept = self._state.took_s.setdefault(unit.name, _Took())
        if kept.parameters != unit.measuring_parameters:
            kept.parameters, kept.seconds = unit.measuring_parameters, []
        return kept.seconds

    # --- what is kept -------------------------------------------------------------------------
    def _end(self) -> list[str]:
        """Say what there is; a campaign that has nothing left is over, and the next is a new one."""
        for plan in self.plans:
            if run := self.finished(plan):
                self.say(f"campaign: {plan.chapter}: run {run.run_id} in {run.folder}")
        left = {unit.name for unit in self.units if not self._over(unit)}
        over = {unit.name for unit in self.units} - left
        if self._state.took_s.keys() <= over:
            self._path.unlink(missing_ok=True)
        elif not left:
            # What another command measures is still to be gone on with; ours is not.
            self._state.took_s = {name: took for name, took in self._state.took_s.items() if name not in over}
            self._keep()
        return sorted(
            plan.chapter
            for unit in self.units
            if self._failed[unit.name] >= _FAILURES_IN_A_ROW
            for plan in unit.plans
            if self.finished(plan) is None
        )

    @property
    def _path(self) -> Path:
        return self.folder / _STATE

    def _kept(self) -> _State:
        """What was kept of a campaign, or the beginning of a new one."""
        if not self._path.is_file():
            return _State(time.time(), {})
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=_State)
        except (msgspec.MsgspecError, ValueError, RecursionError, OSError) as error:
            raise RecordError(
                f"campaign: {self._path} cannot be read ({one_line(error)}); remove it to begin a new campaign, "
                "trials of interrupted runs are kept all the same"
            ) from error

    def _keep(self) -> None:
        try:
            write_whole(self._path, msgspec.json.format(msgspec.json.encode(self._state), indent=1))
        except OSError as error:
            raise RecordError(
                f"campaign: {self._path} cannot be written ({error.strerror}); trials measured so far are kept; "
                "make room, then give the same command again"
            ) from error


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
