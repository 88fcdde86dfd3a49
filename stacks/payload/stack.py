"""Payload as a child process of Node.js, from the packages of its module, spoken to over HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import httpx

from gapbook.declared.reading import required
from gapbook.deploy.server import Server, ServerChoice, sha256_of
from gapbook.deploy.sqlite_server import SqliteServer
from gapbook.deploy.toolchain import node_path
from gapbook.errors import SetupError, StackError
from gapbook.paths import CHECKOUT
from gapbook.record.durability import Durability

_MODULE = CHECKOUT / "modules" / "payload"


class Stack(SqliteServer):
    """See :class:`gapbook.deploy.stack.Stack`.

    The program is its module's: here is what it is started with.
    """

    database = "payload.sqlite"

    # --- before a run -------------------------------------------------------------------------
    @classmethod
    def install(cls) -> None:
        """Nothing: its packages are those of its module, which the setup installs."""

    @classmethod
    def locate(cls, choice: ServerChoice) -> Server:
        cls._require_ours(choice.endpoint)
        if choice.binary:
            raise SetupError(
                "payload: there is no binary to name, it is a package of its module; leave it out of servers"
            )
        described = _MODULE / "node_modules" / "payload" / "package.json"
        if not described.is_file():
            raise SetupError(f"payload: {described} is missing; run: {cls.native().install_hint}")
        version = str(json.loads(described.read_text(encoding="utf-8"))["version"])
        # The lock file pins the content of every package.
        return Server(str(described.parent), version, sha256_of(_MODULE / "package-lock.json"))

    # --- what this system says ----------------------------------------------------------------
    @property
    def _journal_mode(self) -> str:
        return self.declared_settings()["journal_mode"]

    def _synchronous(self) -> str:
        """The setting that keeps the class that was asked for; raises StackError where there is none."""
        values = self.durability_facts().synchronous_by_class(self._journal_mode)
        asked = self.context.durability
        if asked.kind not in values or asked.max_ms is not None:
            raise StackError(
                f"payload: {asked} cannot be kept with journal_mode {self._journal_mode}; allowed: "
                f"{', '.join(sorted(values))}"
            )
        return values[asked.kind].value

    def _command(self, port: int) -> list[str | Path]:
        synchronous = self._synchronous()
        configuration = {
            "workload": self.context.workload,
            "path": str(self._data / self.database),
            "port": port,
            "wal": {"synchronous": synchronous} if self._journal_mode == "wal" else False,
            "prepare": not self._template.exists(),
        }
        return [node_path(), _MODULE / "server.ts", json.dumps(configuration)]

    def _environment(self) -> Mapping[str, str]:
        return {
            "PAYLOAD_DISABLE_DEPENDENCY_CHECKER": "true",
            # In development it would look for a page that reloads itself.
            "DISABLE_PAYLOAD_HMR": "true",
            "NODE_OPTIONS": "--no-deprecation",
        }

    def _is_ready(self, session: httpx.Client) -> bool:
        return session.get("/api/users/me").status_code == httpx.codes.OK

    def _log_in(self, session: httpx.Client) -> Mapping[str, str]:
        known = required(self.module.procedure.known, "procedure.toml: known")
        answer = session.post("/api/users/login", json={"email": known.email, "password": known.password})
        return {"token": answer.raise_for_status().json()["token"]}

    def _promised(self, settings: Mapping[str, str]) -> Durability:
        """By the journal that the file has and the setting that the server was started with."""
        values = self.durability_facts().synchronous_by_class(settings["journal_mode"])
        kept = [kind for kind, synchronous in values.items() if synchronous.value == self._synchronous()]
        return Durability(kept[0] if kept else "none")
