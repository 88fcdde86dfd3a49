"""The contract's schema: what a configuration may say, and what clients declare of themselves."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from gapbook.deploy.endpoint import Endpoint
from gapbook.errors import ParameterError
from gapbook.load.client import configure_load, discover_clients, find_client
from gapbook.load.configuration import LoadConfiguration
from gapbook.load.contract import schema_problem
from gapbook.paths import CHECKOUT
from tests.bank import bank_workload

_POSTGRES = {
    "protocol": "postgres",
    "host": "127.0.0.1",
    "port": 5433,
    "user": "bank",
    "password": "secret",
    "database": "bank",
}
_REQUEST = {
    "method": "POST",
    "path": "/transfer",
    "headers": {"Authorization": "Bearer {from}"},
    "body": '{{"from":{from}}',
    "success": {"status": [200, 201], "json": {"ok": True}},
    "refusals": {"insufficient": {"text": "insufficient"}},
    "retries": "retries",
}
_HTTP = {"protocol": "http", "host": "127.0.0.1", "port": 80, "requests": {"transfer": _REQUEST}}
_SPACETIMEDB = {
    "protocol": "spacetimedb",
    "host": "127.0.0.1",
    "port": 3000,
    "database": "bank",
    "token": "a.b-c",
}
_SQLITE = {"protocol": "sqlite", "path": "/bank.sqlite", "synchronous": "FULL"}
Change = Callable[[Any], object]


@pytest.fixture(name="configure")
def _configure(tmp_path: Path) -> Callable[..., LoadConfiguration]:
    def configure(endpoint: Endpoint, **options: Any) -> LoadConfiguration:
        configuration = configure_load(
            endpoint,
            bank_workload(10, 100),
            tmp_path,
            seed=42,
            connections=2,
            in_flight=1,
            warmup_s=0.0,
            window_s=1.0,
            drain_s=0.0,
            request_timeout_s=1.0,
            **options,
        )
        return copy.deepcopy(configuration)

    return configure


def test_the_schema_is_one() -> None:
    schema = json.loads((CHECKOUT / "clients" / "contract.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    for definition in ("configuration", "report", "description"):
        assert definition in schema["$defs"]


@pytest.mark.parametrize(
    "endpoint",
    [
        _POSTGRES,
        {**_POSTGRES, "mode": "batch", "batch_size": 64},
        {**_POSTGRES, "functions": {"increment": "increment_counter"}},
        _HTTP,
        _SPACETIMEDB,
        {**_SPACETIMEDB, "newest": "v1", "reducers": {"message": "send_message"}, "amount": "i64"},
        _SQLITE,
        {"protocol": "mongodb", "what": "its client asks for"},
    ],
    ids=lambda endpoint: str(endpoint["protocol"]),
)
def test_an_endpoint_of_every_protocol_is_allowed(
    configure: Callable[..., LoadConfiguration], endpoint: dict[str, Any]
) -> None:
    for options in ({}, {"rate_per_s": 100.0, "max_retries": 3, "flaws": [{"name": "status-unread"}]}):
        assert schema_problem("configuration", configure(endpoint, **options)) is None


@pytest.mark.parametrize(
    ("endpoint", "change", "place"),
    [
        (_POSTGRES, lambda c: c.update(surprise=1), "'surprise' was unexpected"),
        (_POSTGRES, lambda c: c.pop("window_s"), "'window_s' is a required property"),
        (_POSTGRES, lambda c: c.update(contract=1), "contract: "),
        (_POSTGRES, lambda c: c.update(connections=0), "connections: "),
        (_POSTGRES, lambda c: c.update(in_flight=1.5), "in_flight: "),
        (_POSTGRES, lambda c: c.update(threads=True), "threads: "),
        (_POSTGRES, lambda c: c.update(first_connection=2**31), "first_connection: "),
        (_POSTGRES, lambda c: c.update(window_s=0), "window_s: "),
        (_POSTGRES, lambda c: c.update(drain_s=-1), "drain_s: "),
        (_POSTGRES, lambda c: c.update(loop={"kind": "open"}), "loop"),
        (_POSTGRES, lambda c: c.update(loop={"kind": "open", "rate_per_s": 0}), "loop"),
        (_POSTGRES, lambda c: c.update(loop={"kind": "closed", "rate_per_s": 5}), "loop"),
        (_POSTGRES, lambda c: c.update(flaws=[{"name": "typos"}]), "flaws"),
        (_POSTGRES, lambda c: c.update(flaws=[{"name": "replayed-pairs", "batch": 0}]), "flaws"),
        (_POSTGRES, lambda c: c["workload"].update(seed=2**53), "workload.seed: "),
        (_POSTGRES, lambda c: c["workload"].pop("files"), "workload: 'files' is a required property"),
        (
            _POSTGRES,
            lambda c: c["workload"]["files"]["alias_table"].update(sha256="0"),
            "workload.files.alias_table.sha256: ",
        ),
        (_POSTGRES, lambda c: c["endpoint"].update(port="5433"), "endpoint.port: "),
        (_POSTGRES, lambda c: c["endpoint"].update(surprise=1), "endpoint: "),
        (_POSTGRES, lambda c: c["endpoint"].update(batch_size=4), "endpoint: 'mode' is a required property"),
        (_POSTGRES, lambda c: c["endpoint"].update(batch_size=4, mode="sql"), "endpoint.mode: 'batch' was"),
        (_POSTGRES, lambda c: c["endpoint"].update(mode="batch"), "endpoint: 'batch_size' is a required"),
        (_POSTGRES, lambda c: c["endpoint"].update(function="drop table"), "endpoint.function: "),
        (_HTTP, lambda c: c["endpoint"].pop("requests"), "endpoint: 'requests' is a required property"),
        (
            _HTTP,
            lambda c: c["endpoint"]["requests"]["transfer"].update(path="/a b"),
            "endpoint.requests.transfer.path: ",
        ),
        (
            _HTTP,
            lambda c: c["endpoint"]["requests"]["transfer"]["headers"].update(X="a\r\nY: b"),
            "endpoint.requests.transfer.headers.X: ",
        ),
        (
            _HTTP,
            lambda c: c["endpoint"]["requests"]["transfer"]["success"].update(status=[]),
            "endpoint.requests.transfer.success.status: ",
        ),
        (_SPACETIMEDB, lambda c: c["endpoint"].update(newest="v4"), "endpoint.newest: "),
        (_SPACETIMEDB, lambda c: c["endpoint"].update(database="a/b"), "endpoint.database: "),
        (_SPACETIMEDB, lambda c: c["endpoint"].update(token="a b"), "endpoint.token: "),
        (_SQLITE, lambda c: c["endpoint"].update(synchronous="SOMETIMES"), "endpoint.synchronous: "),
    ],
)
def test_what_is_not_allowed_is_told_with_its_place(
    configure: Callable[..., LoadConfiguration], endpoint: dict[str, Any], change: Change, place: str
) -> None:
    configuration = configure(endpoint)
    change(configuration)
    problem = schema_problem("configuration", configuration)
    assert problem is not None
    assert place in problem
    assert "\n" not in problem
    assert len(problem) < 400


def test_a_client_that_cannot_draw_the_workload_is_not_found() -> None:
    assert find_client("rust", "postgres", workload="counter-and-messages").draws("transfer")
    with pytest.raises(ParameterError, match=r"cannot draw the workload 'chess'; allowed: .*transfer"):
        find_client("rust", "sqlite", workload="chess")


def test_every_client_says_what_it_draws_and_how_it_reports() -> None:
    for client in discover_clients():
        assert client.workloads
        assert client.reports in {"indices", "counts"}
