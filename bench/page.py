"""A page from a stored run: the command that executes its notebook, here and in an earlier checkout."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench.pairs import NotRun, Ratio, alternating
from bench.programs import run_program
from gapbook.deploy.deployment import Deployment
from gapbook.errors import SetupError
from gapbook.paths import CHECKOUT
from gapbook.record.run import latest_published

__all__ = ["ratios"]

_VARIABLE = "BENCH_OLD_CHECKOUT"
_CHAPTERS = ("calibration", "fair")
_BAR = "<= 1.2"
_BOUND_S = 600.0
_COMMAND = "import sys; from gapbook.cli import main; sys.exit(main(sys.argv[1:]))"


def ratios(deployment: Deployment, pairs: int) -> Iterator[Ratio | NotRun]:
    for chapter in _CHAPTERS:
        name = f"page of {chapter} from a stored run ÷ the checkout before"
        run_id = latest_published(chapter).run_id
        try:
            earlier = _earlier(chapter, run_id)
        except SetupError as error:
            yield NotRun(name, str(error))
            continue
        ours, theirs = (
            partial(_executed, deployment, checkout, chapter, run_id) for checkout in (CHECKOUT, earlier)
        )
        for each in (ours, theirs):  # compiles what is imported, and fills caches of fonts and pages
            each()
        done = alternating(ours, theirs, pairs)
        for quantity, place in (("time", 0), ("CPU", 1)):
            sides = tuple((our[place], their[place]) for our, their in done)
            yield Ratio(name, quantity, "s", sides, _BAR)


def _earlier(chapter: str, run_id: str) -> Path:
    """The earlier checkout; raises SetupError unless it is one that holds the same published run."""
    named = os.environ.get(_VARIABLE)
    if not named:
        raise SetupError(f"{_VARIABLE} is not set; name an earlier checkout of this repository")
    checkout = Path(named).expanduser().resolve()
    if not (checkout / "gapbook" / "cli.py").is_file():
        raise SetupError(f"{_VARIABLE}={named} is no checkout of this repository; name one")
    if not _own_python(checkout).is_file():
        raise SetupError(f"{_VARIABLE}={named} has no environment of its own; run: make setup in it")
    if not (checkout / "results" / chapter / run_id).is_dir():
        raise SetupError(f"{_VARIABLE}={named} holds no results/{chapter}/{run_id}; name one that does")
    return checkout


def _executed(deployment: Deployment, checkout: Path, chapter: str, run_id: str) -> tuple[float, float]:
    """Seconds, and seconds of CPU with those of the kernel, of the command on that checkout's own code."""
    own = _own_python(checkout)
    started = time.perf_counter()
    ended = run_program(
        deployment,
        [
            own if own.is_file() else sys.executable,
            *("-c", _COMMAND, "run", chapter, "-p", f"source={run_id}", "--no-page"),
        ],
        name=f"page-{chapter}",
        bound_s=_BOUND_S,
        environment={**os.environ, "PYTHONPATH": str(checkout), "PYTHONDONTWRITEBYTECODE": ""},
        working_directory=checkout,
    )
    return time.perf_counter() - started, ended.cpu_s


def _own_python(checkout: Path) -> Path:
    """The interpreter of a checkout, whose packages and entry points are those that its code knows."""
    return checkout / ".venv" / "bin" / "python"
