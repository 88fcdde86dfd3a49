"""The answer of a session reaches whoever asked for it, whatever else runs on the worker's machine."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gapbook.deploy.deployment import sweep
from gapbook.hosts import task

_SESSION = "import pathlib, sys; sys.stdin.buffer.read(8); pathlib.Path(sys.argv[1]).write_bytes(b'came')"


def test_a_command_that_sweeps_abandoned_deployments_away_takes_no_answer_with_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    executing = SimpleNamespace(tasks={"key": SimpleNamespace(state="executing")})
    worker = SimpleNamespace(get_current_task=lambda: "key", state=executing)
    start: Any = subprocess.Popen

    def sweeping(words: list[str], **how: Any) -> Any:
        sweep(tmp_path)
        return start([sys.executable, "-c", _SESSION, words[-1]], **how)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(task, "get_worker", lambda: worker)
    monkeypatch.setattr(subprocess, "Popen", sweeping)
    assert task.measure_session(b"request") == b"came"
    assert list(tmp_path.iterdir()) == []
