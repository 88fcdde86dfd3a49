"""Execution of several notebooks, as many at a time as there are processors that it may use: each page keeps one busy."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any, NamedTuple

from gapbook.book.execute import execute_chapter
from gapbook.book.kernel import SharedKernel, shared_kernel
from gapbook.deploy.limits import allowed_processors
from gapbook.deploy.process import end_with_parent
from gapbook.errors import GapbookError, SetupError
from gapbook.writing import refused_writing

__all__ = ["Executed", "execute_chapters"]

_GRACE_S = 10.0
_Asked = tuple[str, Mapping[str, Any]]
_Answer = GapbookError | float


class Executed(NamedTuple):
    """A chapter whose page is in the folder, and what it took."""

    name: str
    duration_s: float


@dataclass
class _Worker:
    """A process that executes one chapter after the other, and which it is at."""

    process: ForkProcess
    pipe: Connection
    name: str = ""

    def ask(self, chapter: _Asked) -> None:
        self.name = chapter[0]
        self.pipe.send(chapter)

    def answer(self) -> float:
        """How long its chapter took. Raises the error that it sent; one that sent nothing was ended, or has printed why."""
        try:
            said: _Answer = self.pipe.recv()
        except EOFError:
            raise GapbookError(
                f"chapter {self.name}: its execution ended before its page was made; pages executed so far are kept"
            ) from None
        if isinstance(said, GapbookError):
            raise said
        return said


def execute_chapters(wanted: Mapping[str, Mapping[str, Any]], folder: Path) -> Iterator[Executed]:
    """Execute chapters with their parameters; yields each when its page is in the folder.

    Each processor has a process, for what a kernel is started with stands in the environment, and each process a
    kernel for all its chapters. Raises what :func:`gapbook.book.execute.execute_chapter` raises, and then ends the
    others.
    """
    waiting = list(wanted.items())
    workers: list[_Worker] = []
    try:
        workers += [_start(folder) for _ in range(min(len(waiting), len(allowed_processors())))]
        for worker in workers:
            worker.ask(waiting.pop(0))
        at_work = {worker.pipe: worker for worker in workers}
        while at_work:
            for ended in wait(list(at_work)):
                assert isinstance(ended, Connection)
                worker = at_work[ended]
                name, duration_s = worker.name, worker.answer()
                if waiting:
                    worker.ask(waiting.pop(0))
                else:
                    at_work.pop(ended).pipe.close()
                yield Executed(name, duration_s)
    finally:
        for worker in workers:
            worker.process.terminate()
        for worker in workers:
            worker.process.join(_GRACE_S)
            worker.process.kill()
            worker.process.join()


def _start(folder: Path) -> _Worker:
    fork = multiprocessing.get_context("fork")  # which imports nothing again
    sys.stdout.flush()
    ours, theirs = fork.Pipe()
    process = fork.Process(target=_work, args=(folder, theirs, ours))
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _work(folder: Path, asked: Connection, other_end: Connection) -> None:
    """Execute what is asked for, each in the same kernel, until nothing is asked for any more."""
    end_with_parent(signal.SIGTERM)
    other_end.close()
    try:
        with shared_kernel() as kernel:
            while True:
                name, parameters = asked.recv()
                asked.send(_execute(name, parameters, folder, kernel))
    except (EOFError, KeyboardInterrupt):
        pass  # the latter is also what SIGTERM raises here; who asked for the page knows


def _execute(name: str, parameters: Mapping[str, Any], folder: Path, kernel: SharedKernel) -> _Answer:
    """How long it took, or the error that stands against it."""
    begun_s = time.monotonic()
    try:
        execute_chapter(name, parameters, folder=folder, kernel=kernel)
    except GapbookError as error:
        return error
    except OSError as error:
        line = refused_writing(str(error))
        if line is None:
            raise
        return SetupError(f"chapter {name}: {line}")
    return time.monotonic() - begun_s
