"""``modules/SYSTEM/module.toml`` and ``modules/SYSTEM/WORKLOAD/procedure.toml``: tiers, access levels, requests."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, UnsetType

from gapbook.declared.reading import Declared

__all__ = [
    "Access",
    "Answer",
    "CountedReducer",
    "EndpointWords",
    "Interface",
    "ModuleDeclaration",
    "PartialRequest",
    "ProcedureDeclaration",
    "Replication",
    "Request",
    "RetryWait",
    "StoredTable",
    "Tier",
]

Method: TypeAlias = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


class RetryWait(Declared, frozen=True, kw_only=True):
    """Milliseconds that a server waits before it tries again: an even draw from 0 to a bound that doubles."""

    first: int | float
    most: int | float


class Tier(Declared, frozen=True, kw_only=True):
    """What stands between a client and the system.

    ``access`` are the levels behind it, all where it is absent; ``protocol`` is what its client speaks, absent: the
    system's own; ``port`` the key of the endpoint that holds its port. A tier with a ``command`` is a process, which
    is told ``address`` of the endpoint (all of it where that is absent), under the name ``address_of``.
    ``pipelined``: true decides alone, false is one request out on each connection, absent leaves it to the level.
    """

    summary: str
    reason: str
    label: str = ""
    access: tuple[str, ...] | None = None
    protocol: str | None = None
    port: str = "port"
    command: tuple[str, ...] = ()
    install_hint: str | None = None
    address_of: str | None = None
    address: tuple[str, ...] | None = None
    pipelined: bool | None = None
    retry_wait_ms: RetryWait | None = None
    without_headers: tuple[str, ...] = ()


class Answer(Declared, frozen=True, kw_only=True):
    """An answer over HTTP: its status is one of these, these keys at its top hold these values, its body is the text."""

    status: list[int] | UnsetType = UNSET
    json: dict[str, Any] | UnsetType = UNSET
    text: str | UnsetType = UNSET


class PartialRequest(Declared, frozen=True, kw_only=True):
    """What differs of a request; keys as in clients/CONTRACT.md."""

    method: Method | UnsetType = UNSET
    path: str | UnsetType = UNSET
    headers: dict[str, str] | UnsetType = UNSET
    body: str | UnsetType = UNSET
    success: Answer | UnsetType = UNSET
    refusals: dict[str, Answer] | UnsetType = UNSET
    retries: str | UnsetType = UNSET


class Request(Declared, frozen=True, kw_only=True):
    """What a client sends over HTTP for a kind of operation, and how it reads the answer (clients/CONTRACT.md)."""

    method: Method
    path: str
    headers: dict[str, str]
    success: Answer
    body: str | UnsetType = UNSET
    refusals: dict[str, Answer] | UnsetType = UNSET
    retries: str | UnsetType = UNSET


class EndpointWords(Declared, frozen=True, kw_only=True):
    """What a client is told that calls the system itself, besides its address (clients/CONTRACT.md)."""

    mode: str | UnsetType = UNSET
    database: str | UnsetType = UNSET
    function: str | UnsetType = UNSET
    functions: dict[str, str] | UnsetType = UNSET
    reducers: dict[str, str] | UnsetType = UNSET
    batch_size: int | UnsetType = UNSET
    amount: str | UnsetType = UNSET
    coalesce: bool | UnsetType = UNSET
    newest: str | UnsetType = UNSET


class Replication(Declared, frozen=True, kw_only=True):
    """What a trial of a replicator tests besides the load (gapbook/deploy/replicated.py)."""

    processes: Literal["one", "each"] = "one"
    ballast_mb: int | float | None = None
    round_trip_ms: int | float | None = None
    strike: Literal["restart", "outage"] | None = None
    patience_s: int | float = 60.0
    checkpoint: bool = False

    def __post_init__(self) -> None:
        if self.strike == "outage" and self.round_trip_ms is not None:
            raise ValueError("an outage would end the relay too; leave round_trip_ms out")


class Access(Declared, frozen=True, kw_only=True):
    """A way to express an operation.

    ``level`` is its name for all systems that have it, absent: its key. ``client_level`` is the level that it is to
    a load client, ``program`` what the server must run for it, ``settings`` what of the server's settings is then
    not as stack.toml has it, ``from_version`` the oldest server that can. ``defect``: wrong on purpose, never named
    the fastest. ``pipelined = false``: one request out on each connection.
    """

    summary: str
    round_trips: int
    reason: str
    label: str | None = None
    level: str | None = None
    client_level: str | None = None
    pipelined: bool = True
    defect: bool = False
    program: str | None = None
    settings: dict[str, str] = {}
    from_version: str = "0"
    endpoint: EndpointWords = EndpointWords()
    requests: dict[str, PartialRequest] = {}
    replication: Replication = Replication()


class CommitQuery(Declared, frozen=True, kw_only=True):
    """The file with the query that counts written rows, and how many of them one operation writes."""

    query: str
    rows_per_operation: int


class CountedReducer(Declared, frozen=True, kw_only=True):
    """A reducer whose written rows count operations; ``replaced``: a row is deleted for each that is inserted."""

    reducer: str
    table: str
    rows_per_operation: int
    replaced: bool


class Seeding(Declared, frozen=True, kw_only=True):
    """The reducer that fills the tables, and the parameters of the workload that it is given."""

    reducer: str
    arguments: tuple[str, ...]


class Interface(Declared, frozen=True, kw_only=True):
    """The folders that a server is given from a version on."""

    from_version: str
    migrations: str | None = None
    hooks: str | None = None


class KnownUsers(Declared, frozen=True, kw_only=True):
    """Who logs in, and the ids of users: what requests and statements may name."""

    email: str
    password: str
    sender: str | int
    stranger: str | int | UnsetType = UNSET


class StoredTable(Declared, frozen=True, kw_only=True):
    """How a row is stored and read where the columns are not those that the workload declares."""

    insert: str | None = None
    select: str | None = None


class ProcedureDeclaration(Declared, frozen=True, kw_only=True):
    """What a workload has on one system; all file names are those of its folder."""

    access: dict[str, Access]
    requests: dict[str, Request] = {}
    endpoint: EndpointWords = EndpointWords()
    scripts: tuple[str, ...] = ()
    rights: str | None = None
    commits: CommitQuery | None = None
    counted_reducers: tuple[CountedReducer, ...] = ()
    seed: Seeding | None = None
    interface: tuple[Interface, ...] = ()
    known: KnownUsers | None = None
    tables: dict[str, StoredTable] = {}


class ModuleDeclaration(Declared, frozen=True, kw_only=True):
    """What a system has whatever the workload; folders are from the module's on.

    ``sources`` are folders that its programs are made of besides, ``procedures`` folders with procedures that it
    shares, ``check`` a program that says whether what is committed belongs together. A small module may hold a
    workload's procedure itself.
    """

    system: str
    tier: dict[str, Tier]
    sources: tuple[str, ...] = ()
    procedures: tuple[str, ...] = ()
    check: str | None = None
    program_note: str | None = None
    procedure: dict[str, ProcedureDeclaration] = {}
