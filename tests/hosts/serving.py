"""A server on this host's own address, as somebody else runs one: ``python -m tests.hosts.serving SYSTEM VERSION ADDRESS``.

It says where it listens, in a line that is the URL of somebody who may log in there, and serves until it is ended.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import StackContext, stack_class
from gapbook.record.durability import Durability

_PASSWORD = "secret-of-the-reader"


def main() -> int:
    system, version, address = sys.argv[1:]
    choice = ServerChoice(version=version or None)
    with Deployment() as deployment:
        stack = stack_class(system)(StackContext(deployment, Durability("delayed"), choice, listen=address))
        stack.start()
        port = stack.endpoint()["port"]
        if system == "postgres":
            session: psycopg.Connection[Any] = stack._connection  # type: ignore[attr-defined]
            session.execute(
                sql.SQL("CREATE ROLE reader LOGIN CREATEDB PASSWORD {}").format(sql.Literal(_PASSWORD))
            )
            session.execute("GRANT pg_checkpoint TO reader")
            (hba,) = session.execute("SELECT current_setting('hba_file')").fetchone() or ("",)
            with Path(hba).open("a", encoding="utf-8") as rules:
                rules.write("host all reader samenet scram-sha-256\n")
            session.execute("SELECT pg_reload_conf()")
            said = f"postgresql://reader:{_PASSWORD}@{address}:{port}/postgres"
        else:
            said = f"http://reader:{stack.endpoint()['token']}@{address}:{port}"
        print(said, flush=True)
        signal.sigwait({signal.SIGTERM})
    return 0


if __name__ == "__main__":
    sys.exit(main())
