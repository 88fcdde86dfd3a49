"""Files that are there whole, or as they were before."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["PARTIAL", "write_whole"]

PARTIAL = ".partial"
"""How a file ends while it is written."""


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, and onto the disk. Raises OSError."""
    partial = path.with_suffix(PARTIAL)
    with partial.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
