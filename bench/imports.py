"""How long it takes until something is said: import, help, a refusal, the doctor, and what notebooks import."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from statistics import median

from gapbook.errors import GapbookError
from gapbook.paths import CHECKOUT

__all__ = ["lines"]

_RUNS = 7
_COMMAND = "import sys; from gapbook.cli import main; sys.exit(main({!r}))"
_BARRED: Mapping[str, str] = {
    "import gapbook": "import gapbook",
    "gapbook --help": _COMMAND.format(["--help"]),
    "gapbook run of a parameter that is refused": _COMMAND.format(["run", "fair", "-p", "connections=0"]),
    "gapbook doctor, its first line": _COMMAND.format(["doctor"]),
}
_ALL_NAMES = "from gapbook import Chapter, Factor, claim"


def lines() -> Iterator[str]:
    """One line a statement: the median over runs in interpreters of their own, one more before them to compile."""
    for name, statement in _BARRED.items():
        yield f"{name}: {_median_s(statement):.2f} s (bar <= 0.5)"
    yield f"{_ALL_NAMES}, as notebooks begin: {_median_s(_ALL_NAMES):.2f} s"


def _median_s(statement: str) -> float:
    return median([_said_after_s(statement) for _ in range(_RUNS + 1)][1:])


def _said_after_s(statement: str) -> float:
    """Seconds from the start of an interpreter to its first word or its end; raises GapbookError when that is an error's."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    started = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", statement],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=CHECKOUT,
        env={**kept, "PYTHONPATH": str(CHECKOUT)},
    ) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        took_s = time.perf_counter() - started
        if b"Traceback" in said:
            raise GapbookError(f"{statement}: failed")
        process.kill()
    return took_s
