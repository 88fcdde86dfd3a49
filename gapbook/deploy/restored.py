"""Copies restored from object storage and held against their databases, row by row."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gapbook.deploy.deployment import Deployment

__all__ = ["Attempt", "Copy", "Restorer"]

_TIMEOUT_S = 120.0
_POLL_S = 0.1
_SOUND = "ok"


@dataclass(frozen=True)
class Copy:
    """One database restored: whether it can be used as it is (its integrity check passes), which rows of its database
    it lacks, and which it has that its database has not. ``why`` says what is wrong with it. ``mended_lost`` are the
    rows that it still lacks once REINDEX has made its integrity check pass; None where that was not tried, or did
    not help."""

    usable: bool
    lost: int
    unexpected: int
    took_s: float
    why: str = ""
    mended_lost: int | None = None

    @property
    def whole(self) -> bool:
        return self.usable and not self.lost and not self.unexpected


@dataclass(frozen=True)
class Attempt:
    """A restore of every database; ``began_s`` is when the last of its restores began, on the clock of
    :func:`time.monotonic`."""

    copies: tuple[Copy, ...]
    began_s: float

    @property
    def whole(self) -> bool:
        return all(copy.whole for copy in self.copies)

    @property
    def why(self) -> str:
        """What is wrong with the first copy that is not whole."""
        return next((copy.why for copy in self.copies if not copy.whole), "")

    @property
    def remarks(self) -> list[str]:
        """What is wrong with the copies that are not whole, the commonest first, each with how many have it."""
        reasons = Counter(copy.why for copy in self.copies if not copy.whole)
        return [f"{count} of {len(self.copies)} copies: {why}" for why, count in reasons.most_common()]


class Restorer:
    """Restores databases with a replicator's own command, and compares what comes back.

    ``command`` gives it for a database and an output; ``tables`` are those whose rows count, each with the columns
    that tell its rows apart.
    """

    def __init__(
        self,
        deployment: Deployment,
        command: Callable[[Path, Path], Sequence[str | Path]],
        environment: Mapping[str, str],
        tables: Mapping[str, Sequence[str]],
    ) -> None:
        self.deployment = deployment
        self.command = command
        self.environment = environment
        self.tables = tables
        self._numbers = itertools.count()

    def restore(self, database: Path) -> Copy:
        """One copy, compared and removed again."""
        folder = self.deployment.directory / f"restored-{next(self._numbers)}"
        folder.mkdir()
        output = folder / database.name
        try:
            failure, took_s = self._run(database, output)
            if failure is None and not output.is_file():
                failure = "its restore ended well and left no file"
            if failure is not None:
                return Copy(False, self._rows_of(database), 0, took_s, failure)
            return self._compared(database, output, took_s)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def until_whole(
        self, databases: Sequence[Path], patience_s: float, settled: Callable[[], bool] = lambda: False
    ) -> Attempt:
        """Restore until every copy is whole, or patience is at its end; then the copies as they are.

        What was whole once is not restored again, for nobody writes meanwhile. Patience ends sooner when
        ``settled`` says that a later restore will bring back no more.
        """
        deadline = time.monotonic() + patience_s
        found: dict[Path, Copy] = {}
        while True:
            over = time.monotonic() >= deadline or settled()
            left = [one for one in databases if one not in found or not found[one].whole]
            for database in left:
                began_s = time.monotonic()
                found[database] = self.restore(database)
                if not found[database].whole and not over:
                    break
            if len(found) == len(databases) and (all(copy.whole for copy in found.values()) or over):
                return Attempt(tuple(found[one] for one in databases), began_s)
            time.sleep(_POLL_S)

    def _run(self, database: Path, output: Path) -> tuple[str | None, float]:
        """Run the command to its end: what went wrong, or None, and the seconds from its start to its end."""
        command = self.command(database, output)
        started = time.monotonic()
        process = self.deployment.start(command, name="restore", environment=self.environment)
        overdue = threading.Timer(_TIMEOUT_S, process.kill)
        overdue.start()
        try:
            # Waited for without a bound: one would make this look from time to time, some 50 ms apart.
            code = process.popen.wait()
            took_s = time.monotonic() - started
        finally:
            overdue.cancel()
            self.deployment.stop(process)
        if took_s >= _TIMEOUT_S:
            return f"its restore did not end in {_TIMEOUT_S:.0f} s", took_s
        if code == 0:
            return None, took_s
        words = process.last_words().replace(f"{self.deployment.directory}/", "")
        return f"its restore ended with code {code}: {words}", took_s

    def _compared(self, database: Path, output: Path, took_s: float) -> Copy:
        try:
            with contextlib.closing(sqlite3.connect(output)) as copy:
                said = _integrity(copy)
                if said != _SOUND:
                    why = f"integrity_check says {said[:200]}"
                    mended_lost = self._lost_after_reindex(copy, database)
                    return Copy(False, self._rows_of(database), 0, took_s, why, mended_lost)
                lost, unexpected = self._differences(copy, database)
        except sqlite3.Error as error:
            return Copy(False, self._rows_of(database), 0, took_s, f"the copy cannot be read: {error}")
        why = f"{lost:,} rows are missing and {unexpected:,} are not of its database"
        return Copy(True, lost, unexpected, took_s, why if lost or unexpected else "")

    def _lost_after_reindex(self, copy: sqlite3.Connection, database: Path) -> int | None:
        """A copy whose rows are all there and whose index disagrees with them is mended so."""
        try:
            copy.execute("REINDEX")
            return self._differences(copy, database)[0] if _integrity(copy) == _SOUND else None
        except sqlite3.Error:
            # REINDEX itself meets what is broken: then nobody mends the copy like this, and that is the finding.
            return None

    def _differences(self, copy: sqlite3.Connection, database: Path) -> tuple[int, int]:
        """How many rows the copy lacks, and how many it has that its database has not."""
        copy.commit()
        copy.execute("ATTACH ? AS source", (str(database),))
        lost, unexpected = (
            sum(_lacking(copy, has, lacks, table, key) for table, key in self.tables.items())
            for has, lacks in (("source", "main"), ("main", "source"))
        )
        return lost, unexpected

    def _rows_of(self, database: Path) -> int:
        """All rows of a database: what is lost when nothing of it can be used."""
        with contextlib.closing(sqlite3.connect(database)) as connection:
            return sum(
                int(connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0])
                for table in self.tables
            )


def _integrity(copy: sqlite3.Connection) -> str:
    """What SQLite's integrity check says first."""
    return str(copy.execute("PRAGMA integrity_check").fetchone()[0])


def _lacking(connection: sqlite3.Connection, has: str, lacks: str, table: str, key: Sequence[str]) -> int:
    """How many rows of a table one database has and the other has not, or has with other values."""
    columns = [str(row[1]) for row in connection.execute(f'PRAGMA {has}.table_info("{table}")')]
    same = " AND ".join(f'b."{name}" {"=" if name in key else "IS"} a."{name}"' for name in columns)
    found = connection.execute(
        f'SELECT count(*) FROM {has}."{table}" AS a '
        f'WHERE NOT EXISTS (SELECT 1 FROM {lacks}."{table}" AS b WHERE {same})'
    )
    return int(found.fetchone()[0])
