"""Files that pages offer and that no run holds: written while a page is executed, for the book to take them from there."""

from __future__ import annotations

import re
from pathlib import Path

from gapbook.paths import build_directory

__all__ = ["REGISTER", "REPLACED", "leave", "left_behind", "links_to_files"]

REGISTER, REPLACED = "register", "replaced"
"""Claims as data, and every ratio of two runs of which one replaced the other."""
_LINK = re.compile(rf"_static/((?:{REGISTER}|{REPLACED})/[\w.-]+)")


def leave(kind: str, name: str, content: bytes) -> str:
    """Write a file for the book to take; returns its address as a page of ``notebooks`` links to it."""
    path = left_behind(f"{kind}/{name}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return f"../_static/{kind}/{name}"


def left_behind(place: str) -> Path:
    """Where a file was written, by kind and name as in ``register/claims.csv``."""
    return build_directory() / place


def links_to_files(text: str) -> list[str]:
    """The places of the files that a page offers, each once."""
    return sorted(set(_LINK.findall(text)))
