"""How much a server wrote to its commit log, read from the sizes of its files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

__all__ = ["CommitLog"]


class CommitLog:
    """The bytes written to the files of a log, which never become fewer.

    A snapshot compresses the segments before it, which puts smaller files in their place. So each file counts
    with the largest size that was seen; what a segment gained between the last look and its compression is not.
    """

    def __init__(self) -> None:
        self._largest_bytes: dict[Path, int] = {}

    def written_bytes(self, files: Iterable[Path]) -> int:
        """The bytes of these files and of those seen before."""
        for path in files:
            with contextlib.suppress(FileNotFoundError):  # just being replaced
                self._largest_bytes[path] = max(self._largest_bytes.get(path, 0), path.stat().st_size)
        return sum(self._largest_bytes.values())
