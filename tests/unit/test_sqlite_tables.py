"""Rows of a workload in a file of SQLite, stored and read back by the module's statements or by the columns alone."""

from __future__ import annotations

import sqlite3

import polars as pl

from gapbook.declared.module import StoredTable
from gapbook.deploy.sqlite_tables import SqliteTables
from gapbook.model.declaration import StateTable

_MEMBERS = StateTable("members", {"room": "integer", "member": "integer"}, ("room",))
_STATE = {"members": pl.DataFrame({"room": [1, 2], "member": [1, 2]})}


def test_without_statements_the_columns_are_those_of_the_workload() -> None:
    with sqlite3.connect(":memory:") as connection:
        connection.execute('CREATE TABLE members ("room" INTEGER, "member" INTEGER)')
        tables = SqliteTables({}, {})
        tables.fill(connection, _STATE)
        assert tables.read(connection, "members", _MEMBERS).equals(_STATE["members"])


def test_statements_may_name_what_the_stack_knows() -> None:
    declared = {
        "members": StoredTable(
            insert="INSERT INTO joined (place, who) VALUES ('r' || :room, CASE :member WHEN 1 THEN :sender END)",
            select="SELECT CAST(substr(place, 2) AS INTEGER), CASE who WHEN :sender THEN 1 ELSE 2 END FROM joined",
        )
    }
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE joined (place TEXT, who TEXT)")
        tables = SqliteTables(declared, {"sender": "me"})
        tables.fill(connection, _STATE)
        assert connection.execute("SELECT * FROM joined").fetchall() == [("r1", "me"), ("r2", None)]
        assert tables.read(connection, "members", _MEMBERS).equals(_STATE["members"])
