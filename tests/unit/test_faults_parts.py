"""What plays fault points can see every leak and every loss that it is there for."""

from __future__ import annotations

import ctypes
import fcntl
import json
import mmap
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from faults.belongings import Belongings
from faults.endings import wrong_end, wrong_end_of_struck
from faults.kept import beside_runs, changed, compared, kept_trials, kept_work, reported_trials
from faults.ledger import Ledger, table
from faults.legs import Folders, Leg
from faults.marks import Mark, Marker
from faults.points import Fault, combinations, point
from faults.scenarios import COMMAND, tiny_runs
from faults.surroundings import no_small_disk, small_disk
from faults.victims import find_victims
from gapbook.record.fault_points import counted, failed
from gapbook.record.journal import Journal
from tests.running import eventually
from tests.unit import stored_runs as runs

_LISTENS = """
import socket, time
with socket.create_server(("127.0.0.1", 0)):
    print("listens", flush=True)
    time.sleep(600)
"""


@pytest.fixture(name="listener")
def _listener(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-c", _LISTENS],
        stdout=subprocess.PIPE,
        env={**os.environ, "GAPBOOK_DATA": str(tmp_path)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"listens\n"
    yield process
    process.kill()
    process.communicate()


# --- what is left -----------------------------------------------------------------------------
def test_a_process_and_its_port_are_seen_and_missed(
    tmp_path: Path, listener: subprocess.Popen[bytes]
) -> None:
    belongings = Belongings(tmp_path)
    belongings.look()
    assert [line.split(" ")[0] for line in belongings.left()] == ["process", "port"]
    listener.kill()
    listener.wait()
    assert eventually(lambda: not belongings.left())


def test_a_process_that_nobody_names_is_known_by_its_parent(
    tmp_path: Path, listener: subprocess.Popen[bytes]
) -> None:
    elsewhere = Belongings(tmp_path / "elsewhere")
    assert elsewhere.left() == []
    elsewhere.look(listener.pid)
    assert [line.split(" ")[0] for line in elsewhere.left()] == ["process", "port"]


def test_folders_and_locks_are_seen(tmp_path: Path) -> None:
    for folder in ("data/gapbook-1/postgres-2", "tmp/gapbook-3", "runs/faults/incomplete-key"):
        (tmp_path / folder).mkdir(parents=True)
    belongings = Belongings(tmp_path)
    assert [line.rpartition("/")[2] for line in belongings.left()] == ["gapbook-1", "gapbook-3"]
    assert belongings.left(swept=False) == []
    held = os.open(tmp_path / "runs/faults/incomplete-key", os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    assert [line.split(" ")[0] for line in belongings.left(swept=False)] == ["lock"]
    os.close(held)
    assert belongings.left(swept=False) == []


def test_a_mount_is_seen(tmp_path: Path) -> None:
    if why := no_small_disk():
        pytest.skip(why)
    place = tmp_path / "data/gapbook-1/disk"
    place.mkdir(parents=True)
    with small_disk(place, 1):
        assert f"mount {place}" in Belongings(tmp_path).left()
        assert Belongings(tmp_path).left(swept=False) == []
    assert f"mount {place}" not in Belongings(tmp_path).left()


def test_shared_memory_and_its_files_are_seen(tmp_path: Path) -> None:
    server = tmp_path / "data/gapbook-1/postgres-2"
    server.mkdir(parents=True)
    key, library, belongings = (
        ctypes.c_int32(server.stat().st_ino).value,
        ctypes.CDLL(None),
        Belongings(tmp_path),
    )
    segment = library.shmget(key, 4096, 0o1600)  # see shmget(2): made here
    file = Path("/dev/shm") / f"test-of-gapbook-{os.getpid()}"
    with file.open("w+b") as opened:
        opened.truncate(4096)
        with mmap.mmap(opened.fileno(), 4096):
            belongings.look(os.getpid())
    # The test itself is no part of a run.
    belongings.processes.clear()
    belongings.sockets.clear()
    # Servers of other tests may live on, with files of their own.
    own = {f"shared memory {key}", f"shared memory {file}"}
    try:
        assert own <= set(belongings.left())
        assert belongings.left(swept=False) == []
    finally:
        file.unlink()
        library.shmctl(segment, 0, None)
    assert not own & set(belongings.left())


def test_who_is_not_there_is_not_struck(tmp_path: Path, listener: subprocess.Popen[bytes]) -> None:
    assert find_victims("server", tmp_path, listener.pid) == []
    assert find_victims("harness and warden", tmp_path, listener.pid) == []
    assert find_victims("harness", tmp_path, listener.pid) == [listener.pid]


# --- what is lost -----------------------------------------------------------------------------
def _begun(folder: Path) -> dict[str, bytes]:
    """What a journal held of two trials before its run was finished."""
    journal = Journal(folder / runs.CHAPTER, "key", runs.planned_trials(1))
    with journal.locked(resume=False):
        for row in runs.whole(1)[:2]:
            journal.add(row)
    kept = kept_trials(folder)
    journal.remove()
    return kept


def test_a_finished_run_has_what_was_kept_or_it_is_said_what_it_lacks(tmp_path: Path) -> None:
    kept = _begun(tmp_path)
    assert list(kept) == ["trial-00000.json", "trial-00001.json"]
    assert compared(kept, tmp_path) == ["0 finished runs"]
    rows: list[dict[str, Any]] = runs.whole(1)
    run = runs.store(tmp_path / runs.CHAPTER, rows)
    assert compared(kept, tmp_path) == []
    other = json.loads(kept["trial-00001.json"])
    other["content"]["goodput_per_s"] *= 1 + 2**-52
    assert compared({**kept, "trial-00001.json": json.dumps(other).encode()}, tmp_path) == [
        "trial 1: its trials.parquet are not those that were kept",
        "trial 1: its metrics.parquet are not those that were kept",
    ]
    (run.folder / "trials.parquet").write_bytes(b"cut")
    (line,) = compared(kept, tmp_path)
    assert "trials.parquet was changed" in line


def test_a_kept_trial_that_changes_or_goes_is_said() -> None:
    before = {"trial-00000.json": b"a", "trial-00001.json": b"b"}
    assert changed(before, {**before, "trial-00002.json": b"c"}) == []
    assert changed(before, {"trial-00001.json": b"B"}) == [
        "trial-00000.json: gone",
        "trial-00001.json: changed",
    ]
    assert reported_trials("starting postgres\ntrial 1/3, block 1\ntrial 2/3, block 2\n") == 2


def test_rounds_of_kills_and_cuts_are_kept_too(tmp_path: Path) -> None:
    cut = {"contestant": "sqlite", "round": 3, "lost": 0}
    journal = Journal(tmp_path / runs.CHAPTER, "key", runs.planned_trials(1))
    with journal.locked(resume=False):
        journal.write_plan({"facts": {"started_unix_s": 1.0, "cut_checks": [cut]}})
        before = kept_work(tmp_path)
    assert list(before) == ["cut_checks sqlite 3"]
    runs.store(tmp_path / runs.CHAPTER, runs.whole(1))
    assert compared(before, tmp_path) == ["cut_checks sqlite 3: gone"]


def test_a_journal_that_goes_as_it_is_read_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = tmp_path / runs.CHAPTER / "incomplete-key"
    journal.mkdir(parents=True)
    found = Path.glob

    def removed(folder: Path, pattern: str) -> Iterator[Path]:
        yield from list(found(folder, pattern))
        shutil.rmtree(journal, ignore_errors=True)

    monkeypatch.setattr(Path, "glob", removed)
    assert kept_work(tmp_path) == {}


def test_what_lies_beside_the_finished_run_is_seen(tmp_path: Path) -> None:
    assert beside_runs(tmp_path) == []
    for name in ("0123456789ab", "incomplete-0123456789ab", ".staged-0123456789ab"):
        (tmp_path / runs.CHAPTER / name).mkdir(parents=True)
    assert [line.rpartition("/")[2] for line in beside_runs(tmp_path)] == [
        ".staged-0123456789ab",
        "incomplete-0123456789ab",
    ]


# --- how a leg ends ---------------------------------------------------------------------------
class _Ended(Leg):
    def __init__(self, folder: Path, code: int | None, errors: str) -> None:
        super().__init__(Folders(folder), "leg")
        self.errors.write_text(errors, encoding="utf-8")
        self._code = code

    def poll(self) -> int | None:
        return self._code

    def end(self) -> None:
        self._code = -9

    def marks(self) -> list[Mark]:
        return []


_OF_STARTING_KERNEL = "gapbook: chapter x: its kernel did not start: it was ended from outside by signal 9 (SIGKILL, as where memory is short)\n"
_OF_KERNEL = "gapbook: chapter x: its kernel was ended from outside by signal 9 (SIGKILL, as where memory is short); trials finished so far are kept\n"


@pytest.mark.parametrize(
    ("kind", "victim", "code", "errors", "problems"),
    [
        ("kill", "harness", -9, "", []),
        ("kill", "harness and warden", -9, "", []),
        ("interrupt", "harness", 130, "gapbook: interrupted\n", []),
        ("interrupt", "harness", 2, "gapbook: no\n", ["code 2 after interrupt, not 130: gapbook: no"]),
        ("kill", "client", 0, "", []),
        ("kill", "client", 2, "gapbook: no\n", []),
        ("kill", "client", -11, "", ["code -11 after kill, not 0 or 2: "]),
        ("kill", "client", 2, "", ["code 2 without a line"]),
        ("kill", "client", 2, "gapbook: a\ngapbook: b\n", ["not one line: gapbook: a | gapbook: b"]),
        ("kill", "client", 1, "Traceback\ngapbook: a\n", ["not one line: Traceback"]),
        ("answers", "mute", 2, "gapbook: d is still there (no)\ngapbook: a\n", []),
        ("answers", "mute", 2, "gapbook: d is still there (no)\n", ["code 2 without a line"]),
        ("kill", "kernel", 2, _OF_KERNEL, []),
        ("kill", "kernel", 2, _OF_STARTING_KERNEL, []),
        ("kill", "kernel", 2, "gapbook: no\n", ["its kernel was killed, and it says: gapbook: no"]),
        ("kill", "kernel", 1, _OF_KERNEL, [f"code 1 after kill, not 2: {_OF_KERNEL.strip()}"]),
    ],
)
def test_a_leg_ends_as_its_fault_has_it_and_in_one_line(
    kind: str, victim: str, code: int, errors: str, problems: list[str], tmp_path: Path
) -> None:
    fault = Fault("sqlite", kind, victim, "window")
    assert wrong_end_of_struck(_Ended(tmp_path, code, errors), fault, 1.0) == problems


def test_a_leg_that_hangs_is_ended_and_said(tmp_path: Path) -> None:
    leg = _Ended(tmp_path, None, "")
    assert wrong_end(leg, 0.05) == ["it hung for 0.05 s and was ended"]
    assert leg.poll() == -9


# --- which points, and their lines ------------------------------------------------------------
def test_what_comes_within_kills_and_cuts_is_theirs_and_what_comes_after_is_told() -> None:
    reading, writing = os.pipe()
    marker = Marker(writing)
    for phase, following in (("kills", "leave"), ("cuts", "finish")):
        marker._marking(lambda: marker.mark("setup"), phase)()
        marker.mark(following)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as lines:
        phases = [Mark.read(line).phase for line in lines]
    assert phases == ["kills", "leave", "cuts", "finish"]


def test_every_fault_comes_once_before_one_comes_again_and_a_seed_says_when() -> None:
    total = len(combinations())
    turns = [[point(1, turn * total + place) for place in range(total)] for turn in range(2)]
    for turn in turns:
        assert Counter(one.fault for one in turn) == Counter(combinations())
    assert [one.fault for one in turns[0]] != [one.fault for one in turns[1]]
    assert turns[0] == [point(1, place) for place in range(total)]
    assert [one.share for one in turns[0]] != [point(2, place).share for place in range(total)]
    assert {one.fault.run for one in turns[0]} == set(tiny_runs())
    without = {point(1, number, frozenset({COMMAND})).fault.run for number in range(total)}
    assert without == set(tiny_runs()) - {COMMAND}
    assert "full" in {one.fault.kind for one in turns[0]}
    small = {point(1, number, frozenset({"full"})).fault.kind for number in range(total)}
    assert small == {one.fault.kind for one in turns[0]} - {"full"}


def _outcome(number: int, **changed: Any) -> dict[str, Any]:
    return {
        "point": number,
        "run": "sqlite",
        "kind": "kill",
        "victim": "harness",
        "aimed": "window",
        "struck": "window",
        "counts": True,
        "leaks": [],
        "lost": [],
        "wrong": [],
        "took_s": 1.0,
        **changed,
    }


def test_the_ledger_counts_what_struck_and_names_what_failed(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "deep" / "points.jsonl")
    assert ledger.points() == []
    ledger.add(_outcome(3, leaks=["process 7"]))
    ledger.add(_outcome(1))
    ledger.add(_outcome(2, struck=None, counts=False))
    with ledger.path.open("a", encoding="utf-8") as file:
        file.write('{"point": 4, "ru')
    assert [one.point for one in ledger.points()] == [1, 2, 3]
    ledger.add(_outcome(5, struck=None, counts=False))
    played = ledger.points()
    assert [one.point for one in played] == [1, 2, 3, 5]
    assert [one.point for one in counted(played)] == [1, 3]
    assert [one.point for one in failed(played)] == [3]
    lines = [line.split() for line in table(played)]
    assert lines[1] == ["kill:", "harness", "2", "1", "0", "0", "window", "2"]
    assert lines[2] == ["all", "2", "1", "0", "0", "window", "2"]
    assert lines[3][0] == "2"
    assert table(played)[-1] == "point 3: sqlite, kill harness in window: leaks: process 7"
