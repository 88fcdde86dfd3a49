"""SpacetimeDB as a child process, from its crate, a named binary, or a named endpoint, spoken to over HTTP."""

from __future__ import annotations

import contextlib
import json
import re
import runpy
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import polars as pl
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from gapbook.deploy import stack
from gapbook.deploy.deployment import Undo
from gapbook.deploy.process import Process, free_port, log_tail, require_port_free
from gapbook.deploy.stack import Server, ServerChoice
from gapbook.deploy.toolchain import require_tool, run_step
from gapbook.errors import SetupError, StackError
from gapbook.model.declaration import StateTable
from gapbook.model.workload import Workload, frame_schema
from gapbook.paths import cache_directory
from gapbook.record.durability import Durability

from .metrics import rows_written, transactions
from .running import Running

_PROGRAM = "program.wasm"
_READY_TIMEOUT_S = 30.0
_REQUEST_TIMEOUT_S = 60.0
_SETTLE_TIMEOUT_S = 5.0
_DEFAULT_PORT = 3000
_CONFIRMED_READS_SINCE = (1, 4, 0)
_MEMORY_FILE_SYSTEMS = {"tmpfs", "ramfs"}


class Stack(stack.Stack):
    """See :class:`gapbook.deploy.stack.Stack`.

    Each seeding starts the server anew: republishing into a running 1.2.0 leaves the earlier log's
    two file handles and its fsync timer behind, so that the n-th trial would pay for n of them.
    A server that the reader named cannot be restarted; its database is cleared instead.
    """

    def __init__(self, context: stack.StackContext) -> None:
        super().__init__(context)
        self._directory = self.deployment.directory / f"spacetimedb-{secrets.token_hex(4)}"
        self._process: Process | None = None
        self._command: list[str | Path] = []
        self._api: httpx.Client | None = None
        self._address: dict[str, Any] = {}
        self._undo: Undo | None = None
        self._program = self.module.path(context.program or "")

    # --- before a run -------------------------------------------------------------------------
    @classmethod
    def install(cls) -> None:
        root, native = cls._install_root(), cls.facts["native"]
        if (root / "bin" / native["binary"]).is_file():
            return
        cargo = require_tool("cargo", "rustup (https://rustup.rs) or the cargo package of your system")
        # Kept until the build is through, so that an interrupted one goes on where it stopped.
        target = root.with_name(f"{root.name}-target")
        run_step(
            f"{native['crate']} {native['version']}",
            [cargo, "install", f"{native['crate']}@{native['version']}", "--locked", "--root", root],
            expected_s=native["expected_install_s"],
            environment={"CARGO_TARGET_DIR": str(target)},
        )
        shutil.rmtree(target, ignore_errors=True)

    @classmethod
    def locate(cls, choice: ServerChoice) -> Server:
        if choice.endpoint:
            return Running.listening_at(*_host_and_port(choice.endpoint)).server()
        binary = choice.binary or cls._binary(choice.version)
        if not binary.is_file():
            raise SetupError(cls._how_to_get(binary, choice.version))
        return Server(str(binary), _version_of(binary), stack.sha256_of(binary), stack.built_note(binary))

    @classmethod
    def _how_to_get(cls, binary: Path, version: str | None) -> str:
        native = cls.facts["native"]
        if version in (None, native["version"]):
            return f"spacetimedb: {binary} is missing; run: {native['install_hint']}"
        return f"spacetimedb {version} is not on this machine; {native['other_versions_hint']}".replace(
            "VERSION", str(version)
        )

    @classmethod
    def commit_log_timer(cls, version: str) -> Mapping[str, Any]:
        """What stack.toml knows of the fsync timer of this version; raises StackError when it knows nothing.

        ``max_ms`` is missing where there is no timer, which is no bound, or where nobody has read its source.
        """
        facts = cls.facts["durability"]
        known = [
            entry
            for entry in facts["commit_log_timer"]
            if _numbers(entry["from_version"]) <= _numbers(version)
        ]
        if not known:
            raise StackError(
                f"spacetimedb: the fsync timer of version {version} is not known; "
                "name a server from 1.2.0 on, or add its timer to stacks/spacetimedb/stack.toml"
            )
        if _numbers(version) > _numbers(facts["read_up_to"]):
            return {"verified": False, "says": f"not known: sources were read up to {facts['read_up_to']}"}
        newest = max(known, key=lambda entry: _numbers(entry["from_version"]))
        says = f"{newest['max_ms']} ms" if "max_ms" in newest else "none: one fsync follows the other"
        return {**newest, "says": f"{says}, by the source of this version"}

    @classmethod
    def require_durability(cls, server: Server, durability: Durability) -> None:
        timer = cls.commit_log_timer(server.version)
        timer_ms: float | None = timer.get("max_ms")
        known = _numbers(server.version) <= _numbers(cls.facts["durability"]["read_up_to"])
        confirms = known and _numbers(server.version) >= _CONFIRMED_READS_SINCE
        allowed = ["none", "delayed"]
        allowed += [] if timer_ms is None else [f"delayed({timer_ms:g} ms) or more"]
        allowed += ["fsync-per-commit"] if confirms else []
        kept = {
            "fsync-per-commit": confirms,
            "delayed": durability.max_ms is None or (timer_ms is not None and timer_ms <= durability.max_ms),
        }
        if not kept.get(durability.kind, True):
            why = f"its fsync timer is {timer['says']}"
            if durability.kind == "fsync-per-commit" and known:
                why = "it answers before the fsync, as all before 1.4.0 do"
            raise StackError(
                f"spacetimedb: {server.version} cannot keep {durability}: {why}; allowed: {', '.join(allowed)}"
            )

    @classmethod
    def _install_root(cls) -> Path:
        return cls._binary(None).parent.parent

    @classmethod
    def _binary(cls, version: str | None) -> Path:
        """Where our own server of a version is, or would be; None is the version that we compile."""
        native = cls.facts["native"]
        root = cache_directory() / "build" / f"spacetimedb-{version or native['version']}"
        return root / "bin" / str(native["binary"])

    def spoken(self) -> dict[str, Any]:
        version = _numbers(self.server().version)
        known = [entry for entry in self.facts["protocols"] if _numbers(entry["from_version"]) <= version]
        return {"newest": str(max(known, key=lambda entry: _numbers(entry["from_version"]))["newest"])}

    # --- life ---------------------------------------------------------------------------------
    def start(self) -> None:
        if self._api is not None:
            return
        check = self.module.folder / self.module.facts["check"]
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
            host, port = _host_and_port(self.context.choice.endpoint)
            database = f"gapbook-{secrets.token_hex(8)}"
        else:
            host, port, database = "127.0.0.1", self._start_server(Path(located.path)), "bank"
        self._api = httpx.Client(
            base_url=f"http://{host}:{port}/v1", timeout=_REQUEST_TIMEOUT_S, trust_env=False
        )
        token = self._request("log in", "POST", "/identity").json()["token"]
        self._api.headers["Authorization"] = f"Bearer {token}"
        if self.context.choice.endpoint:
            self._undo = self._say_how_to_delete(f"http://{host}:{port}", database, token)
        self._address = {
            "protocol": "spacetimedb",
            "host": host,
            "port": port,
            "database": database,
            "token": token,
        }
        if _numbers(located.version) >= _CONFIRMED_READS_SINCE:
            # Said either way: what an address leaves out depends on the protocol (v2 and v3 confirm, v1 does not).
            self._address["confirmed"] = self.context.durability.kind == "fsync-per-commit"

    def _say_how_to_delete(self, server: str, database: str, token: str) -> Undo:
        print(
            f"spacetimedb: {database} on {server} is deleted when the run ends; the log files of deleted databases "
            "stay in the server's data folder, where no server removes them"
        )
        return self.deployment.on_abandon(
            [sys.executable, "-I", self.folder / "drop_database.py", server, database],
            what=f"spacetimedb: database {database} on {server}",
            environment={"GAPBOOK_SPACETIMEDB_TOKEN": token},
        )

    def _start_server(self, binary: Path) -> int:
        """Start the server over a fresh directory; its port."""
        self._directory.mkdir(mode=0o700)
        private, public = self._directory / "id_ecdsa", self._directory / "id_ecdsa.pub"
        _write_key_pair(private, public)
        port = self.context.choice.port or free_port()
        if self.context.choice.port:
            require_port_free(port, "spacetimedb")
        command: list[str | Path] = [binary, "start", "--listen-addr", f"127.0.0.1:{port}"]
        command += ["--data-dir", self._directory / "data"]
        command += ["--jwt-pub-key-path", public, "--jwt-priv-key-path", private]
        if self.context.durability.kind == "none":
            command.append("--in-memory")
        self._command = command
        self._launch(port)
        return port

    def _launch(self, port: int) -> None:
        """Start the server over its data directory, which may be that of a killed one."""
        self._process = self.deployment.start(
            self._command, name="spacetimedb", processors=self.context.processors
        )
        self.deployment.wait_until_listening(self._process, port, _READY_TIMEOUT_S)

    def _publish(self) -> None:
        """Load the module into an empty database, whatever it held before."""
        self._request(
            "publish the module",
            "PUT",
            f"/database/{self._address['database']}",
            params={"clear": "true"},
            content=(self._program / _PROGRAM).read_bytes(),
        )

    def stop(self) -> None:
        if self._api is not None:
            self._api.close()
            self._api, self._address = None, {}
        if self._undo is not None:
            # One that fails is tried again when the deployment ends, which also says so.
            with contextlib.suppress(StackError):
                self._undo.run()
            self._undo = None
        if self._process is not None:
            self.deployment.stop(self._process)
            self._process = None
        shutil.rmtree(self._directory, ignore_errors=True)

    def recover(self) -> None:
        if self._process is None:
            raise StackError("spacetimedb: a server that was named is not ours to start again")
        if self._workload is None:
            raise StackError("spacetimedb: not seeded, so there is nothing to recover")
        declaration = self._workload.declaration
        self._launch(self._address["port"])
        # The log is replayed at the first request for the database.
        name, table = next(iter(declaration.state.items()))
        self._rows_of("recover", f"{_columns(table)} FROM {name} WHERE {table.key[0]} = 0")

    def processes(self) -> list[Process]:
        return [self._process] if self._process else []

    # --- a trial ------------------------------------------------------------------------------
    def _reset(self, workload: Workload) -> None:
        if self.context.choice.endpoint:
            self._publish()
        else:
            self.stop()
            self.start()
        seeding = self.module.facts["seed"]
        self._request(
            "seed",
            "POST",
            f"/database/{self._address['database']}/call/{seeding['reducer']}",
            json=[workload.parameters[name] for name in seeding["arguments"]],
        )

    def endpoint(self) -> dict[str, Any]:
        return dict(self._address)

    def settings(self) -> dict[str, str]:
        running = self._running()
        database = self._request("describe", "GET", f"/database/{self._address['database']}").json()
        timer = self.commit_log_timer(running.version)
        return {
            "version": running.version,
            "storage": "memory" if running.in_memory else "disk",
            "page_pool_max_size": running.argument("--page_pool_max_size") or "default",
            "log_directives": ",".join(running.toml("config.toml").get("logs", {}).get("directives", [])),
            "data_file_system": running.file_system,
            "module_program": str(database["initial_program"]),
            "commit_log_timer": f"not readable; {timer['says']}",
            "commit_log_timer_verified": str(timer["verified"]).lower(),
        }

    def durability(self) -> Durability:
        running = self._running()
        if running.in_memory or running.file_system in _MEMORY_FILE_SYSTEMS:
            return Durability("none")
        if not running.log_files():
            raise StackError(
                f"spacetimedb: no commit log under {running.data_directory}; its durability cannot be proven"
            )
        if self._address.get("confirmed"):
            return Durability("fsync-per-commit")
        max_ms = self.commit_log_timer(running.version).get("max_ms")
        return Durability("delayed", None if max_ms is None else float(max_ms))

    def committed_operations(self) -> int:
        """What the rows that the module's ``commits`` names make.

        Not ``spacetime_num_txns_total{committed="true"}``: 1.2.0 counts rolled back reducers there too
        (its pull request 3956 repaired that later). Rows are counted at commit only, just after the
        acknowledgement; so this waits until what was replaced was inserted as often as it was deleted.
        """
        deadline = time.monotonic() + _SETTLE_TIMEOUT_S
        while True:
            database, metrics = self._database_identity(), self._metrics("count commits")
            counts = [_operations(facts, metrics, database) for facts in self.module.facts["commits"]]
            settled = [count for count in counts if count is not None]
            if len(settled) == len(counts):
                return sum(settled)
            if time.monotonic() >= deadline:
                raise StackError("spacetimedb: the rows that it counts are not those of whole operations")
            time.sleep(0.01)

    def metric_transactions(self) -> int:
        """``spacetime_num_txns_total{committed="true"}`` of the workload's reducers."""
        database, metrics = self._database_identity(), self._metrics("read metrics")
        return sum(
            transactions(metrics, database, facts["reducer"]) for facts in self.module.facts["commits"]
        )

    def _metrics(self, verb: str) -> str:
        return self._request(verb, "GET", "/metrics").text

    def _database_identity(self) -> str:
        answer = self._request("describe", "GET", f"/database/{self._address['database']}").json()
        return str(answer["database_identity"]["__identity__"]).removeprefix("0x")

    def _read_table(self, name: str, table: StateTable) -> pl.DataFrame:
        rows = self._rows_of(f"read {name}", f"{_columns(table)} FROM {name}")
        return pl.DataFrame(rows, schema=frame_schema(table), orient="row")

    def _rows_of(self, verb: str, selected: str) -> list[list[Any]]:
        path = f"/database/{self._address['database']}/sql"
        answer = self._request(verb, "POST", path, content=f"SELECT {selected}")
        rows: list[list[Any]] = json.loads(answer.content)[0]["rows"]
        return rows

    def log_bytes(self) -> int:
        total = 0
        for path in self._running().log_files():
            # A snapshot compresses older segments, which replaces their files.
            with contextlib.suppress(FileNotFoundError):
                total += path.stat().st_size
        return total

    def server(self) -> Server:
        return self._running().server()

    # --- inside -------------------------------------------------------------------------------
    def _running(self) -> Running:
        if self._process is not None:
            self._process.require_running()
            return Running(self._process.pid)
        if self._api is None:
            raise StackError("spacetimedb: not started")
        return Running.listening_at(self._address["host"], self._address["port"])

    def _request(self, verb: str, method: str, path: str, **parameters: Any) -> httpx.Response:
        if self._api is None:
            raise StackError("spacetimedb: not started")
        try:
            answer = self._api.request(method, path, **parameters)
        except httpx.HTTPError as error:
            log = f": {log_tail(self._process.log_path)}" if self._process else ""
            raise StackError(f"spacetimedb: {verb}: {error or type(error).__name__}{log}") from error
        if answer.status_code != httpx.codes.OK:
            raise StackError(
                f"spacetimedb: {verb}: the server answered {answer.status_code}: {answer.text[:300]}"
            )
        return answer


