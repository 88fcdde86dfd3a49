"""What a point needs around its run: disks that can be full, and a server of somebody else's."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from faults.belongings import FILLER
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.stack import StackContext, stack_class
from gapbook.errors import SetupError
from gapbook.record.durability import Durability
from gapbook.record.schema import one_line

__all__ = ["NamedServer", "fill", "named_server", "no_small_disk", "small_disk", "small_lasting_disk"]

_LOGIN = "reader:reader"


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[None]:
    """A disk of its own over an empty folder; it keeps nothing. Raises SetupError where none can be mounted."""
    _run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "tmpfs", folder)
    with _mounted(folder):
        yield


@contextmanager
def small_lasting_disk(folder: Path, megabytes: int) -> Iterator[None]:
    """A disk that keeps what is synced to it: an image of ext4, gone with its mount. Raises as :func:`small_disk`."""
    with tempfile.NamedTemporaryFile(dir=folder.parent) as image:
        image.truncate(megabytes * 2**20)
        _run("mkfs.ext4", "-q", "-m", "0", image.name)
        _run("mount", "-o", "loop", image.name, folder)
    with _mounted(folder):
        (folder / "lost+found").rmdir()
        yield


@contextmanager
def _mounted(folder: Path) -> Iterator[None]:
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def _run(*command: str | Path) -> None:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, encoding="utf-8", errors="replace"
    )
    if done.returncode:
        raise SetupError(f"no small disk can be mounted: {done.stderr.strip()}")


def fill(disk: Path) -> Path:
    """Take all room; the file that has it."""
    filler = disk / FILLER
    with filler.open("wb", buffering=0) as file:
        free = os.statvfs(disk)
        with contextlib.suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, max(1, free.f_bavail * free.f_frsize))
        file.seek(0, os.SEEK_END)
        with contextlib.suppress(OSError):
            while file.write(bytes(4096)):
                pass
    return filler


def no_small_disk() -> str | None:
    """Why no disk can be made small here; None where it can."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            with small_disk(Path(folder), 1):
                pass
            with small_lasting_disk(Path(folder), 4):
                return None
        except (SetupError, OSError) as error:
            return one_line(error)


class NamedServer:
    """A Postgres that runs before and after every point; ``port`` is where it listens."""

    def __init__(self, session: psycopg.Connection[Any], port: int) -> None:
        self._session = session
        self.port = port

    def endpoint(self, port: int) -> str:
        """What a reader would name, who comes in by another port."""
        return f"postgresql://{_LOGIN}@127.0.0.1:{port}/postgres"

    def left(self) -> list[str]:
        """A line for each database that a run made there and did not remove."""
        return [f"database {name}" for name in self._databases()]

    def clear(self) -> None:
        """Remove them, so that the next run is not blamed for what another left."""
        for name in map(sql.Identifier, self._databases()):
            self._session.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))

    def _databases(self) -> list[str]:
        rows = self._session.execute("SELECT datname FROM pg_database WHERE datname LIKE 'gapbook%'")
        return [str(name) for (name,) in rows.fetchall()]


@contextmanager
def named_server(parent: Path) -> Iterator[NamedServer]:
    """A server of our own that runs are told to be a reader's."""
    with Deployment(parent) as deployment:
        stack = stack_class("postgres")(StackContext(deployment, Durability("fsync-per-commit")))
        stack.start()
        session: psycopg.Connection[Any] = stack._connection  # type: ignore[attr-defined]
        session.execute("CREATE ROLE reader LOGIN CREATEDB PASSWORD 'reader'")
        session.execute("GRANT pg_checkpoint TO reader")
        try:
            yield NamedServer(session, int(stack.endpoint()["port"]))
        finally:
            stack.stop()
