"""The configuration of the client contract, checked before anything is opened."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from gap_python import CONTRACT_VERSION
from gap_python.failure import EXIT_CONFIGURATION, ClientError
from gap_python.fields import Fields

WORKLOAD = "transfer"
PROTOCOLS = ("postgres", "http", "spacetimedb")
POSTGRES_MODES = ("procedure", "sql")
SPACETIMEDB_VERSIONS = ("v3", "v2", "v1")
INT4_MAX = 2**31 - 1
U32_MAX = 2**32 - 1
SEED_MAX = 2**53 - 1
ACCOUNTS_MAX = 2**21
CONNECTIONS_MAX = 65_536
IN_FLIGHT_MAX = 65_536
RETRIES_MAX = 1_000_000
DURATION_MIN_S = 0.001
DURATION_MAX_S = 86_400
RATE_MIN_PER_S = 1e-6
RATE_MAX_PER_S = 1e9
ALPHA_MAX = 1e3

_WORKLOAD_KEYS = (
    "name",
    "seed",
    "accounts",
    "alpha",
    "amount_max",
    "redraw",
    "alias_table",
    "alias_table_sha256",
)
REDRAWS = ("both", "destination")
_LOAD_KEYS = (
    "contract",
    "endpoint",
    "workload",
    "connections",
    "first_connection",
    "in_flight",
    "loop",
    "warmup_s",
    "window_s",
    "drain_s",
    "request_timeout_s",
    "threads",
    "max_retries",
)
_POSTGRES_KEYS = ("protocol", "host", "port", "user", "password", "database", "mode", "function")
_HTTP_KEYS = ("protocol", "host", "port", "path")
_SPACETIMEDB_KEYS = (
    "protocol",
    "host",
    "port",
    "database",
    "token",
    "newest",
    "coalesce",
    "confirmed",
    "reducer",
    "amount",
)


@dataclass(frozen=True)
class PostgresEndpoint:
    host: str
    port: int
    user: str
    password: str
    database: str
    mode: str
    function: str


@dataclass(frozen=True)
class HttpEndpoint:
    host: str
    port: int
    path: str


@dataclass(frozen=True)
class SpacetimeDbEndpoint:
    host: str
    port: int
    database: str
    token: str
    newest: str
    """The newest version of the protocol that is offered."""
    coalesce: bool
    confirmed: bool
    reducer: str
    amount: str
    """The type of the reducer's last argument: u32 or i64."""


Endpoint = PostgresEndpoint | HttpEndpoint | SpacetimeDbEndpoint


@dataclass(frozen=True)
class Workload:
    seed: int
    accounts: int
    amount_max: int
    redraw: str
    """What is drawn again when source and destination are the same account."""
    alias_table: str
    alias_table_sha256: str


@dataclass(frozen=True)
class Config:
    endpoint: Endpoint
    workload: Workload
    connections: int
    first_connection: int
    in_flight: int
    rate_per_s: float | None
    """None is the closed loop."""
    warmup_s: float
    window_s: float
    drain_s: float
    request_timeout_s: float
    max_retries: int


@dataclass(frozen=True)
class DrawConfig:
    """What ``--draw`` needs; the rest of a configuration may be there and is not looked at."""

    workload: Workload
    connection: int
    first_index: int
    count: int


def parse_config(text: str) -> Config:
    root = Fields(_parse_json(text), "", _LOAD_KEYS)
    root.integer("contract", CONTRACT_VERSION, CONTRACT_VERSION)
    root.integer("threads", 1, 1, default=1)
    endpoint = _parse_endpoint(root)
    in_flight = root.integer("in_flight", 1, IN_FLIGHT_MAX)
    if in_flight > 1:
        if isinstance(endpoint, HttpEndpoint):
            raise root.refused("in_flight", "1 with the protocol http")
        if isinstance(endpoint, PostgresEndpoint) and endpoint.mode == "sql":
            raise root.refused("in_flight", '1 with the endpoint\'s mode "sql"')
    return Config(
        endpoint=endpoint,
        workload=_parse_workload(root),
        connections=root.integer("connections", 1, CONNECTIONS_MAX),
        first_connection=root.integer("first_connection", 0, U32_MAX - CONNECTIONS_MAX, default=0),
        in_flight=in_flight,
        rate_per_s=_parse_rate(root.inside("loop", ("kind", "rate_per_s"))),
        warmup_s=root.number("warmup_s", 0, DURATION_MAX_S),
        window_s=root.number("window_s", DURATION_MIN_S, DURATION_MAX_S),
        drain_s=root.number("drain_s", 0, DURATION_MAX_S),
        request_timeout_s=root.number("request_timeout_s", DURATION_MIN_S, DURATION_MAX_S),
        max_retries=root.integer("max_retries", 0, RETRIES_MAX, default=0),
    )


