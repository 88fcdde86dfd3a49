"""Supabase in containers: its Postgres, PostgREST and gateway. What is asked of the database is asked as of any
Postgres that the reader names."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, Any

import httpx
import polars as pl
import psycopg

from gapbook.declared.reading import required
from gapbook.deploy import stack
from gapbook.deploy.backend import Running
from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.environment import without_variables
from gapbook.deploy.process import free_port
from gapbook.deploy.server import Server, ServerChoice
from gapbook.errors import ParameterError, SetupError, StackError
from gapbook.model.declaration import StateTable
from gapbook.model.workload import Workload
from gapbook.record.durability import Durability

from .gateway import gateway_configuration, signed_token
from .services import start_database, start_gateway, start_rest

if TYPE_CHECKING:
    from gapbook.deploy.container import Container

_READY_TIMEOUT_S = 120.0
_ROLE = "supabase_admin"
_ANONYMOUS = "anon"
_PROBED = "/rest/v1/"
_LIBPQ = "PG"
"""How the variables begin that libpq reads, and so a session of ours that is to show what others get."""


class _Endpoint(Endpoint, total=False):
    """``rest_port`` is that of the API, whose ``anon_key`` every client has."""

    rest_port: int
    anon_key: str


class Stack(stack.Stack):
    """See :class:`gapbook.deploy.stack.Stack`."""

    counts_commits = False

    def __init__(self, context: stack.StackContext) -> None:
        super().__init__(context)
        self._postgres: Any = None
        """The stack of Postgres, for which our database is one that was named."""
        self._beside: list[Container] = []
        self._address: _Endpoint = {}

    # --- before a run -------------------------------------------------------------------------
    @classmethod
    def install(cls) -> None:
        """All of it are images."""

    @classmethod
    def locate(cls, choice: ServerChoice) -> Server:
        raise SetupError(
            f"supabase: {choice.endpoint or choice.binary} cannot be used; it runs in containers of ours"
        )

    @classmethod
    def require_place(cls, choice: ServerChoice) -> None:
        super().require_place(choice)
        if choice.placement.layer:
            raise ParameterError("backend: supabase has a volume that its image declares; leave +layer out")

    # --- life ---------------------------------------------------------------------------------
    def start(self) -> None:
        if self._postgres is not None:
            return
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        password, secret, port = secrets.token_hex(18), secrets.token_hex(32), self.own_port()
        postgres = stack.stack_class("postgres")
        own = {name: setting.value for name, setting in self.facts.settings.items()}
        kept: dict[str, str] = postgres.settings_for(self.context.durability)  # type: ignore[attr-defined]
        self.container = start_database(
            self.containers,
            self.image(self.context.choice, self.containers.engine),
            limits=self.container_facts().limits,
            port=port,
            password=password,
            secret=secret,
            settings=own | kept,
        )
        self._wait_for_database(port, password)
        self._enter_database(postgres, port, password)
        self._start_services(port, password, secret)

    def _wait_for_database(self, port: int, password: str) -> None:
        """Its image runs its migrations on a server that listens to nobody else; then comes this one."""
        if self.container is None:
            raise StackError("supabase: not started")
        self.container.wait_until_listening(_READY_TIMEOUT_S)
        deadline = time.monotonic() + _READY_TIMEOUT_S
        while True:
            try:
                _session(_url(port, password)).close()
                return
            except psycopg.OperationalError as error:
                self.container.require_running()
                if time.monotonic() > deadline:
                    reason = str(error).strip().partition("\n")[0]
                    raise StackError(f"supabase: its database takes no session: {reason}") from error
                time.sleep(0.2)

    def _enter_database(self, postgres: type[stack.Stack], port: int, password: str) -> None:
        """Tables and functions of Postgres in a database of this run, and the rights of the API there."""
        self._postgres = postgres(
            stack.StackContext(
                self.deployment,
                self.context.durability,
                ServerChoice(endpoint=_url(port, password)),
                isolation=self.context.isolation,
                workload=self.context.workload,
            )
        )
        self._postgres.start()
        self._address = self._postgres.endpoint().copy()
        rights = self.module.path(
            required(self.module.procedure.rights, "procedure.toml: rights")
        ).read_bytes()
        try:
            with _session(_url(port, password, self._address["database"])) as connection:
                # The password of the compose file's roles.sql, for the role that PostgREST logs in as.
                connection.execute(
                    psycopg.sql.SQL("ALTER ROLE authenticator WITH PASSWORD {}").format(
                        psycopg.sql.Literal(password)
                    )
                )
                connection.execute(rights)
        except psycopg.Error as error:
            raise StackError(
                f"supabase: give the API its rights: {str(error).strip().splitlines()[0]}"
            ) from error

    def _start_services(self, port: int, password: str, secret: str) -> None:
        engine, rest_port, port_of_api = self.containers.engine, free_port(), free_port()
        token = signed_token(secret, _ANONYMOUS)
        rest = start_rest(
            self.containers,
            self.service_image("rest", engine),
            port=rest_port,
            database=f"{self.containers.host_of('supabase')}:{port}/{self._address['database']}",
            password=password,
            secret=secret,
        )
        self._beside.append(rest)
        kong = start_gateway(
            self.containers,
            self.service_image("kong", engine),
            port=port_of_api,
            configuration=gateway_configuration(
                f"http://{self.containers.host_of('rest')}:{rest_port}/", token
            ),
        )
        self._beside.append(kong)
        self._address |= {"rest_port": port_of_api, "anon_key": token}
        self._wait_for_api()

    def _wait_for_api(self) -> None:
        deadline = time.monotonic() + _READY_TIMEOUT_S
        url = f"http://127.0.0.1:{self._address['rest_port']}{_PROBED}"
        key = self._address["anon_key"]
        said = "nothing"
        while time.monotonic() < deadline:
            for one in self._beside:
                one.require_running()
            try:
                answer = httpx.get(
                    url, headers={"apikey": key, "authorization": f"Bearer {key}"}, trust_env=False
                )
                if answer.status_code == httpx.codes.OK:
                    return
                said = f"{answer.status_code}: {' '.join(answer.text.split())[:200]}"
            except httpx.HTTPError as error:
                said = str(error) or type(error).__name__
            time.sleep(0.2)
        raise StackError(f"supabase: its API does not answer after {_READY_TIMEOUT_S:.0f} s ({said})")

    def stop(self) -> None:
        if self._postgres is not None:
            self._postgres.stop()
            self._postgres = None
        self._beside.clear()
        self.clear_containers()

    def recover(self) -> None:
        self.restart_container(_READY_TIMEOUT_S)
        for one in self._beside:
            one.start()
        self._database.reconnect()
        self._wait_for_api()

    def processes(self) -> list[Running]:
        return [] if self.container is None else [self.container, *self._beside]

    # --- a trial ------------------------------------------------------------------------------
    def _reset(self, workload: Workload) -> None:
        self._database.seed(workload)

    def endpoint(self) -> _Endpoint:
        return {**self._address, "protocol": "http"}

    def settings(self) -> dict[str, str]:
        found: dict[str, str] = self._database.settings()
        try:
            with _session(self._as_client()) as connection:
                for name in self.facts.settings:
                    row = connection.execute("SELECT current_setting(%s)", (name,)).fetchone()
                    found[name] = str(row[0]) if row else ""
        except psycopg.Error as error:
            raise StackError(f"supabase: read settings: {' '.join(str(error).split())}") from error
        return found

    def declared_settings(self) -> dict[str, str]:
        return super().declared_settings() | dict(self._database.declared_settings())

    def durability(self) -> Durability:
        proven: Durability = self._database.durability()
        return proven

    def committed_operations(self) -> None:
        """PostgREST keeps its sessions, whose statistics are complete only once they end: the state decides."""

    def _read_table(self, name: str, table: StateTable) -> pl.DataFrame:
        rows: pl.DataFrame = self._database.state()[name]
        return rows.select(list(table.columns))

    def log_bytes(self) -> int:
        return int(self._database.log_bytes())

    def server(self) -> Server:
        found: Server = self._database.server()
        return Server("supabase", found.version, self.images_hash())

    # --- inside -------------------------------------------------------------------------------
    def images_hash(self) -> str:
        """sha256 of the database's image: several programs serve here."""
        return self.containers.images["supabase"].id.removeprefix("sha256:")

    @property
    def _database(self) -> Any:
        if self._postgres is None:
            raise StackError("supabase: not started")
        return self._postgres

    def _as_client(self) -> str:
        at = self._address
        return psycopg.conninfo.make_conninfo(
            host=at["host"], port=at["port"], user=at["user"], password=at["password"], dbname=at["database"]
        )


def _session(conninfo: str) -> psycopg.Connection[Any]:
    with without_variables(_LIBPQ):
        return psycopg.connect(conninfo, autocommit=True, connect_timeout=10)


def _url(port: int, password: str, database: str = "postgres") -> str:
    return f"postgresql://{_ROLE}:{password}@127.0.0.1:{port}/{database}"
