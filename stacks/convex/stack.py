"""Convex as a container, from its makers' image; spoken to over its HTTP API."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import polars as pl

from gapbook.declared.reading import required
from gapbook.deploy import stack
from gapbook.deploy.backend import Running
from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.placed import program_hash
from gapbook.deploy.process import free_port
from gapbook.deploy.server import Server, ServerChoice
from gapbook.errors import ParameterError, SetupError, StackError
from gapbook.model.declaration import StateTable
from gapbook.model.workload import Workload, frame_schema
from gapbook.record.durability import Durability

from .api import Api
from .functions import deploy_functions
from .store import Store

_READY_TIMEOUT_S = 60.0
_ROWS_AT_ONCE = 2_000


class _Endpoint(Endpoint):
    """``site_port`` is where HTTP actions are served."""

    site_port: int


class Stack(stack.Stack):
    """See :class:`gapbook.deploy.stack.Stack`.

    Each seeding starts the server anew: rows that were deleted stay in its store as versions of their past.
    """

    counts_commits = False

    def __init__(self, context: stack.StackContext) -> None:
        super().__init__(context)
        self._api: Api | None = None
        self._ports = (0, 0)

    # --- before a run -------------------------------------------------------------------------
    @classmethod
    def install(cls) -> None:
        """Its functions are deployed by a Node package of its module; the server is an image."""

    @classmethod
    def locate(cls, choice: ServerChoice) -> Server:
        raise SetupError(
            f"convex: {choice.endpoint or choice.binary} cannot be used; it runs in a container of ours"
        )

    @classmethod
    def require_place(cls, choice: ServerChoice) -> None:
        super().require_place(choice)
        if choice.placement.host_network:
            raise ParameterError(
                "backend: convex listens on every address, and on the host's network the whole network could call "
                "it; leave +host-network out"
            )

    # --- life ---------------------------------------------------------------------------------
    def start(self) -> None:
        if self._api is not None:
            return
        try:
            self._start_server()
            self._deploy()
        except BaseException:
            self.stop()
            raise

    def _start_server(self) -> None:
        facts = self.container_facts()
        ports = required(facts.ports, "stacks/convex/stack.toml: container.ports")
        inside = (ports.api, ports.site)
        self._ports = self.own_port(), free_port()
        api, site = (f"http://127.0.0.1:{port}" for port in self._ports)
        self.container = self.containers.start(
            self.image(self.context.choice, self.containers.engine),
            name="convex",
            command=[],
            ports=dict(zip(inside, self._ports, strict=True)),
            limits=facts.limits,
            environment={
                **facts.environment,
                "INSTANCE_SECRET": secrets.token_hex(32),
                "CONVEX_CLOUD_ORIGIN": api,
                "CONVEX_SITE_ORIGIN": site,
            },
        )
        self.container.wait_until_listening(_READY_TIMEOUT_S)
        self._api = Api(api, self._last_words)
        self._api.wait_until_ready(_READY_TIMEOUT_S)

    def _deploy(self) -> None:
        if self.container is None:
            raise StackError("convex: not started")
        # As the makers' README has it: the script of the image, its last line the key.
        key = self.container.run_inside(["./generate_admin_key.sh"]).splitlines()[-1]
        deploy_functions(
            self.deployment, self.module, url=f"http://127.0.0.1:{self._ports[0]}", admin_key=key
        )

    def stop(self) -> None:
        if self._api is not None:
            self._api.close()
            self._api = None
        self.clear_containers()

    def recover(self) -> None:
        self.restart_container(_READY_TIMEOUT_S)
        self._running.wait_until_ready(_READY_TIMEOUT_S)

    def processes(self) -> list[Running]:
        return [self.container] if self.container else []

    # --- a trial ------------------------------------------------------------------------------
    def _reset(self, workload: Workload) -> None:
        self.stop()
        self.start()
        for table, rows in workload.initial_state().items():
            for part in rows.iter_slices(_ROWS_AT_ONCE):
                self._running.mutation("seed", "state:fill", {"table": table, "rows": part.to_dicts()})

    def endpoint(self) -> _Endpoint:
        return {"protocol": "http", "host": "127.0.0.1", "port": self._ports[0], "site_port": self._ports[1]}

    def settings(self) -> dict[str, str]:
        store = self._store
        return {
            "version": self._running.version(),
            "journal_mode": store.journal_mode(),
            "data_file_system": store.file_system(),
            **{f"not readable: {name}": fixed.value for name, fixed in self.facts.fixed.items()},
        }

    def durability(self) -> Durability:
        """What the store's file shows, with what the server's source says of ``synchronous``."""
        if self._store.in_memory():
            return Durability("none")
        if self._store.journal_mode() != self.declared_settings()["journal_mode"]:
            raise StackError(
                "convex: its store has another journal than stack.toml knows; its durability cannot be proven"
            )
        return Durability("delayed")

    def committed_operations(self) -> None:
        """The server keeps no count that its API tells: the audit holds the state against the work."""

    def _read_table(self, name: str, table: StateTable) -> pl.DataFrame:
        rows = [
            [_plain(row[column]) for column in table.columns]
            for row in self._running.pages(f"read {name}", "state:page", {"table": name})
        ]
        return pl.DataFrame(rows, schema=frame_schema(table), orient="row")

    def log_bytes(self) -> int:
        """Size of the store and of its journal: still once nothing is written any more."""
        return self._store.bytes_on_disk()

    def server(self) -> Server:
        if self.container is None:
            raise StackError("convex: not started")
        return Server("convex", self._running.version(), program_hash(self.container.pid))

    # --- inside -------------------------------------------------------------------------------
    @property
    def _running(self) -> Api:
        if self._api is None:
            raise StackError("convex: not started")
        return self._api

    @property
    def _store(self) -> Store:
        if self.container is None:
            raise StackError("convex: not started")
        folder = Path(self.container_facts().environment["DATA_DIR"])
        return Store(self.container.pid, folder / "db.sqlite3")

    def _last_words(self) -> str:
        return f": {self.container.last_words()}" if self.container else ""


def _plain(value: Any) -> Any:
    """Numbers of Convex are doubles, and come as such; those of a workload are whole and below 2^53."""
    return int(value) if isinstance(value, float) else value
