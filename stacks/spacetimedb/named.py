"""The database of a run on a server that the reader named."""

from __future__ import annotations

import sys
from pathlib import Path

from gapbook.deploy.deployment import Deployment, Undo

__all__ = ["promise_deletion"]


def promise_deletion(deployment: Deployment, server: str, database: str, token: str) -> Undo:
    """Say how the database is deleted, before it is made, and tell the reader what will stay of it."""
    print(
        f"spacetimedb: {database} on {server} is deleted when the run ends; the log files of deleted databases "
        "stay in the server's data folder, where no server removes them"
    )
    return deployment.on_abandon(
        [sys.executable, "-I", Path(__file__).with_name("drop_database.py"), server, database],
        what=f"spacetimedb: database {database} on {server}",
        environment={"GAPBOOK_SPACETIMEDB_TOKEN": token},
    )
