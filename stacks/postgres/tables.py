"""The tables of a workload in Postgres: filled by COPY, read back by COPY, their writes counted by the server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import polars as pl
import psycopg
from psycopg import sql

from gapbook.errors import StackError
from gapbook.model.declaration import StateTable
from gapbook.model.workload import State, frame_schema
from gapbook.record.schema import one_line

__all__ = ["Commits", "fill", "read_table", "tidy"]

Connection: TypeAlias = psycopg.Connection[Any]


def fill(connection: Connection, state: State) -> None:
    """Exactly these rows, in tables and indexes whose files are new: TRUNCATE leaves no version of an earlier
    trial's rows behind."""
    found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    connection.execute(
        sql.SQL("TRUNCATE {}").format(sql.SQL(", ").join(sql.Identifier(name) for (name,) in found))
    )
    for name, rows in state.items():
        into = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT csv)").format(
            sql.Identifier(name), _names(rows.columns)
        )
        with connection.cursor() as cursor, cursor.copy(into) as copy:
            copy.write(rows.write_csv(include_header=False))


def tidy(connection: Connection, state: State) -> None:
    """What autovacuum would otherwise do inside the measured window, and the checkpoint before it."""
    for name in state:
        connection.execute(sql.SQL("VACUUM (FREEZE, ANALYZE) {}").format(sql.Identifier(name)))
    connection.execute("CHECKPOINT")


def read_table(connection: Connection, name: str, table: StateTable) -> pl.DataFrame:
    """Every row that is committed, with the columns that the table declares; raises StackError for other types."""
    out = sql.SQL("COPY {} ({}) TO STDOUT (FORMAT csv)").format(
        sql.Identifier(name), _names(list(table.columns))
    )
    with connection.cursor() as cursor, cursor.copy(out) as copy:
        text = b"".join(copy)
    schema = frame_schema(table)
    try:
        return pl.read_csv(text, has_header=False, schema=schema) if text else pl.DataFrame(schema=schema)
    except pl.exceptions.PolarsError as error:
        raise StackError(f"postgres: read {name}: rows of other types ({one_line(error)})") from error


def _names(columns: list[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, columns))


@dataclass(frozen=True)
class Commits:
    """Counts of the server's statistics at one moment: rows that operations wrote, operations that said
    themselves how many they are, transactions that were rolled back."""

    rows_written: int
    operations: int
    rolled_back: int

    @classmethod
    def counted(cls, connection: Connection, query: bytes) -> Self:
        """The counts now; ``query`` gives the first two."""
        connection.execute("SELECT pg_stat_clear_snapshot()")
        written = connection.execute(query).fetchone()
        rolled_back = connection.execute(
            "SELECT xact_rollback FROM pg_stat_database WHERE datname = current_database()"
        ).fetchone()
        if written is None or rolled_back is None:
            raise StackError("postgres: its statistics have no row for this database")
        return cls(*(int(count) for count in (*written, *rolled_back)))

    def operations_since(self, before: Commits, rows_per_operation: int) -> int | None:
        """How many were committed since then; None where anything was rolled back, whose writes count too."""
        if self.rolled_back != before.rolled_back:
            return None
        rows = self.rows_written - before.rows_written
        single, left = divmod(rows, rows_per_operation)
        if left:
            raise StackError(f"postgres: {rows} row writes are not {rows_per_operation} for each operation")
        return single + self.operations - before.operations
