"""Tables of a workload in a file of SQLite: filled with the rows that are there from the beginning, and read back.

A module may say for a table, in its procedure.toml, how a row is stored and read where the columns are not those
that the workload declares::

    [tables.members]
    insert = "INSERT INTO room_members (room, user) VALUES (:room, CASE :member WHEN 1 THEN :sender ELSE :other END)"
    select = "SELECT room, CASE user WHEN :sender THEN 1 ELSE 2 END FROM room_members"

Names stand for the columns of a row, and for what the stack knows besides.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

import polars as pl

from gapbook.declared.module import StoredTable
from gapbook.model.declaration import StateTable
from gapbook.model.workload import State, frame_schema

__all__ = ["SqliteTables"]


class SqliteTables:
    """How the tables of a workload lie in a file: ``declared`` is what the module says of them, ``known`` what
    its statements may name besides the columns."""

    def __init__(self, declared: Mapping[str, StoredTable], known: Mapping[str, Any]) -> None:
        self._declared = declared
        self._known = known

    def _said(self, name: str) -> StoredTable:
        return self._declared.get(name, StoredTable())

    def fill(self, connection: sqlite3.Connection, state: State) -> None:
        """Store every row, in the caller's transaction."""
        for name, rows in state.items():
            statement = self._said(name).insert or _insert(name, rows.columns)
            connection.executemany(statement, ({**self._known, **row} for row in rows.iter_rows(named=True)))

    def read(self, connection: sqlite3.Connection, name: str, table: StateTable) -> pl.DataFrame:
        """Every row, with the columns that the workload declares."""
        statement = self._said(name).select or _select(name, table)
        rows = connection.execute(statement, self._known).fetchall()
        return pl.DataFrame(rows, schema=frame_schema(table), orient="row")


def _insert(name: str, columns: list[str]) -> str:
    places = ", ".join(f":{column}" for column in columns)
    return f"INSERT INTO {_quoted(name)} ({', '.join(map(_quoted, columns))}) VALUES ({places})"


def _select(name: str, table: StateTable) -> str:
    return f"SELECT {', '.join(map(_quoted, table.columns))} FROM {_quoted(name)}"


def _quoted(name: str) -> str:
    return f'"{name}"'
