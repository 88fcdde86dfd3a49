"""Removes the database of one run from a Postgres server that is not ours, and nothing else.

    GAPBOOK_POSTGRES=CONNINFO python drop_database.py gapbook_0123456789abcdef

Run by whoever of run, warden and next start still lives, as often as needed: a database that is not there is
none to remove. Ends the run's own sessions first, since one of them may be creating the database at this moment.
"""

from __future__ import annotations

import os
import re
import sys
import time

import psycopg
from psycopg import sql

_SESSIONS_END_WITHIN_S = 5.0


def _drop(connection: psycopg.Connection[tuple[int]], database: str) -> None:
    deadline = time.monotonic() + _SESSIONS_END_WITHIN_S
    while time.monotonic() < deadline:
        ended = connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = %s AND pid <> pg_backend_pid()",
            (database,),
        ).fetchall()
        if not ended:
            break
        time.sleep(0.05)
    connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(database)))


def main() -> str | None:
    """The reason of a failure in one line, which becomes the exit code 1; None once the database is gone."""
    (database,) = sys.argv[1:]
    if not re.fullmatch(r"gapbook_[0-9a-f]{16}", database):
        return f"{database!r} is no name of ours"
    try:
        with psycopg.connect(
            os.environ["GAPBOOK_POSTGRES"], autocommit=True, connect_timeout=5, application_name="gapbook"
        ) as connection:
            _drop(connection, database)
    except psycopg.Error as error:
        return (str(error).strip() or type(error).__name__).splitlines()[0]
    return None


if __name__ == "__main__":
    sys.exit(main())
