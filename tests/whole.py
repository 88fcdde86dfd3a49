"""All tests, suite by suite: ``make test`` takes a sample of what is long by nature, ``make test-all`` all of it.

Systems that take minutes to compile are built beside the first suites and asked in the last ones. At the end stands
what each suite cost, and a row for each system; a system that could run here and of which no case passed fails the run.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from gapbook.book.whole_run import LAST_WHOLE_RUN, WholeRun
from gapbook.paths import CHECKOUT
from gapbook.streams import speak_in_what_streams_know
from gapbook.trial.facts import code_version
from tests.asked import ROWS_VARIABLE, failing, read_rows, rows_text

_PYTEST = [sys.executable, "-m", "pytest"]
_NICE = 19
_SLOWEST = 10
"""So many of a suite's cases are named with their time."""
_LOG_LINES = 15
_CONTRIBUTING = CHECKOUT / "CONTRIBUTING.md"
_COSTS_BEGIN, _COSTS_END = "<!-- costs: python -m tests.whole --write-costs -->", "<!-- end of costs -->"


@dataclass(frozen=True)
class Suite:
    """A folder of tests and how its cases are spread over processes."""

    name: str
    options: Sequence[str]
    needs_all_systems: bool = False


@dataclass(frozen=True)
class Ended:
    """How a suite ended, and what it took: of the clock, and of the processors, its servers included."""

    suite: str
    passed: bool
    wall_s: float
    cpu_s: float


_SUITES = (
    Suite("unit", ["-n", "auto", "--maxprocesses", "4"]),
    # What is measured here beside the published book: two browsers, and one build of it.
    Suite("book", ["-n", "2", "--dist", "loadgroup"]),
    # Servers are asked what is true, not how fast, and wait much: three processes at a time, even on two cores.
    # What a file starts it may also interrupt: each file in one process.
    Suite("integration", ["-n", "3", "--dist", "loadfile"], needs_all_systems=True),
    Suite("contract", ["-n", "3", "--dist", "loadgroup"], needs_all_systems=True),
)


def main() -> int:
    """Run the suites; 1 where one failed or a system was not asked."""
    speak_in_what_streams_know()
    parser = argparse.ArgumentParser(prog="python -m tests.whole", description=__doc__)
    parser.add_argument(
        "--all", action="store_true", help="every case, none left to another day; is written down"
    )
    parser.add_argument(
        "suites", nargs="*", metavar="SUITE", help=f"of {', '.join(one.name for one in _SUITES)}"
    )
    parser.add_argument(
        "--write-costs", action="store_true", help="put what each suite cost into CONTRIBUTING.md"
    )
    chosen = parser.parse_args()
    unknown = sorted(set(chosen.suites) - {one.name for one in _SUITES})
    if unknown:
        parser.error(f"no suite {', '.join(unknown)}; allowed: {', '.join(one.name for one in _SUITES)}")
    suites = [one for one in _SUITES if not chosen.suites or one.name in chosen.suites]
    with tempfile.TemporaryDirectory(prefix="gapbook-tests-") as folder, _building(Path(folder)) as built:
        rows = Path(folder) / "rows.jsonl"
        rows.touch()
        ended = []
        for suite in suites:
            if suite.needs_all_systems:
                built()
            ended.append(_run(suite, rows, all_cases=chosen.all))
        asked = read_rows(rows)
    print(f"\n{rows_text(asked)}\n\n{_costs_text(ended)}")
    silent = failing(asked) if len(suites) == len(_SUITES) else []
    for name in silent:
        print(f"gapbook: {name}: not one case passed", file=sys.stderr)
    passed = not silent and all(one.passed for one in ended)
    if chosen.write_costs:
        _write_costs(ended)
    if chosen.all and len(suites) == len(_SUITES):
        _write_down(ended, passed=passed)
    return 0 if passed else 1


@dataclass(frozen=True)
class _Built:
    """Waits until every system is built, and says what went wrong; what then is missing is skipped, and counted."""

    building: subprocess.Popen[bytes]
    log: Path

    def __call__(self) -> None:
        if self.building.poll() is None:
            print("systems that compile for minutes: waiting until they are built", flush=True)
        if self.building.wait():
            told = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
            print("\n".join(["systems that compile for minutes: not all are built", *told[-_LOG_LINES:]]))


@contextlib.contextmanager
def _building(folder: Path) -> Iterator[_Built]:
    """Installs the systems that a plain set-up leaves out, at the lowest priority; ended, if it still runs."""
    log = folder / "setup.log"
    with log.open("wb") as out:
        building = subprocess.Popen(
            ["nice", "-n", str(_NICE), sys.executable, "-m", "gapbook", "setup", "--all"],
            cwd=CHECKOUT, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            yield _Built(building, log)
        finally:
            building.terminate()
            building.wait()


def _run(suite: Suite, rows: Path, *, all_cases: bool) -> Ended:
    print(f"\n--- {suite.name}", flush=True)
    environment = os.environ | {ROWS_VARIABLE: str(rows)} | ({"GAPBOOK_DRAW": "all"} if all_cases else {})
    began_s, used_s = time.monotonic(), _cpu_s()
    done = subprocess.run(
        [*_PYTEST, f"tests/{suite.name}", *suite.options, f"--durations={_SLOWEST}"],
        cwd=CHECKOUT,
        env=environment,
        check=False,
    )
    return Ended(suite.name, done.returncode == 0, time.monotonic() - began_s, _cpu_s() - used_s)


def _cpu_s() -> float:
    """What children that have ended used."""
    used = os.times()
    return used.children_user + used.children_system


def _costs_text(ended: Sequence[Ended]) -> str:
    width = shutil.get_terminal_size().columns
    lines = [f"{'suite':12} {'result':7} {'minutes':>8} {'of processors':>14}"]
    lines += [
        f"{one.suite:12} {'passed' if one.passed else 'FAILED':7} {one.wall_s / 60:8.1f} {one.cpu_s / 60:14.1f}"
        for one in ended
    ]
    return "\n".join(line[:width] for line in lines)


def _write_costs(ended: Sequence[Ended]) -> None:
    """Replace the table between the two marks."""
    head, begin, rest = _CONTRIBUTING.read_text(encoding="utf-8").partition(_COSTS_BEGIN)
    _, end, tail = rest.partition(_COSTS_END)
    rows = [
        f"| {one.suite} | {one.wall_s / 60:.1f} | {one.cpu_s / 60:.1f} |"
        for one in [*ended, Ended("all", True, sum(x.wall_s for x in ended), sum(x.cpu_s for x in ended))]
    ]
    when = f"Measured on {datetime.now(UTC):%d %B %Y}, on {os.cpu_count()} processors."
    table = ["", when, "", "| suite | minutes | minutes of processors |", "| --- | --- | --- |", *rows, ""]
    _CONTRIBUTING.write_text("".join([head, begin, "\n".join(table), end, tail]), encoding="utf-8")


def _write_down(ended: Sequence[Ended], *, passed: bool) -> None:
    run = WholeRun(
        date=datetime.now(UTC).date().isoformat(),
        commit=code_version().revision,
        passed=passed,
        minutes={one.suite: round(one.wall_s / 60, 1) for one in ended},
    )
    LAST_WHOLE_RUN.write_bytes(msgspec.json.format(msgspec.json.encode(run), indent=2) + b"\n")


if __name__ == "__main__":
    sys.exit(main())
