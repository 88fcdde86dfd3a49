"""A restored copy counts only when it can be used and has every row of its database, and no other."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.restored import Copy, Restorer

_TABLES = {"messages": ["connection", "index"]}
_ROWS = [(0, number, f"body {number}") for number in range(500)]


def _database(path: Path, rows: Sequence[tuple[int, int, str]] = _ROWS) -> Path:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            'CREATE TABLE messages (connection INTEGER, "index" INTEGER, body TEXT, '
            'PRIMARY KEY (connection, "index"))'
        )
        connection.executemany("INSERT INTO messages VALUES (?, ?, ?)", rows)
    return path


def _restored(deployment: Deployment, database: Path, copy: Path) -> Copy:
    """What is found when the replicator restores this file as the copy."""
    restorer = Restorer(deployment, lambda _, output: ["cp", copy, output], {}, _TABLES)
    return restorer.restore(database)


def test_a_whole_copy_is_whole(deployment: Deployment, tmp_path: Path) -> None:
    database = _database(tmp_path / "shop.db")
    found = _restored(deployment, database, database)
    assert (found.whole, found.lost, found.unexpected, found.why) == (True, 0, 0, "")
    assert not list(deployment.directory.glob("restored-*"))


@pytest.mark.parametrize(
    ("rows", "lost", "unexpected"),
    [
        (_ROWS[:-3], 3, 0),
        ([*_ROWS, (1, 0, "made up")], 0, 1),
        ([*_ROWS[:-1], (0, 499, "another body")], 1, 1),
        ([], 500, 0),
    ],
)
def test_each_row_that_differs_is_counted(
    deployment: Deployment,
    tmp_path: Path,
    rows: Sequence[tuple[int, int, str]],
    lost: int,
    unexpected: int,
) -> None:
    database = _database(tmp_path / "shop.db")
    found = _restored(deployment, database, _database(tmp_path / "copy.db", rows))
    assert (found.usable, found.whole, found.lost, found.unexpected) == (True, False, lost, unexpected)
    assert found.why


def test_a_copy_that_is_torn_cannot_be_used(deployment: Deployment, tmp_path: Path) -> None:
    database = _database(tmp_path / "shop.db")
    torn = bytearray(database.read_bytes())
    torn[8192:8292] = bytes(100)
    (tmp_path / "torn.db").write_bytes(torn)
    found = _restored(deployment, database, tmp_path / "torn.db")
    assert (found.usable, found.lost) == (False, len(_ROWS))
    assert "integrity_check" in found.why or "cannot be read" in found.why
    assert found.mended_lost is None


def test_a_copy_whose_index_alone_is_wrong_is_mended_by_reindex(
    deployment: Deployment, tmp_path: Path
) -> None:
    """As copies are that a killed replicator left: every row is there, and the index lacks the last ones."""
    database = _database(tmp_path / "shop.db")
    behind = _database(tmp_path / "behind.db", _ROWS[:-2])
    with contextlib.closing(sqlite3.connect(behind, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        index = connection.execute("SELECT * FROM sqlite_schema WHERE type = 'index'").fetchone()
        connection.execute("DELETE FROM sqlite_schema WHERE type = 'index'")
        table = "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE name = 'messages'"
        key = ', PRIMARY KEY (connection, "index")'
        connection.execute(table, (key, ""))
        connection.execute("PRAGMA schema_version = 100")
    with contextlib.closing(sqlite3.connect(behind)) as connection, connection:
        connection.executemany("INSERT INTO messages VALUES (?, ?, ?)", _ROWS[-2:])
    with contextlib.closing(sqlite3.connect(behind, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(table, ("body TEXT", f"body TEXT{key}"))
        connection.execute("INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)", index)
        connection.execute("PRAGMA schema_version = 200")
    found = _restored(deployment, database, behind)
    assert "missing from index sqlite_autoindex_messages_1" in found.why
    assert (found.usable, found.lost, found.mended_lost) == (False, len(_ROWS), 0)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["sh", "-c", "echo no bucket; exit 3"], "its restore ended with code 3: no bucket"),
        (
            ["sh", "-c", "echo no file {own}/copy.db; exit 3"],
            "its restore ended with code 3: no file copy.db",
        ),
        (["true"], "its restore ended well and left no file"),
    ],
)
def test_a_restore_that_fails_gives_nothing_back(
    deployment: Deployment, tmp_path: Path, command: list[str], says: str
) -> None:
    database = _database(tmp_path / "shop.db")
    own = [word.format(own=deployment.directory) for word in command]
    found = Restorer(deployment, lambda _, __: own, {}, _TABLES).restore(database)
    assert (found.usable, found.lost, found.why) == (False, len(_ROWS), says)


def test_patience_ends_with_what_there_is(deployment: Deployment, tmp_path: Path) -> None:
    """One database is whole at once, the other never: both are told, and the first is restored once."""
    whole, never = (_database(tmp_path / f"{name}.db") for name in ("whole", "never"))
    lacking = _database(tmp_path / "lacking.db", _ROWS[:-1])
    asked: list[str] = []

    def command(database: Path, output: Path) -> list[str | Path]:
        asked.append(database.stem)
        return ["cp", lacking if database.stem == "never" else database, output]

    found = Restorer(deployment, command, {}, _TABLES).until_whole([whole, never], patience_s=0.5)
    assert [copy.lost for copy in found.copies] == [0, 1]
    assert not found.whole
    assert asked.count("whole") == 1
    assert asked.count("never") > 1


def test_patience_ends_at_once_when_nothing_more_will_come(deployment: Deployment, tmp_path: Path) -> None:
    """Every database has been restored by then, and each reason is told with its number of copies. That it is over
    is asked once, not for each database."""
    whole, *others = (_database(tmp_path / f"{name}.db") for name in ("whole", "first", "second"))
    lacking = _database(tmp_path / "lacking.db", _ROWS[:-1])

    def command(database: Path, output: Path) -> list[str | Path]:
        return ["cp", database if database == whole else lacking, output]

    asked: list[bool] = []

    def settled() -> bool:
        asked.append(True)
        return True

    restorer = Restorer(deployment, command, {}, _TABLES)
    found = restorer.until_whole([*others, whole], patience_s=3600, settled=settled)
    assert len(asked) == 1
    assert [copy.lost for copy in found.copies] == [1, 1, 0]
    assert found.remarks == ["2 of 3 copies: 1 rows are missing and 0 are not of its database"]
