"""SpacetimeDB as a child process, from its crate, a named binary, or a named endpoint, spoken to over HTTP."""

from __future__ import annotations

import contextlib
import json
import runpy
import secrets
import shutil
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from gapbook.declared.reading import required
from gapbook.deploy import backend, stack
from gapbook.deploy.deployment import Undo
from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.file_system import MEMORY_FILE_SYSTEMS
from gapbook.deploy.module import version_numbers
from gapbook.deploy.process import Process
from gapbook.deploy.server import Server, ServerChoice, built_note, sha256_of
from gapbook.errors import SetupError, StackError
from gapbook.model.declaration import StateTable
from gapbook.model.workload import Workload
from gapbook.record.durability import Durability

from .commit_log import CommitLog
from .contained import start_in_container
from .database import Database
from .elsewhere import said_by, token_in
from .keys import write_key_pair
from .metrics import counted_operations, transactions
from .named import promise_deletion
from .programs import (
    how_to_get,
    install,
    install_for,
    own_binary,
    program_files,
    server_arguments,
    version_of,
)
from .running import Running, host_and_port
from .versions import KnownTimer, commit_log_timer, confirms_reads, require_durability

_PROGRAM = "program.wasm"
_READY_TIMEOUT_S = 30.0


class Stack(stack.Stack):
    """See :class:`gapbook.deploy.stack.Stack`.

    Each seeding starts the server anew: republishing into a running 1.2.0 leaves the earlier log's
    two file handles and its fsync timer behind, so that the n-th trial would pay for n of them.
    A server that the reader named cannot be restarted; its database is cleared instead.
    """

    listens_elsewhere = True
    can_be_elsewhere = True

    def __init__(self, context: stack.StackContext) -> None:
        super().__init__(context)
        self._directory = self.deployment.directory / f"spacetimedb-{secrets.token_hex(4)}"
        self._data = context.storage / self._directory.name if context.storage else self._directory / "data"
        self._temporary = self._directory / "tmp"
        self._process: Process | None = None
        self._command: list[str | Path] = []
        self._session: Database | None = None
        self._address: Endpoint = {}
        self._undo: Undo | None = None
        self._log = CommitLog()
        self._program = self.module.path(context.program or "")

    # --- before a run -------------------------------------------------------------------------
    @classmethod
    def install(cls) -> None:
        install(cls.native())

    @classmethod
    def install_for(cls, named: Collection[str] | None) -> None:
        install_for(cls.native(), named)

    @classmethod
    def locate(cls, choice: ServerChoice) -> Server:
        if choice.elsewhere:
            return said_by(choice)
        if choice.endpoint:
            return Running.listening_at(*host_and_port(choice.endpoint)).server()
        native = cls.native()
        binary = choice.binary or own_binary(native, choice.version)
        if not binary.is_file():
            raise SetupError(how_to_get(native, binary, choice.version))
        return Server(str(binary), version_of(binary), sha256_of(binary), built_note(binary))

    @classmethod
    def program(cls, choice: ServerChoice) -> tuple[Server, Mapping[str, Path]]:
        server = cls.locate(choice)
        return server, program_files(cls.native(), Path(server.path))

    @classmethod
    def commit_log_timer(cls, version: str) -> KnownTimer:
        """What stack.toml knows of the fsync timer of this version; raises StackError when it knows nothing."""
        return commit_log_timer(cls.durability_facts(), version)

    @classmethod
    def require_durability(cls, server: Server, durability: Durability) -> None:
        require_durability(cls.durability_facts(), server.version, durability)

    def spoken(self) -> Endpoint:
        version = version_numbers(self.server().version)
        known = [entry for entry in self.facts.protocols if version_numbers(entry.from_version) <= version]
        return {"newest": max(known, key=lambda entry: version_numbers(entry.from_version)).newest}

    # --- life ---------------------------------------------------------------------------------
    def start(self) -> None:
        if self._session is not None:
            return
        check = self.module.folder / required(
            self.module.facts.check, "modules/spacetimedb/module.toml: check"
        )
        drift = runpy.run_path(str(check))["drift"](self._program)
        if drift:
            raise SetupError(f"spacetimedb: {drift}")
        located = self.located(self.context.choice)
        self.require_durability(located, self.context.durability)
        try:
            self._connect(located)
            self._publish()
        except BaseException:
            self.stop()
            raise

    def _connect(self, located: Server) -> None:
        """Log in to the server that the reader named, or to a fresh one of our own."""
        if self.context.choice.endpoint:
            host, port = host_and_port(self.context.choice.endpoint)
            database = f"gapbook-{secrets.token_hex(8)}"
        else:
            host, port, database = self.context.listen, self._start_server(located), "bank"
        self._log = CommitLog()
        self._session = Database(host, port, database, self._last_words)
        self._session.log_in(token_in(self.context.choice.endpoint or ""))
        token = self._session.token
        if self.context.choice.endpoint:
            self._undo = promise_deletion(self.deployment, f"http://{host}:{port}", database, token)
        self._address = {
            "protocol": "spacetimedb",
            "host": host,
            "port": port,
            "database": database,
            "token": token,
        }
        if confirms_reads(located.version):
            # Said either way: what an address leaves out depends on the protocol (v2 and v3 confirm, v1 does not).
            self._address["confirmed"] = self.context.durability.kind == "fsync-per-commit"

    def _start_server(self, located: Server) -> int:
        """Start the server over a fresh directory; its port."""
        port = self.own_port()
        if self.placement.in_container:
            self.container = start_in_container(self, port, _READY_TIMEOUT_S)
        else:
            self._start_process(Path(located.path), port)
        return port

    def _start_process(self, binary: Path, port: int) -> None:
        self._directory.mkdir(mode=0o700)
        self._temporary.mkdir()
        private, public = self._directory / "id_ecdsa", self._directory / "id_ecdsa.pub"
        write_key_pair(private, public)
        self._write_log_directives()
        in_memory = self.context.durability.kind == "none"
        arguments = server_arguments(
            f"{self.context.listen}:{port}", self._data, public, private, in_memory=in_memory
        )
        self._command = [binary, *arguments]
        self._launch(port)

    def _write_log_directives(self) -> None:
        """Only where the context asks for others: the server makes a configuration of its own where it finds none."""
        directives = self.context.settings.get("log_directives")
        if directives is not None:
            self._data.mkdir(mode=0o700)
            (self._data / "config.toml").write_text(
                f"[logs]\ndirectives = {json.dumps(directives.split(','))}\n", encoding="utf-8"
            )

    def _launch(self, port: int) -> None:
        """Start the server over its data directory, which may be that of a killed one."""
        self._process = self.deployment.start(
            self._command,
            name="spacetimedb",
            # It checks a module in a temporary folder, which one that is killed leaves behind.
            environment={"TMPDIR": str(self._temporary)},
            processors=self.context.processors,
        )
        self.deployment.wait_until_listening(
            self._process, port, _READY_TIMEOUT_S, address=self.context.listen
        )

    def _publish(self) -> None:
        """Load the module into an empty database, whatever it held before."""
        self._database.publish((self._program / _PROGRAM).read_bytes())

    def stop(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session, self._address = None, {}
        if self._undo is not None:
            # One that fails is tried again when the deployment ends, which also says so.
            with contextlib.suppress(StackError):
                self._undo.run()
            self._undo = None
        if self._process is not None:
            self.deployment.stop(self._process)
            self._process = None
        self.clear_containers()
        for folder in (self._data, self._directory):
            shutil.rmtree(folder, ignore_errors=True)

    def recover(self) -> None:
        if self.context.choice.endpoint:
            raise StackError("spacetimedb: a server that was named is not ours to start again")
        if self._workload is None:
            raise StackError("spacetimedb: not seeded, so there is nothing to recover")
        declaration = self._workload.declaration
        if not self.restart_container(_READY_TIMEOUT_S):
            self._launch(self._address["port"])
        # The log is replayed at the first request for the database.
        name, table = next(iter(declaration.state.items()))
        self._database.rows("recover", name, table, f"WHERE {table.key[0]} = 0")

    def processes(self) -> list[backend.Running]:
        return [one for one in (self._process, self.container) if one is not None]

    # --- a trial ------------------------------------------------------------------------------
    def _reset(self, workload: Workload) -> None:
        if self.context.choice.endpoint:
            self._publish()
        else:
            self.stop()
            self.start()
        seeding = required(self.module.procedure.seed, "procedure.toml: seed")
        arguments = [workload.parameters[name] for name in seeding.arguments]
        self._database.call("seed", seeding.reducer, arguments)

    def endpoint(self) -> Endpoint:
        return self._address.copy()

    def settings(self) -> dict[str, str]:
        if self.context.choice.elsewhere:
            return {"version": self.server().version, "module_program": self._database.program()}
        running = self._running()
        timer = self.commit_log_timer(running.version)
        return {
            "version": running.version,
            "storage": "memory" if running.in_memory else "disk",
            "page_pool_max_size": running.argument("--page_pool_max_size") or "default",
            "log_directives": ",".join(running.toml("config.toml").get("logs", {}).get("directives", [])),
            "data_file_system": running.file_system,
            "module_program": self._database.program(),
            "commit_log_timer": f"not readable; {timer.says}",
            "commit_log_timer_verified": str(timer.verified).lower(),
        }

    def durability(self) -> Durability | None:
        if self.context.choice.elsewhere:
            return None
        running = self._running()
        if running.in_memory or running.file_system in MEMORY_FILE_SYSTEMS:
            return Durability("none")
        if not running.log_files():
            raise StackError(
                f"spacetimedb: no commit log under {running.data_directory}; its durability cannot be proven"
            )
        # Of an image only the running server says its version: an older one than was asked for confirms nothing.
        if self._address.get("confirmed") and confirms_reads(running.version):
            return Durability("fsync-per-commit")
        max_ms = self.commit_log_timer(running.version).max_ms
        return Durability("delayed", None if max_ms is None else float(max_ms))

    def committed_operations(self) -> int:
        """What the rows that the module's ``counted_reducers`` names make, once the server has counted them.

        Not ``spacetime_num_txns_total{committed="true"}``: 1.2.0 counts rolled back reducers there too
        (its pull request 3956 repaired that later).
        """
        database = self._database.identity()
        return counted_operations(
            self.module.procedure.counted_reducers, lambda: self._database.metrics("count commits"), database
        )

    def metric_transactions(self) -> int:
        """``spacetime_num_txns_total{committed="true"}`` of the workload's reducers."""
        database, metrics = self._database.identity(), self._database.metrics("read metrics")
        return sum(
            transactions(metrics, database, counted.reducer)
            for counted in self.module.procedure.counted_reducers
        )

    def _read_table(self, name: str, table: StateTable) -> pl.DataFrame:
        return self._database.rows(f"read {name}", name, table)

    def log_bytes(self) -> int | None:
        if self.context.choice.elsewhere:
            return None
        return self._log.written_bytes(self._running().log_files())

    def server(self) -> Server:
        if self.context.choice.elsewhere:
            return self.locate(self.context.choice)
        found = self._running().server()
        if not self.placement.own_image:
            return found
        # An image of ours holds the program that runs natively, whose note lies beside it there.
        return replace(found, built=self.program(self.context.choice)[0].built)

    # --- inside -------------------------------------------------------------------------------
    def _running(self) -> Running:
        for own in (self._process, self.container):
            if own is not None:
                own.require_running()
                return Running(own.pid)
        if self._session is None:
            raise StackError("spacetimedb: not started")
        return Running.listening_at(self._address["host"], self._address["port"])

    @property
    def _database(self) -> Database:
        if self._session is None:
            raise StackError("spacetimedb: not started")
        return self._session

    def _last_words(self) -> str:
        words = [one.last_words() for one in self.processes()]
        return f": {words[0]}" if words else ""
