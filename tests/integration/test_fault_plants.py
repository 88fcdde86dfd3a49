"""Points find what is put in on purpose: things left behind, trials lost, ends that are none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from faults.belongings import belongs_to
from faults.surroundings import named_server
from gapbook.paths import CHECKOUT
from tests.integration.running import environment_with

# In a process of its own: whoever plays points forks, which no process with threads may.
_PLAYS = """
import json, sys
from pathlib import Path
from faults.play import Player
from faults.points import Fault, Point
point = Point(0, Fault(*sys.argv[2:]), occurrence=1, share=0.5)
print(json.dumps(Player(Path(sys.argv[1]), None).play(point)))
"""
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
# However late the fault comes, it comes within the window that it is meant for.
_LONG_WINDOWS = """
from dataclasses import replace
from faults.scenarios import Tiny
scenario = Tiny.scenario.fget
Tiny.scenario = property(lambda tiny: replace(scenario(tiny), window_s=4.0))
"""
_IMPATIENT = """
from faults import play
play._CLEAN_WITHIN_S = 3.0
"""
_SOON_HUNG = "play._ENDS_WITHIN_S = 8.0"
_HARNESS = ("sqlite", "interrupt", "harness", "window")
_CLIENT = ("sqlite", "kill", "client", "window")


def _played(folder: Path, plant: str, *fault: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", f"{plant}{_PLAYS}", folder, *fault],
        capture_output=True,
        text=True,
        cwd=CHECKOUT,
        env=environment_with({}),
        timeout=240,
        check=False,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    # Whatever a point found, it takes down: the next is not to be blamed for it.
    assert not list(folder.iterdir())
    assert belongs_to(folder) == {}
    outcome: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return outcome


@pytest.mark.parametrize("fault", [_HARNESS, _CLIENT], ids=["harness", "client"])
def test_a_sound_harness_leaves_loses_and_mistakes_nothing(fault: tuple[str, ...], data_folder: Path) -> None:
    outcome = _played(data_folder, _LONG_WINDOWS, *fault)
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
    plant: str, fault: tuple[str, ...], column: str, says: str, data_folder: Path
) -> None:
    outcome = _played(data_folder, _IMPATIENT + plant, *fault)
    assert any(says in line for line in outcome[column]), outcome


def test_a_database_that_was_left_on_a_named_server_is_found_and_taken_away(data_folder: Path) -> None:
    with named_server(data_folder) as server:
        assert server.left() == []
        server._session.execute("CREATE DATABASE gapbook_left")
        assert server.left() == ["database gapbook_left"]
        server.clear()
        assert server.left() == []
