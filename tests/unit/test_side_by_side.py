"""Notebooks executed side by side, each by a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gapbook.book import side_by_side
from gapbook.book.kernel import SharedKernel
from gapbook.book.side_by_side import execute_chapters
from gapbook.errors import GapbookError, RecordError

_BOUND_S = 30.0


@pytest.fixture
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_by_side, "allowed_processors", lambda: [1, 3])


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + _BOUND_S
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} was never made"
        time.sleep(0.01)


@pytest.mark.usefixtures("two_processors")
def test_two_are_at_work_at_a_time_and_each_gets_its_parameters(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def execute(name: str, parameters: Mapping[str, Any], *, folder: Path, kernel: SharedKernel) -> None:
        del kernel
        (folder / name).write_text(parameters["source"], encoding="utf-8")
        _wait_for(folder / {"first": "second", "second": "first"}.get(name, name))

    monkeypatch.setattr(side_by_side, "execute_chapter", execute)
    wanted = {name: {"source": f"of {name}"} for name in ("first", "second", "third")}
    assert {done.name for done in execute_chapters(wanted, tmp_path)} == set(wanted)
    assert {name: (tmp_path / name).read_text(encoding="utf-8") for name in wanted} == {
        name: f"of {name}" for name in wanted
    }
    assert multiprocessing.active_children() == []


@pytest.mark.usefixtures("two_processors")
def test_error_of_one_is_raised_as_it_is_and_ends_the_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def execute(name: str, parameters: Mapping[str, Any], *, folder: Path, kernel: SharedKernel) -> None:
        del kernel
        del parameters
        if name == "patient":
            (folder / "patient-begun").touch()
            time.sleep(_BOUND_S)
            (folder / "patient-ended").touch()
        _wait_for(folder / "patient-begun")
        raise RecordError("run 1: trials.parquet is missing")

    monkeypatch.setattr(side_by_side, "execute_chapter", execute)
    with pytest.raises(RecordError, match=r"^run 1: trials\.parquet is missing$"):
        list(execute_chapters({"patient": {}, "hasty": {}, "never": {}}, tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["patient-begun"]
    assert multiprocessing.active_children() == []


def test_one_that_is_killed_is_named_and_what_was_made_before_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def execute(name: str, parameters: Mapping[str, Any], *, folder: Path, kernel: SharedKernel) -> None:
        del kernel
        del parameters
        if name == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        (folder / name).touch()

    monkeypatch.setattr(side_by_side, "execute_chapter", execute)
    monkeypatch.setattr(side_by_side, "allowed_processors", lambda: [1])
    made = execute_chapters({"made": {}, "killed": {}, "never": {}}, tmp_path)
    assert next(made).name == "made"
    with pytest.raises(GapbookError, match=r"^chapter killed: its execution ended before"):
        next(made)
    assert [path.name for path in tmp_path.iterdir()] == ["made"]
