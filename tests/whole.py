"""All tests, two suites at a time: ``make test`` takes a sample of what is long by nature, ``make test-all`` all of it.

Servers and browsers wait much, so two suites side by side leave the processors less idle than either does; whichever
ends makes room for the next. Systems that take minutes to compile are built beside the first suites and asked
in the last ones. At the end stands what each suite cost, and a row for each system; a system that could run here and of
which no case passed fails the run.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
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
_FAILURES = ("FAILED ", "ERROR ")
"""So begins pytest's line about a case that failed."""
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
    failures: Sequence[str] = ()
    """What pytest says of each case that failed, in a line."""


_AT_A_TIME = 2
# Servers are asked what is true, not how fast. What a file starts it may also interrupt: each file in one process.
_BY_FILE = ("-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")
_SUITES = (
    Suite("unit", ["-n", "2"]),
    # What is measured here beside the published book: two browsers, and one build of it.
    Suite("book", ["-n", "2", "--dist", "loadgroup"]),
    Suite("hosts", _BY_FILE),
    Suite("integration", _BY_FILE, needs_all_systems=True),
    Suite("contract", ["-n", "2", "--dist", "loadgroup"], needs_all_systems=True),
    Suite("failures", _BY_FILE, needs_all_systems=True),
)
"""In the order in which they begin; what waits for a compiler comes late, and what is short comes last."""


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
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gapbook-tests-") as folder, _building(Path(folder)) as built:
        rows = Path(folder) / "rows.jsonl"
        rows.touch()
        running = _Running(Path(folder), rows, built, alone=len(suites) == 1, all_cases=chosen.all)
        with ThreadPoolExecutor(_AT_A_TIME) as pool:
            ended = list(pool.map(running.suite, suites))
        asked = read_rows(rows)
    wall_s = time.monotonic() - began_s
    print(f"\n{rows_text(asked)}\n\n{_costs_text(ended, wall_s)}")
    whole = len(ended) == len(_SUITES)
    silent = failing(asked) if whole else []
    for name in silent:
        print(f"gapbook: {name}: not one case passed", file=sys.stderr)
    # Again, where they are looked for: what the suites printed is long.
    for line in (line for one in ended for line in one.failures):
        print(line, file=sys.stderr)
    passed = not silent and all(one.passed for one in ended)
    if chosen.write_costs:
        _write_costs(ended, wall_s)
    if chosen.all and whole:
        _write_down(ended, passed=passed)
    return 0 if passed else 1


@dataclass
class _Built:
    """Waits until every system is built, and says once what went wrong; what then is missing is skipped, and counted."""

    building: subprocess.Popen[bytes]
    log: Path
    said: bool = False
    _asked: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self) -> None:
        with self._asked:
            if self.building.poll() is None:
                print("systems that compile for minutes: waiting until they are built", flush=True)
            if self.building.wait() and not self.said:
                self.said = True
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


@dataclass(frozen=True)
class _Running:
    """Runs suites; where there are several, what one says is printed when it has ended."""

    folder: Path
    rows: Path
    built: _Built
    alone: bool
    all_cases: bool
    _printing: threading.Lock = field(default_factory=threading.Lock)

    def suite(self, suite: Suite) -> Ended:
        if suite.needs_all_systems:
            self.built()
        self._print(f"\n--- {suite.name}: started")
        environment = os.environ | {ROWS_VARIABLE: str(self.rows)}
        environment |= {"GAPBOOK_DRAW": "all"} if self.all_cases else {}
        command = [*_PYTEST, f"tests/{suite.name}", *suite.options, f"--durations={_SLOWEST}"]
        log = self.folder / f"{suite.name}.log"
        began_s = time.monotonic()
        with log.open("wb") as told:
            out = None if self.alone else told
            process = subprocess.Popen(command, cwd=CHECKOUT, env=environment, stdout=out, stderr=out)
            # With what it used, and its children, and theirs: of the clock two suites have the same.
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        said = log.read_text(encoding="utf-8", errors="replace")
        self._print(f"\n--- {suite.name}: ended\n{said}")
        return Ended(
            suite.name,
            process.returncode == 0,
            time.monotonic() - began_s,
            used.ru_utime + used.ru_stime,
            [line for line in said.splitlines() if line.startswith(_FAILURES)],
        )

    def _print(self, text: str) -> None:
        with self._printing:
            print(text, flush=True)


def _costs_text(ended: Sequence[Ended], wall_s: float) -> str:
    width = shutil.get_terminal_size().columns
    lines = [f"{'suite':12} {'result':7} {'minutes':>8} {'of processors':>14}"]
    lines += [
        f"{one.suite:12} {'passed' if one.passed else 'FAILED':7} {one.wall_s / 60:8.1f} {one.cpu_s / 60:14.1f}"
        for one in (*ended, _all(ended, wall_s))
    ]
    return "\n".join(line[:width] for line in lines)


def _all(ended: Sequence[Ended], wall_s: float) -> Ended:
    """All suites: two run side by side, so their minutes are not the sum."""
    return Ended("all", all(one.passed for one in ended), wall_s, sum(one.cpu_s for one in ended))


def _write_costs(ended: Sequence[Ended], wall_s: float) -> None:
    """Replace the table between the two marks."""
    head, begin, rest = _CONTRIBUTING.read_text(encoding="utf-8").partition(_COSTS_BEGIN)
    _, end, tail = rest.partition(_COSTS_END)
    rows = [
        f"| {one.suite} | {one.wall_s / 60:.1f} | {one.cpu_s / 60:.1f} |"
        for one in (*ended, _all(ended, wall_s))
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
