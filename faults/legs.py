"""One leg of a point: a process that makes a run, or goes on with one, watched from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from faults.marks import Mark, Marker
from faults.parents import end_with_parent
from faults.scenarios import Tiny, obtain
from faults.shorter import shorten
from gapbook.errors import GapbookError, SessionsLeftError
from gapbook.paths import CHECKOUT

__all__ = ["CommandLeg", "Folders", "ForkedLeg", "Leg"]

_INTERRUPTED, _REFUSED, _BROKEN = 130, 2, 1
_MOSTLY_REFUSED = 3
"""The command's own code for a run that is finished, and says little."""
_ENDED_WITHIN_S = 10.0
_CHAPTER = "both-optimized"
_PARAMETERS = {
    "contestants": "postgres-rust",
    "alpha": "0.5",
    "blocks": "2",
    "sessions": "1",
    "attempts": "1",
    "kills": "0",
    "window_s": "0.5",
    "warmup_s": "0.2",
    "accounts": "100",
}


@dataclass(frozen=True)
class Folders:
    """Where a point keeps everything: nothing of it may lie anywhere else."""

    root: Path

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    @property
    def temporary(self) -> Path:
        return self.root / "tmp"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "GAPBOOK_DATA": str(self.data),
            "GAPBOOK_RUNS": str(self.runs),
            "TMPDIR": str(self.temporary),
        }

    def make(self) -> None:
        for folder in (self.root, self.data, self.runs, self.temporary):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o755)


class Leg(ABC):
    """A process that was started; it is waited for here and nowhere else."""

    def __init__(self, folders: Folders, name: str) -> None:
        self.output = folders.root / f"{name}.out"
        self.errors = folders.root / f"{name}.err"
        self.pid = 0
        self._code: int | None = None

    @abstractmethod
    def marks(self) -> list[Mark]:
        """The phases that began since this was called last."""

    def poll(self) -> int | None:
        """The exit code, below 0 for a signal; None while it runs."""
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._code = os.waitstatus_to_exitcode(status)
        return self._code

    def wait(self, within_s: float) -> int | None:
        """The exit code; None when it hangs."""
        deadline = time.monotonic() + within_s
        while self.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        return self._code

    def end(self) -> None:
        """End it, whatever it does; what it started is left to its warden."""
        os.kill(self.pid, signal.SIGKILL)
        self.wait(_ENDED_WITHIN_S)

    def said(self) -> list[str]:
        """What it wrote to standard error, line by line."""
        return _text(self.errors).splitlines()

    def last_line(self) -> str:
        """The last of these, cut short; empty where there is none."""
        return (self.said() or [""])[-1][:300]

    def told(self) -> str:
        """What it wrote to standard output."""
        return _text(self.output)


def _text(path: Path) -> str:
    """What a file holds; nothing where it was not begun yet."""
    return path.read_text(errors="replace", encoding="utf-8") if path.is_file() else ""


class ForkedLeg(Leg):
    """A run without a notebook, made by a child that need not load any library first."""

    def __init__(
        self,
        folders: Folders,
        name: str,
        tiny: Tiny,
        source: str,
        *,
        endpoint: str | None = None,
        before: Callable[[], None] = lambda: None,
    ) -> None:
        """``before`` is called in the child before the run begins."""
        super().__init__(folders, name)
        self._pipe, writing = os.pipe()
        os.set_blocking(self._pipe, False)
        self._unread = b""
        self.pid = os.fork()
        if self.pid == 0:
            _be(self, folders, Marker(writing), before, lambda say: obtain(tiny, source, endpoint, say))
        os.close(writing)

    def marks(self) -> list[Mark]:
        while True:
            try:
                read = os.read(self._pipe, 65536)
            except BlockingIOError:
                break
            if not read:
                break
            self._unread += read
        *lines, self._unread = self._unread.split(b"\n")
        return [Mark.read(line.decode()) for line in lines]

    def close(self) -> None:
        os.close(self._pipe)


def _be(
    leg: Leg,
    folders: Folders,
    marker: Marker,
    before: Callable[[], None],
    make: Callable[[Callable[[str], None]], None],
) -> NoReturn:
    """Be the process that makes the run, in a session of its own."""
    code = _BROKEN
    try:
        os.setsid()
        end_with_parent()
        for path, number in ((Path(os.devnull), 0), (leg.output, 1), (leg.errors, 2)):
            opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
            os.dup2(opened, number)
            os.close(opened)
        sys.stdout, sys.stderr = (
            os.fdopen(1, "w", 1, encoding="utf-8"),
            os.fdopen(2, "w", 1, encoding="utf-8"),
        )
        os.environ.update(folders.environment)
        tempfile.tempdir = None
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        shorten()
        marker.hook()
        before()
        code = _told(make, marker)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _told(make: Callable[[Callable[[str], None]], None], marker: Marker) -> int:
    """Make the run and end as the command would: with a line for what it raises."""

    def say(line: str) -> None:
        print(line)
        marker.said(line)

    try:
        while True:
            try:
                make(say)
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                return 0
            except SessionsLeftError:
                continue
    except GapbookError as error:
        print(f"gapbook: {error}", file=sys.stderr)
        return _REFUSED
    except KeyboardInterrupt:
        print("gapbook: interrupted", file=sys.stderr)
        return _INTERRUPTED


class CommandLeg(Leg):
    """``gapbook run`` of a chapter, as a reader gives it; its phases are told by its own lines."""

    def __init__(self, folders: Folders, name: str, source: str) -> None:
        super().__init__(folders, name)
        given = {**_PARAMETERS, "source": source}
        words = [word for pair in given.items() for word in ("-p", "=".join(pair))]
        with self.output.open("wb") as output, self.errors.open("wb") as errors:
            self._popen = subprocess.Popen(
                [Path(sys.executable).parent / "gapbook", "run", _CHAPTER, "--no-page", *words],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                cwd=CHECKOUT,
                env={**os.environ, "PYTHONPATH": str(CHECKOUT), **folders.environment},
                start_new_session=True,
                preexec_fn=end_with_parent,  # noqa: PLW1509 (takes no lock: one system call)
            )
        self.pid = self._popen.pid
        self._seen = 0
        self._counts: dict[str, int] = {}

    def poll(self) -> int | None:
        code = self._popen.poll()
        self._code = 0 if code == _MOSTLY_REFUSED else code
        return self._code

    def marks(self) -> list[Mark]:
        *lines, _ = self.told().split("\n")
        new, self._seen = lines[self._seen :], len(lines)
        found = [self._mark("begin")] if not self._counts and _ends_by_itself(self.pid) else []
        for line in new:
            if line.startswith("starting "):
                found.append(self._mark("start"))
            elif line.startswith("trial "):
                number, _, of = line.split(",")[0].removeprefix("trial ").partition("/")
                found.append(self._mark("end" if number == of else "trial"))
        return found

    def _mark(self, phase: str) -> Mark:
        occurrence = self._counts.get(phase, 0)
        self._counts[phase] = occurrence + 1
        return Mark(phase, occurrence, time.monotonic())


def _ends_by_itself(pid: int) -> bool:
    """Whether a command handles the signals that end it: an interpreter that is still loading does not."""
    for line in _text(Path(f"/proc/{pid}/status")).splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (signal.SIGTERM - 1) & 1)
    return False
