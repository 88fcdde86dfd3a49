"""One point, played: a run, its fault, what is left, the run gone on with, and what is left and lost then."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TypedDict

from faults.belongings import Belongings, mounts_below
from faults.endings import MAKERS, wrong_end, wrong_end_of_struck
from faults.false_server import FalseServer
from faults.kept import RUN_ID, beside_runs, changed, kept_trials, kept_work, lost, reported_trials
from faults.legs import CommandLeg, Folders, ForkedLeg, Leg
from faults.marks import Mark
from faults.points import Point
from faults.scenarios import COMMAND, tiny_runs
from faults.strike import Striker
from faults.surroundings import NamedServer, small_disk, small_lasting_disk
from gapbook.deploy import warden
from gapbook.deploy.deployment import Deployment
from gapbook.paths import CHECKOUT
from gapbook.record.schema import one_line

__all__ = ["Lengths", "Outcome", "Player"]

_NO_LENGTH_S = 0.1
_POLL_S = 0.005
_CLEAN_WITHIN_S = 120.0
"""Longer than a warden may take: what is there then was left, not late."""
_ENDS_WITHIN_S = 120.0
_MEGABYTES = {"data disk": 300, "runs disk": 4}
_OF_TRIALS = frozenset({"ceiling", "seed", "warm-up", "window", "drain", "audit"})
_OF_SESSIONS = frozenset({"setup", "start", "leave"})


@dataclass
class Lengths:
    """How long phases were so far, by run: a moment is a share of that."""

    _seen: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def add(self, run: str, marks: list[Mark]) -> None:
        for mark, following in pairwise(marks):
            self._seen.setdefault((run, mark.phase), []).append(following.at_s - mark.at_s)

    def of(self, run: str, phase: str) -> float:
        seen = sorted(self._seen.get((run, phase), [_NO_LENGTH_S]))
        return seen[len(seen) // 2]


class Outcome(TypedDict):
    """What came of a point, as a line of the ledger holds it (:class:`gapbook.record.fault_points.FaultPoint`), with
    the code and the last line of the run that was struck, and how many of its trials were kept."""

    point: int
    run: str
    kind: str
    victim: str
    aimed: str
    struck: str | None
    counts: bool
    code: int | None
    said: str
    kept: int
    leaks: list[str]
    lost: list[str]
    wrong: list[str]
    took_s: float


@dataclass
class Player:
    """Plays points, one after the other, in folders of their own below ``parent``."""

    parent: Path
    named: NamedServer | None
    lengths: Lengths = field(default_factory=Lengths)

    def play(self, point: Point) -> Outcome:
        """What came of a point, as a line of the ledger holds it; one that cannot be played is wrong."""
        root = Path(tempfile.mkdtemp(prefix="p-", dir=self.parent))
        folders = Folders(root)
        folders.make()
        played = _Played(point, folders, self)
        started = time.monotonic()
        try:
            self._play(played)
        except Exception as error:
            # Whatever it is, the next point is played.
            traceback.print_exc()
            played.wrong.append(f"it could not be played: {type(error).__name__}: {one_line(error)}")
        return played.outcome(round(time.monotonic() - started, 2))

    def _play(self, played: _Played) -> None:
        fault, folders = played.point.fault, played.folders
        with ExitStack() as around:
            around.callback(shutil.rmtree, folders.root, ignore_errors=True)
            if fault.kind == "full":
                around.enter_context(_full_disk(fault.victim, folders))
            if played.tiny.named:
                played.striker.between = around.enter_context(_before(self.named))
            around.callback(played.end)
            around.callback(played.striker.heal)
            played.run()


def _full_disk(victim: str, folders: Folders) -> AbstractContextManager[None]:
    """Of servers' data, or of runs. The first lasts: a promise to wait for the disk is refused on one that forgets."""
    if victim == "data disk":
        return small_lasting_disk(folders.data, _MEGABYTES[victim])
    return small_disk(folders.runs, _MEGABYTES[victim])


