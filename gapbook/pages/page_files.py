"""Files that pages offer and that no run holds: written while a page is executed, for the book to take them from there."""

from __future__ import annotations

import re
from pathlib import Path

from gapbook.paths import build_directory
from gapbook.writing import require_writable

__all__ = [
    "AGAIN",
    "REGISTER",
    "REPLACED",
    "leave",
    "leave_beside_run",
    "left_behind",
    "left_beside_run",
    "links_to_files",
]

REGISTER, REPLACED, AGAIN = "register", "replaced", "again"
"""Claims as data, every ratio of two runs of which one replaced the other, and what it takes to make the book again."""
_LINK = re.compile(rf"_static/((?:{REGISTER}|{REPLACED}|{AGAIN})/[\w.-]+)")


def leave(kind: str, name: str, content: bytes) -> str:
    """Write a file for the book to take; returns its address as a page of ``notebooks`` links to it.

    Raises SetupError where it cannot be written.
    """
    _write(left_behind(f"{kind}/{name}"), content)
    return f"../_static/{kind}/{name}"


def left_behind(place: str) -> Path:
    """Where a file was written, by kind and name as in ``register/claims.csv``."""
    return build_directory() / place


def links_to_files(text: str) -> list[str]:
    """The places of the files that a page offers, each once."""
    return sorted(set(_LINK.findall(text)))


def leave_beside_run(run_id: str, name: str, text: str) -> None:
    """Write a file that a page offers beside those of a run; raises SetupError where it cannot be written."""
    _write(left_beside_run(run_id) / name, text.encode())


def left_beside_run(run_id: str) -> Path:
    """Where files lie that pages made of a run."""
    return build_directory() / "exported" / run_id


def _write(path: Path, content: bytes) -> None:
    require_writable(path.parent, "GAPBOOK_BUILD")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
