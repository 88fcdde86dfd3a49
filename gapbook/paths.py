"""Where things are: the checkout, the cache, runs, temporary deployments."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

__all__ = [
    "CHECKOUT",
    "GIVEN_RUNS",
    "build_directory",
    "cache_directory",
    "deployments_directory",
    "hash_files",
    "run_roots",
    "runs_directory",
    "tool_path",
]

CHECKOUT = Path(__file__).resolve().parent.parent
GIVEN_RUNS = CHECKOUT / "results" / "given"
"""Where runs lie that others gave, by chapter and id."""


def build_directory() -> Path:
    """What commands make of this checkout and can make again: pages, executed notebooks, pictures.

    ``GAPBOOK_BUILD``, else ``build/`` in the checkout.
    """
    return _named("GAPBOOK_BUILD") or CHECKOUT / "build"


def cache_directory() -> Path:
    """What is expensive to make and safe to share between checkouts, keyed by version and hash.

    ``GAPBOOK_CACHE``, else ``$XDG_CACHE_HOME/gapbook``, else ``~/.cache/gapbook``.
    """
    if named := _named("GAPBOOK_CACHE"):
        return named
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "gapbook"


def deployments_directory() -> Path:
    """Parent of the servers' data directories: on a disk, never on tmpfs, for a log that is fsynced.

    ``GAPBOOK_DATA``, else ``/var/tmp``.
    """
    return _named("GAPBOOK_DATA") or Path("/var/tmp")


def runs_directory() -> Path:
    """Where a reader's own runs are kept: ``GAPBOOK_RUNS``, else ``runs/`` in the checkout."""
    return _named("GAPBOOK_RUNS") or CHECKOUT / "runs"


def run_roots() -> Sequence[Path]:
    """Folders of stored runs, by chapter and id: the published ones, those that others gave, the reader's own."""
    return CHECKOUT / "results", GIVEN_RUNS, runs_directory()


def _named(variable: str) -> Path | None:
    """A folder that a reader names, whole, for programs that we start work elsewhere; None where none is named."""
    named = os.environ.get(variable)
    return Path(named).absolute() if named else None


def tool_path(name: str) -> Path | None:
    """An executable of this Python environment, else of ``PATH``."""
    beside = Path(sys.executable).parent / name
    if beside.exists():
        return beside
    for directory in os.environ.get("PATH", "").split(os.pathsep):
        candidate = Path(directory) / name
        if directory and os.access(candidate, os.X_OK) and candidate.is_file():
            return candidate
    return None


def hash_files(paths: Iterable[Path], relative_to: Path) -> str:
    """One sha256 over the names and contents of files, in the order of their names."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(str(path.relative_to(relative_to)).encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