@contextmanager
def _before(server: NamedServer | None) -> Iterator[FalseServer]:
    if server is None:
        raise ValueError("there is no named server")
    between = FalseServer("true", server.port)
    try:
        yield between
    finally:
        between.end()


class _Played:
    def __init__(self, point: Point, folders: Folders, player: Player) -> None:
        self.point = point
        self.folders = folders
        self.player = player
        self.tiny = tiny_runs()[point.fault.run]
        self.striker = Striker(point.fault, folders)
        self.belongings = Belongings(folders.root)
        self.struck_in: str | None = None
        self.kept: dict[str, bytes] = {}
        self.code: int | None = None
        self.said = ""
        self.leaks: list[str] = []
        self.lost: list[str] = []
        self.wrong: list[str] = []
        self._legs: list[Leg] = []

    # --- the point ----------------------------------------------------------------------------
    def run(self) -> None:
        leg = self._leg(self._first_source)
        self._watch(leg)
        if self.struck_in is None:
            self._end_of_spared(leg)
            return
        self._end_of_first(leg)
        self.striker.heal()
        self._go_on()
        if self.striker.leaves_until_next:
            with Deployment(self.folders.data):
                pass  # the next start
        self.belongings.look()
        self.leaks += self._left(swept=True)
        self.leaks += beside_runs(self.folders.runs)
        self.lost += lost(self.kept, self.folders.runs)

    @property
    def _first_source(self) -> str:
        return "live" if self.tiny.sessions == 1 else "session"

    def _leg(self, source: str) -> Leg:
        name = f"leg-{len(self._legs)}"
        leg: Leg
        if self.tiny.name == COMMAND:
            leg = CommandLeg(self.folders, name, source)
        else:
            between = self.striker.between
            leg = ForkedLeg(
                self.folders,
                name,
                self.tiny,
                source,
                endpoint=self.player.named.endpoint(between.port) if between and self.player.named else None,
                before=(lambda: None) if self._legs else self.striker.prepare(),
            )
        self._legs.append(leg)
        return leg

    def _watch(self, leg: Leg) -> None:
        """Until the fault has struck, or the run is over."""
        fault, marks = self.point.fault, list[Mark]()
        due_s: float | None = None
        deadline = time.monotonic() + _ENDS_WITHIN_S
        while leg.poll() is None and time.monotonic() < deadline:
            new = leg.marks()
            marks += new
            for mark in new if due_s is None else ():
                if mark.phase == fault.phase and mark.occurrence >= self._occurrence:
                    due_s = mark.at_s + self.point.share * self.player.lengths.of(fault.run, fault.phase)
                    break
            if due_s is not None and time.monotonic() >= due_s and self._strike(leg, marks):
                break
            time.sleep(_POLL_S)
        marks += leg.marks()
        reached = any(mark.phase == fault.phase for mark in marks)
        if (
            self.struck_in is None
            and self.striker.strikes_from_the_start
            and reached
            and self._strike(leg, marks)
        ):
            # It may have ended the run sooner than anybody looked.
            self.struck_in = fault.phase
        self.player.lengths.add(fault.run, marks)

    @property
    def _occurrence(self) -> int:
        """Before how many of the phase's kind the fault passes over: of those that come once it takes that one."""
        if self.point.fault.phase in _OF_TRIALS:
            return self.point.occurrence
        return self.point.occurrence % self.tiny.sessions if self.point.fault.phase in _OF_SESSIONS else 0

    def _strike(self, leg: Leg, marks: list[Mark]) -> bool:
        if not self.striker.ready(leg.pid):
            return False
        self.belongings.look(leg.pid)
        before = kept_work(self.folders.runs)
        if not self.striker.strike(leg.pid):
            return False
        struck_at_s = time.monotonic()
        marks += leg.marks()
        self.kept = before
        self.struck_in = [mark.phase for mark in marks if mark.at_s <= struck_at_s][-1]
        if self.point.fault.kind in {"full", "answers"} and leg.poll() == 0:
            self.struck_in = None  # it was over before
        return True

    # --- afterwards ---------------------------------------------------------------------------
    def _end_of_spared(self, leg: Leg) -> None:
        """The run of a fault that found nobody is one that nothing ended."""
        self.wrong += wrong_end(leg, _ENDS_WITHIN_S)
        self.code, self.said = leg.poll(), leg.last_line()
        if self.code != 0 and not self.wrong:
            self.wrong.append(f"code {self.code} before anything struck: {self.said}")

    def _end_of_first(self, leg: Leg) -> None:
        problems = wrong_end_of_struck(leg, self.point.fault, _ENDS_WITHIN_S)
        self.code, self.said = leg.poll(), leg.last_line()
        if self.point.fault.victim in {*MAKERS, "kernel"} and self.code == 0:
            self.struck_in = None  # the signal came when all was done
            return
        self.wrong += problems
        self.leaks += self._left(swept=not self.striker.leaves_until_next)
        self.said = leg.last_line()  # its warden may have said more since
        if not self._finished():
            now = kept_work(self.folders.runs)
            self.lost += changed(self.kept, now)
            self.kept = now
            trials, reported = len(kept_trials(self.folders.runs)), reported_trials(leg.told())
            if trials < reported:
                self.lost.append(f"{reported} trials were reported, {trials} kept")

    def _finished(self) -> bool:
        return any(self.folders.runs.glob(f"*/{RUN_ID}/manifest.json"))

    def _go_on(self) -> None:
        """As a person would: resume what was begun, else begin again."""
        if self.code == 0 or self.struck_in is None:
            return
        begun = kept_trials(self.folders.runs) or self._finished()
        leg = self._leg("resume" if begun else self._first_source)
        self.wrong += wrong_end(leg, _ENDS_WITHIN_S)
        if leg.poll() != 0:
            self.wrong.append(f"it could not be gone on with: code {leg.poll()}: {leg.last_line()}")

    def _left(self, *, swept: bool) -> list[str]:
        """What is left once there was time to clean up."""
        deadline = time.monotonic() + _CLEAN_WITHIN_S
        while left := self._left_now(swept=swept):
            if time.monotonic() > deadline:
                return left
            time.sleep(0.05)
        return []

    def _left_now(self, *, swept: bool) -> list[str]:
        left = self.belongings.left(swept=swept)
        if swept and self.tiny.named and self.player.named is not None:
            left += self.player.named.left()
        return left

    def end(self) -> None:
        """Nothing of a point may be in the way of the next, whatever it left."""
        for leg in self._legs:
            if leg.poll() is None:
                self.belongings.look(leg.pid)
                leg.end()
            if isinstance(leg, ForkedLeg):
                leg.close()
        self._left(swept=True)
        warden.end_processes(self.belongings.still_alive(), signal.SIGKILL)
        for mount in mounts_below(self.folders.data / "gapbook-"):
            subprocess.run(["umount", "--lazy", mount], check=False)
        if self.tiny.named and self.player.named is not None:
            self.player.named.clear()

    def outcome(self, took_s: float) -> Outcome:
        fault = self.point.fault
        return {
            "point": self.point.number,
            "run": fault.run,
            "kind": fault.kind,
            "victim": fault.victim,
            "aimed": fault.phase,
            "struck": self.struck_in,
            "counts": self.struck_in is not None,
            "code": self.code,
            "said": self._placeless(self.said),
            "kept": len(self.kept),
            "leaks": self._once_each(self.leaks),
            "lost": self._once_each(self.lost),
            "wrong": self._once_each(self.wrong),
            "took_s": took_s,
        }

    def _once_each(self, found: list[str]) -> list[str]:
        return [self._placeless(one) for one in dict.fromkeys(found)]

    def _placeless(self, said: str) -> str:
        """Without the folder of the point, which nobody can look into any more, and that of the checkout."""
        return said.replace(f"{self.folders.root}/", "").replace(f"{CHECKOUT}/", "")
