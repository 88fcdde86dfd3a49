"""Execution of several notebooks, as many at a time as there are processors that it may use: each page keeps one busy."""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Iterator, Mapping
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

from gapbook.book.execute import execute_chapter
from gapbook.deploy.limits import allowed_processors
from gapbook.deploy.process import end_with_parent
from gapbook.errors import GapbookError, SetupError
from gapbook.writing import refused_writing

__all__ = ["execute_chapters"]

_GRACE_S = 10.0


def execute_chapters(wanted: Mapping[str, Mapping[str, Any]], folder: Path) -> Iterator[str]:
    """Execute chapters with their parameters; yields the name of each when its page is in the folder.

    Each is executed by a process of its own, for what a kernel is started with stands in the environment. Raises
    what :func:`gapbook.book.execute.execute_chapter` raises, and then ends the others.
    """
    fork = multiprocessing.get_context("fork")  # which imports nothing again
    waiting = list(wanted.items())
    at_work: dict[Connection, tuple[str, ForkProcess]] = {}
    try:
        while waiting or at_work:
            while waiting and len(at_work) < len(allowed_processors()):
                name, parameters = waiting.pop(0)
                sys.stdout.flush()
                ours, theirs = fork.Pipe(duplex=False)
                process = fork.Process(target=_execute, args=(name, parameters, folder, theirs))
                process.start()
                theirs.close()
                at_work[ours] = name, process
            for ended in wait(list(at_work)):
                assert isinstance(ended, Connection)
                name, process = at_work.pop(ended)
                error = _what_it_said(name, ended)
                process.join()
                if error is not None:
                    raise error
                yield name
    finally:
        for _, process in at_work.values():
            process.terminate()
        for _, process in at_work.values():
            process.join(_GRACE_S)
            process.kill()


def _execute(name: str, parameters: Mapping[str, Any], folder: Path, told: Connection) -> None:
    end_with_parent(signal.SIGTERM)
    try:
        execute_chapter(name, parameters, folder=folder)
        told.send(None)
    except GapbookError as error:
        told.send(error)
    except OSError as error:
        line = refused_writing(str(error))
        if line is None:
            raise
        told.send(SetupError(f"chapter {name}: {line}"))
    except KeyboardInterrupt:
        pass  # also what SIGTERM raises here; who asked for the page knows


def _what_it_said(name: str, ended: Connection) -> GapbookError | None:
    """The error that a process sent, or None; one that sent nothing was ended, or has printed why."""
    try:
        said: GapbookError | None = ended.recv()
    except EOFError:
        return GapbookError(
            f"chapter {name}: its execution ended before its page was made; pages executed so far are kept"
        )
    finally:
        ended.close()
    return said