def parse_draw_config(text: str) -> DrawConfig:
    root = Fields(_parse_json(text), "", (*_LOAD_KEYS, "draw"))
    root.integer("contract", CONTRACT_VERSION, CONTRACT_VERSION)
    draw = root.inside("draw", ("connection", "first_index", "count"))
    first_index = draw.integer("first_index", 0, SEED_MAX)
    return DrawConfig(
        workload=_parse_workload(root),
        connection=draw.integer("connection", 0, U32_MAX),
        first_index=first_index,
        count=draw.integer("count", 0, SEED_MAX - first_index),
    )


def _parse_json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ClientError(
            EXIT_CONFIGURATION, f"configuration: standard input is not JSON ({error})"
        ) from error


def _parse_endpoint(root: Fields) -> Endpoint:
    every_key = tuple(dict.fromkeys((*_POSTGRES_KEYS, *_HTTP_KEYS, *_SPACETIMEDB_KEYS)))
    protocol = root.inside("endpoint", every_key).text(
        "protocol", " or ".join(f'"{name}"' for name in PROTOCOLS), PROTOCOLS.__contains__
    )
    if protocol == "postgres":
        return _parse_postgres(root.inside("endpoint", _POSTGRES_KEYS))
    if protocol == "http":
        endpoint = root.inside("endpoint", _HTTP_KEYS)
        return HttpEndpoint(
            host=endpoint.text("host"),
            port=_port(endpoint),
            path=endpoint.text(
                "path", "a path that begins with /", lambda path: path.startswith("/"), default="/transfer"
            ),
        )
    endpoint = root.inside("endpoint", _SPACETIMEDB_KEYS)
    word = ("printable ASCII without spaces, /, ? and #", re.compile(r"[!-~]+").fullmatch)
    return SpacetimeDbEndpoint(
        host=endpoint.text("host"),
        port=_port(endpoint),
        database=endpoint.text(
            "database", word[0], lambda text: word[1](text) and not set("/?#") & set(text)
        ),
        token=endpoint.text("token", word[0], lambda text: word[1](text) and not set("/?#") & set(text)),
        newest=_one_of(endpoint, "newest", SPACETIMEDB_VERSIONS),
        coalesce=endpoint.boolean("coalesce") is not False,
        confirmed=endpoint.boolean("confirmed") is True,
        reducer=endpoint.text(
            "reducer", "1 to 64 of a to z and _", re.compile("[a-z_]{1,64}").fullmatch, default="transfer"
        ),
        amount=_one_of(endpoint, "amount", ("u32", "i64")),
    )


def _one_of(fields: Fields, key: str, words: Sequence[str]) -> str:
    """The first word is the default."""
    return fields.text(key, " or ".join(f'"{word}"' for word in words), words.__contains__, default=words[0])


def _parse_postgres(endpoint: Fields) -> PostgresEndpoint:
    mode = endpoint.text(
        "mode",
        " or ".join(f'"{mode}"' for mode in POSTGRES_MODES) + " for this client",
        POSTGRES_MODES.__contains__,
        default="procedure",
    )
    if mode != "procedure" and endpoint.has("function"):
        raise endpoint.refused("function", f'no function with mode "{mode}"')
    return PostgresEndpoint(
        host=endpoint.text("host"),
        port=_port(endpoint),
        user=endpoint.text("user"),
        password=endpoint.text("password"),
        database=endpoint.text("database"),
        mode=mode,
        function=endpoint.text(
            "function",
            "1 to 63 letters from a to z and _",
            re.compile(r"[a-z_]{1,63}").fullmatch,
            default="transfer",
        ),
    )


def _port(endpoint: Fields) -> int:
    return endpoint.integer("port", 1, 65_535)


def _parse_workload(root: Fields) -> Workload:
    workload = root.inside("workload", _WORKLOAD_KEYS)
    workload.text("name", f'"{WORKLOAD}"', WORKLOAD.__eq__)
    workload.number("alpha", 0, ALPHA_MAX)
    return Workload(
        seed=workload.integer("seed", 0, SEED_MAX),
        accounts=workload.integer("accounts", 2, ACCOUNTS_MAX),
        amount_max=workload.integer("amount_max", 1, INT4_MAX),
        redraw=workload.text(
            "redraw", " or ".join(f'"{name}"' for name in REDRAWS), REDRAWS.__contains__, default="both"
        ),
        alias_table=workload.text("alias_table"),
        alias_table_sha256=workload.text(
            "alias_table_sha256", "64 hexadecimal digits", re.compile(r"[0-9a-f]{64}").fullmatch
        ),
    )


def _parse_rate(loop: Fields) -> float | None:
    kind = loop.text("kind", '"closed" or "open"', ("closed", "open").__contains__)
    if kind == "open":
        return loop.number("rate_per_s", RATE_MIN_PER_S, RATE_MAX_PER_S)
    if loop.has("rate_per_s"):
        raise loop.refused("rate_per_s", "no rate in the closed loop")
    return None
