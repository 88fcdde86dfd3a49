"""Folders that commands share: one at a time, or each its own (``flock``, released by the kernel of the system)."""

from __future__ import annotations

import fcntl
import itertools
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

__all__ = ["alone_in", "own_folder", "taking_turns"]

_LOOKS_EVERY_S = 0.2


@contextmanager
def own_folder(wanted: Path) -> Iterator[Path]:
    """The folder wanted, or while another command has it, the first free of ``wanted-2``, ``wanted-3`` ..."""
    for number in itertools.count(1):
        folder = wanted if number == 1 else wanted.with_name(f"{wanted.name}-{number}")
        with _lock_file(folder) as lock:
            if _locked(lock):
                yield folder
                return


@contextmanager
def alone_in(folder: Path) -> Iterator[bool]:
    """Whether no other command is in a folder, which then is this one's until it ends; waits for nobody."""
    with _lock_file(folder) as lock:
        yield _locked(lock)


@contextmanager
def taking_turns(
    folder: Path, say: Callable[[str], None] = print, *, require_wanted: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """Alone in a folder; waits for the command that is, and says so. ``require_wanted`` is asked while it waits, and
    raises where nobody waits any more."""
    with _lock_file(folder) as lock:
        if not _locked(lock):
            say(f"waiting for another command that writes to {folder}")
            while not _locked(lock):
                require_wanted()
                time.sleep(_LOOKS_EVERY_S)
        yield


@contextmanager
def _lock_file(folder: Path) -> Iterator[IO[str]]:
    """A folder's lock, which nobody has afterwards: a process that was forked meanwhile holds the file open, and with it
    what is not given up by name."""
    folder.mkdir(parents=True, exist_ok=True)
    owner = os.getpid()
    with (folder / ".lock").open("w", encoding="utf-8") as lock:
        try:
            yield lock
        finally:
            if os.getpid() == owner:
                fcntl.flock(lock, fcntl.LOCK_UN)


def _locked(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
