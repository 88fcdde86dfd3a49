"""The harness under faults: some of the points of ``make faults``, as many as a bounded time allows."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from faults.__main__ import main
from faults.belongings import belongs_to
from gapbook.paths import CHECKOUT
from gapbook.record.fault_points import counted, failed, read_fault_points
from tests.drawn import drawn
from tests.running import environment_with, eventually

_SECONDS = 150
"""No point is begun after so long, except where all are asked for."""
_POINTS, _OF_ALL, _FEWEST = 12, 90, 5
"""How many count, when all cases are asked for, and on the slowest machine."""
_SEEDS = range(1, 1_000_000)


def test_points_leave_nothing_behind_and_lose_no_finished_trial(tmp_path: Path) -> None:
    ledger = tmp_path / "points.jsonl"
    seeds = drawn(_SEEDS, 1, of="fault points")
    every = len(seeds) > 1
    points = _OF_ALL if every else _POINTS
    asked = {"points": points, "seed": seeds[0], "jobs": 2, "file": ledger}
    asked |= {} if every else {"seconds": _SECONDS}
    done = subprocess.run(
        [sys.executable, "-m", "faults", *(f"--{name}={value}" for name, value in asked.items())],
        capture_output=True,
        text=True,
        cwd=CHECKOUT,
        env=environment_with({}),
        timeout=3600 if every else 2 * _SECONDS,
        check=False,
        encoding="utf-8",
    )
    played = read_fault_points(ledger)
    assert failed(played) == [], done.stdout
    assert done.returncode == 0, done.stderr
    assert len(counted(played)) >= _FEWEST, done.stdout
    # Half of all points are kills; of a dozen one at least, whichever are drawn.
    assert "kill" in {point.kind for point in counted(played)}


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
def test_what_cannot_be_played_is_refused(
    words: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["faults", *words, f"--file={tmp_path / 'points.jsonl'}"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert says in capsys.readouterr().err.splitlines()[-1]
    assert not list(tmp_path.iterdir())
