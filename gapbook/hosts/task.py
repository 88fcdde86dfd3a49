"""The task that Dask hands to a worker: a process for the session, ended when nobody wants its answer any more."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
from distributed import get_worker

from gapbook.hosts.request import Answer
from gapbook.paths import CHECKOUT

__all__ = ["measure_session"]

_LOOKS_EVERY_S = 0.5


def measure_session(request: bytes) -> bytes:
    """The answer to a request (:mod:`gapbook.hosts.request`), both encoded. Runs in a thread of a worker."""
    worker = get_worker()
    key = str(worker.get_current_task())
    # By its name no abandoned deployment, which others on this machine would sweep away while it is empty.
    with tempfile.TemporaryDirectory(prefix="answer-of-gapbook-") as folder:
        answer = Path(folder) / "answer"
        process = subprocess.Popen(
            [sys.executable, "-m", "gapbook.hosts.session", str(answer)],
            cwd=CHECKOUT,
            stdin=subprocess.PIPE,
        )
        assert process.stdin is not None
        with process.stdin:
            process.stdin.write(len(request).to_bytes(8, "big") + request)
            process.stdin.flush()
            while process.poll() is None and _is_wanted(worker, key):
                time.sleep(_LOOKS_EVERY_S)
        process.wait()
        if answer.is_file():
            return answer.read_bytes()
    ended = Answer(error=f"its process ended with {process.returncode} and left no answer")
    return msgspec.msgpack.encode(ended)


def _is_wanted(worker: object, key: str) -> bool:
    """Whether the scheduler still waits for a task that runs here."""
    state = worker.state.tasks.get(key)  # type: ignore[attr-defined]
    return state is not None and state.state == "executing"
