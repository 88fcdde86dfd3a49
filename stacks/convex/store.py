"""The store of a Convex server: a SQLite file in its container, looked at from outside."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gapbook.deploy.file_system import MEMORY_FILE_SYSTEMS, file_system, size_unless_gone
from gapbook.errors import StackError

__all__ = ["Store"]

_WRITE_VERSION = 18  # of the file format, sqlite.org/fileformat.html
_JOURNALS = {1: "delete", 2: "wal"}


@dataclass(frozen=True)
class Store:
    """The file that the process ``pid`` has at ``path``."""

    pid: int
    path: Path

    @property
    def _here(self) -> Path:
        return Path(f"/proc/{self.pid}/root{self.path}")

    def journal_mode(self) -> str:
        """Told by the head of the file: a rollback journal, of which ``delete`` is the default kind, or a log."""
        try:
            with self._here.open("rb") as file:
                head = file.read(_WRITE_VERSION + 1)
        except OSError as error:
            raise StackError(
                f"convex: its store cannot be read ({error.strerror}); run gapbook as root"
            ) from error
        if len(head) <= _WRITE_VERSION or not head.startswith(b"SQLite format 3\0"):
            raise StackError(f"convex: {self.path} is no SQLite file; its durability cannot be proven")
        return _JOURNALS.get(head[_WRITE_VERSION], "unknown")

    def file_system(self) -> str:
        """Type of the file system under the file."""
        return file_system(self._here, seen_by=self.pid)

    def in_memory(self) -> bool:
        return self.file_system() in MEMORY_FILE_SYSTEMS

    def bytes_on_disk(self) -> int:
        beside = (
            self._here,
            *(self._here.with_name(f"{self.path.name}-{end}") for end in ("journal", "wal")),
        )
        return sum(map(size_unless_gone, beside))
