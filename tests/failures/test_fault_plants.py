"""Points find what is put in on purpose: things left behind, trials lost, ends that are none."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from faults.belongings import belongs_to
from faults.surroundings import named_server
from gapbook.paths import CHECKOUT
from tests.running import environment_with

# In a process of its own: whoever plays points forks, which no process with threads may. Each point in a fork of it, so
# that libraries are loaded once and what is put in stays in one point.
_PLAYS = """
import json, os, sys, traceback
from pathlib import Path
from faults.parents import end_with_parent
from faults.play import Player
from faults.points import Fault, Point
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            end_with_parent()
            folder, plant, fault = json.loads(line)
            exec(plant, {})
            point = Point(0, Fault(*fault), occurrence=1, share=0.5)
            print(json.dumps(Player(Path(folder), None).play(point)), flush=True)
            code = 0
        except BaseException:
            traceback.print_exc()
        os._exit(code)
    if os.waitpid(child, 0)[1]:
        print("null", flush=True)
"""
_PLAYED_WITHIN_S = 240.0
_LEAVES_A_PROCESS = """
import subprocess
from gapbook.load.client import ClientRun
run = ClientRun.run
def leaving(self, deployment):
    subprocess.Popen(["sleep", "600"], start_new_session=True)
    return run(self, deployment)
ClientRun.run = leaving
"""
_LEAVES_ITS_FOLDER = """
from gapbook.deploy import warden
warden.remove = lambda directory: []
"""
_FINISHES = """
import os, signal, time
from gapbook.errors import RecordError
from gapbook.record.journal import Journal
finish = Journal.finish
def finishing(self, manifest):
    {does}
    return finish(self, manifest)
Journal.finish = finishing
"""
_LEAVES_ITS_JOURNAL = """
from gapbook.record.journal import Journal
Journal.remove = lambda self: None
"""
_KEEPS_NOTHING = """
from gapbook.record.journal import Journal
Journal.add = lambda self, row: None
"""
_CHANGES_A_TRIAL = """
from gapbook.record.journal import Journal
in_order = Journal._in_order
def changed(self):
    first, *others = in_order(self)
    return [{**first, "took_s": first["took_s"] + 1.0}, *others]
Journal._in_order = changed
"""
_CANNOT_RUN = """
from gapbook.errors import SetupError
from gapbook.trial import campaign
def refuse(*arguments):
    raise SetupError("nothing runs")
campaign.require_servers = refuse
"""
# However late the fault comes, it comes within the window that it is meant for; a few operations a second fill it as well
# as all that a processor can do.
_LONG_WINDOWS = """
from dataclasses import replace
from faults.scenarios import Tiny
scenario = Tiny.scenario.fget
def longer(tiny):
    short = scenario(tiny)
    calm = tuple(replace(one, rate_per_s=50.0) for one in short.contestants)
    return replace(short, contestants=calm, window_s=4.0)
Tiny.scenario = property(longer)
"""
_IMPATIENT = """
from faults import play
play._CLEAN_WITHIN_S = 3.0
"""
_SOON_HUNG = "play._ENDS_WITHIN_S = 8.0"
_HARNESS = ("sqlite", "interrupt", "harness", "window")
_CLIENT = ("sqlite", "kill", "client", "window")


Played = Callable[[Path, str, tuple[str, ...]], dict[str, Any]]
"""What came of a fault, played in a folder with something put into the harness."""


@pytest.fixture(name="played", scope="module")
def _played() -> Iterator[Played]:
    with subprocess.Popen(
        [sys.executable, "-c", _PLAYS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=CHECKOUT,
        env=environment_with({}),
        encoding="utf-8",
    ) as player:
        assert player.stdin is not None
        assert player.stdout is not None
        asked, told = player.stdin, player.stdout

        def played(folder: Path, plant: str, fault: tuple[str, ...]) -> dict[str, Any]:
            overdue = threading.Timer(_PLAYED_WITHIN_S, player.kill)
            overdue.start()
            try:
                asked.write(f"{json.dumps([str(folder), plant, fault])}\n")
                asked.flush()
                line = told.readline()
            finally:
                overdue.cancel()
            outcome: dict[str, Any] | None = json.loads(line or "null")
            assert outcome is not None, "whoever played it broke, and says why on standard error"
            # Whatever a point found, it takes down: the next is not to be blamed for it.
            assert not list(folder.iterdir())
            assert belongs_to(folder) == {}
            return outcome

        yield played


@pytest.mark.parametrize("fault", [_HARNESS, _CLIENT], ids=["harness", "client"])
def test_a_sound_harness_leaves_loses_and_mistakes_nothing(
    fault: tuple[str, ...], played: Played, data_folder: Path
) -> None:
    outcome = played(data_folder, _LONG_WINDOWS, fault)
    assert outcome["counts"]
    assert outcome["struck"] == "window"
    assert [outcome[name] for name in ("leaks", "lost", "wrong")] == [[], [], []]


@pytest.mark.parametrize(
    ("plant", "fault", "column", "says"),
    [
        (_LEAVES_A_PROCESS, _HARNESS, "leaks", "b'sleep 600"),
        (_LEAVES_ITS_FOLDER, _HARNESS, "leaks", "folder data/gapbook-"),
        (_LEAVES_ITS_JOURNAL + _LONG_WINDOWS, _CLIENT, "leaks", "folder runs/faults/incomplete-"),
        (_KEEPS_NOTHING + _LONG_WINDOWS, _HARNESS, "lost", "1 trials were reported, 0 kept"),
        (_CHANGES_A_TRIAL, _HARNESS, "lost", "trial 0: its trials.parquet are not those that were kept"),
        (_FINISHES.format(does="raise RecordError('one\\ntwo')"), _CLIENT, "wrong", "not one line: two"),
        (_FINISHES.format(does="raise ValueError('none of ours')"), _CLIENT, "wrong", "none of ours"),
        (
            _FINISHES.format(does="os.kill(os.getpid(), signal.SIGSEGV)") + _LONG_WINDOWS,
            _CLIENT,
            "wrong",
            "code -11 after kill",
        ),
        (_FINISHES.format(does="time.sleep(600)") + _SOON_HUNG, _CLIENT, "wrong", "it hung for 8 s"),
        (_CANNOT_RUN, _CLIENT, "wrong", "code 2 before anything struck: gapbook: nothing runs"),
        (
            "",
            ("named", "kill", "harness", "window"),
            "wrong",
            "it could not be played: ValueError: there is no",
        ),
    ],
    ids=[
        "a process",
        "a folder",
        "a journal",
        "trials not kept",
        "a trial changed",
        "two lines",
        "a trace",
        "a crash",
        "a hang",
        "no run",
        "no point",
    ],
)
def test_what_is_put_in_is_found(
    plant: str, fault: tuple[str, ...], column: str, says: str, played: Played, data_folder: Path
) -> None:
    outcome = played(data_folder, _IMPATIENT + plant, fault)
    assert any(says in line for line in outcome[column]), outcome


def test_a_database_that_was_left_on_a_named_server_is_found_and_taken_away(data_folder: Path) -> None:
    with named_server(data_folder) as server:
        assert server.left() == []
        server._session.execute("CREATE DATABASE gapbook_left")
        assert server.left() == ["database gapbook_left"]
        server.clear()
        assert server.left() == []
