"""The harness under faults: some of the points of ``make faults``, as many as a bounded time allows."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from faults.belongings import belongs_to
from gapbook.paths import CHECKOUT
from gapbook.record.fault_points import counted, failed, read_fault_points
from tests.integration.running import environment_with, eventually

_SECONDS = 150
_POINTS, _FEWEST = 90, 5  # at least so many on the slowest machine
_SEED = 1176  # kills and interrupts are among the first, also where no disk can be cut or made small


def test_points_leave_nothing_behind_and_lose_no_finished_trial(tmp_path: Path) -> None:
    ledger = tmp_path / "points.jsonl"
    asked = {"points": _POINTS, "seconds": _SECONDS, "seed": _SEED, "jobs": 2, "file": ledger}
    done = subprocess.run(
        [sys.executable, "-m", "faults", *(f"--{name}={value}" for name, value in asked.items())],
        capture_output=True,
        text=True,
        cwd=CHECKOUT,
        env=environment_with({}),
        timeout=2 * _SECONDS,
        check=False,
        encoding="utf-8",
    )
    points = read_fault_points(ledger)
    assert failed(points) == [], done.stdout
    assert done.returncode == 0, done.stderr
    assert len(counted(points)) >= _FEWEST, done.stdout
    assert {"kill", "interrupt"} <= {point.kind for point in counted(points)}


def test_whoever_plays_points_takes_down_what_is_under_way_when_it_is_ended(
    data_folder: Path, tmp_path: Path
) -> None:
    playing = subprocess.Popen(
        [sys.executable, "-m", "faults", "--only=sqlite", "--jobs=2", f"--file={tmp_path / 'points.jsonl'}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=CHECKOUT,
        env=environment_with({}),
        encoding="utf-8",
    )
    try:
        assert eventually(lambda: _deployments(data_folder) == 2, 60)
    finally:
        playing.send_signal(signal.SIGTERM)
        _, errors = playing.communicate(timeout=90)
    assert playing.returncode == 128 + signal.SIGINT, errors
    assert eventually(lambda: not list(data_folder.iterdir()) and not belongs_to(data_folder))


def _deployments(folder: Path) -> int:
    with contextlib.suppress(FileNotFoundError):  # a point ended at this moment
        return len(list(folder.glob("gf-*/p-*/data/gapbook-*")))
    return 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--jobs=0"], "--jobs 0 is refused; allowed: 1 or more"),
        (["--points=-1"], "--points -1 is refused; allowed: 1 or more"),
        (["--seconds=nan"], "--seconds nan is refused; allowed: more than 0"),
        (["--only=kill,nobody"], "--only kill,nobody: no fault has all of these; allowed: answers, "),
    ],
)
def test_what_cannot_be_played_is_refused(words: list[str], says: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "faults", *words, f"--file={tmp_path / 'points.jsonl'}"],
        capture_output=True,
        text=True,
        cwd=CHECKOUT,
        env=environment_with({}),
        timeout=60,
        check=False,
        encoding="utf-8",
    )
    assert done.returncode == 2
    assert says in done.stderr.splitlines()[-1]
    assert not list(tmp_path.iterdir())
