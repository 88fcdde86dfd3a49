"""The answer of a session reaches whoever asked for it, whatever else runs on the worker's machine."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from gapbook.deploy.deployment import sweep
from gapbook.hosts import task
from gapbook.hosts.request import Answer

_SESSION = "import pathlib, sys; sys.stdin.buffer.read(8); pathlib.Path(sys.argv[1]).write_bytes(b'came')"


@pytest.fixture(name="answer_to")
def _answer_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], bytes]:
    """The answer of a worker whose session is this script; another command sweeps the worker's files meanwhile."""
    executing = SimpleNamespace(tasks={"key": SimpleNamespace(state="executing")})
    worker = SimpleNamespace(get_current_task=lambda: "key", state=executing)
    start: Any = subprocess.Popen

    def answer_to(script: str) -> bytes:
        def sweeping(words: list[str], **how: Any) -> Any:
            sweep(tmp_path)
            assert list(tmp_path.iterdir()) == []
            return start([sys.executable, "-c", script, words[-1]], **how)

        monkeypatch.setattr(subprocess, "Popen", sweeping)
        return task.measure_session(b"request")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(task, "get_worker", lambda: worker)
    return answer_to


def test_an_answer_comes_through_a_file_that_nobody_can_find(answer_to: Callable[[str], bytes]) -> None:
    assert answer_to(_SESSION) == b"came"


def test_half_an_answer_of_a_session_that_was_ended_is_none(answer_to: Callable[[str], bytes]) -> None:
    answer = msgspec.msgpack.decode(answer_to(f"{_SESSION}; sys.exit(3)"), type=Answer)
    assert answer.error == "its process ended with 3 and left no answer"