def _columns(table: StateTable) -> str:
    """The columns as the server's SQL wants them: in quotes, for ``index`` is a word of it."""
    return ", ".join(f'"{name}"' for name in table.columns)


def _operations(facts: Mapping[str, Any], metrics: str, database: str) -> int | None:
    """The operations that the rows written by a reducer make; None while the server still counts."""
    rows = rows_written(metrics, database, facts["reducer"], facts["table"])
    operations, left = divmod(rows["inserted"], int(facts["rows_per_operation"]))
    settled = left == 0 and (not facts["replaced"] or rows["inserted"] == rows["deleted"])
    return operations if settled else None


def _host_and_port(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    if parts.scheme != "http" or parts.hostname not in {"127.0.0.1", "localhost"}:
        raise StackError(f"spacetimedb: {url} is not a server of this machine; name http://127.0.0.1:PORT")
    return "127.0.0.1", parts.port or _DEFAULT_PORT


def _version_of(binary: Path) -> str:
    """What the binary says of itself; raises SetupError for one that is no SpacetimeDB server."""
    try:
        printed = subprocess.run(
            [binary, "--version"], capture_output=True, text=True, check=False, timeout=_READY_TIMEOUT_S
        ).stdout
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError) as error:
        raise SetupError(f"spacetimedb: {binary} --version failed: {error}") from error
    version = re.search(r"spacetimedb tool version (\d+\.\d+\.\d+\S*?);", printed)
    if version is None:
        raise SetupError(f"spacetimedb: {binary} --version names no version; name a spacetimedb-standalone")
    return version[1]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(word) for word in re.findall(r"\d+", version)[:3])


def _write_key_pair(private: Path, public: Path) -> None:
    """A fresh ES256 key pair, with which the server signs the tokens it gives out."""
    key = ec.generate_private_key(ec.SECP256R1())
    private.touch(mode=0o600)
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    public.write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
