"""The database of a run: one of a fresh name on a server that the reader named, and the bank on our own."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path
from typing import Any

import msgspec
import psycopg
from psycopg import sql

from gapbook.deploy.deployment import Deployment, Undo
from gapbook.deploy.endpoint import Endpoint

from .sessions import without_password

__all__ = ["CLIENT_ROLE", "Login", "create_on_named", "create_on_own", "promise_removal"]

CLIENT_ROLE = "bank"
"""As whom clients log in to a server of ours; its database has the same name."""
_DATABASE = CLIENT_ROLE


class Login(msgspec.Struct, frozen=True):
    """Where and as whom clients log in to a database."""

    host: str
    port: int
    user: str
    password: str
    database: str

    def endpoint(self) -> Endpoint:
        """What clients are told."""
        return {
            "protocol": "postgres",
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "password": self.password,
            "database": self.database,
        }


def promise_removal(deployment: Deployment, endpoint: str, database: str) -> Undo:
    """Say how the database of a run on a named server is removed, before it is made."""
    return deployment.on_abandon(
        [sys.executable, "-I", Path(__file__).with_name("drop_database.py"), database],
        what=f"postgres: database {database} on {without_password(endpoint)}",
        environment={"GAPBOOK_POSTGRES": endpoint},
    )


def create_on_named(admin: psycopg.Connection[Any], database: str, isolation: str) -> Login:
    """A database that the session's role owns; where and as whom clients log in to it."""
    # template1 may hold tables of the reader's, and may be in use.
    admin.execute(
        sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'").format(sql.Identifier(database))
    )
    for setting, value in (("default_transaction_isolation", isolation), ("search_path", "public")):
        admin.execute(
            sql.SQL("ALTER ROLE CURRENT_USER IN DATABASE {} SET {} = {}").format(
                sql.Identifier(database), sql.Identifier(setting), sql.Literal(value)
            )
        )
    info = admin.info
    return Login(info.hostaddr, info.port, info.user, info.password, database)


def create_on_own(admin: psycopg.Connection[Any], isolation: str) -> Login:
    """A database and its owner, who is no superuser, as an application has it; how clients log in to it."""
    password, role = secrets.token_urlsafe(18), sql.Identifier(CLIENT_ROLE)
    admin.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(role, sql.Literal(password)))
    admin.execute(
        sql.SQL("ALTER ROLE {} SET default_transaction_isolation = {}").format(role, sql.Literal(isolation))
    )
    admin.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(_DATABASE), role))
    return Login(admin.info.host, admin.info.port, CLIENT_ROLE, password, _DATABASE)
