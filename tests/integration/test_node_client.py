"""The TypeScript client over real engines: every protocol and mode, held against the balances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.process import free_port
from gapbook.deploy.stack import Stack, StackContext, stack_class
from gapbook.errors import ClientError
from gapbook.load.client import ClientRun, configure_load, find_client
from gapbook.model.event import Event
from gapbook.model.report import Report
from gapbook.record.durability import Durability
from gapbook.trial.audit import Audit, reconcile
from tests.bank import bank_workload, seed_bank

_ACCOUNTS = 200
_AMOUNT_MAX = 1_000
_INITIAL = _AMOUNT_MAX
"""An account that is hot cannot pay twice, however few transfers a busy machine makes."""
_CONNECTIONS = 8
_CLOSED_PORT = free_port()
_SYNCHRONOUS_NORMAL = "1"
_ALPHA = 1.5
_WORKLOAD = bank_workload(_ACCOUNTS, _INITIAL, alpha=_ALPHA, amount_max=_AMOUNT_MAX)
_SEED = 7


@pytest.fixture(name="sqlite_stack", scope="module")
def _sqlite_stack(deployment: Deployment) -> Iterator[Stack]:
    stack = stack_class("sqlite")(StackContext(deployment, Durability("none")))
    stack.start()
    yield stack
    stack.stop()


@pytest.fixture(name="serializable_postgres", scope="module")
def _serializable_postgres(deployment: Deployment) -> Iterator[Stack]:
    context = StackContext(deployment, Durability("delayed", 500.0), isolation="serializable")
    stack = stack_class("postgres")(context)
    stack.start()
    yield stack
    stack.stop()


def _load(
    stack: Stack,
    tables: Path,
    endpoint: Endpoint,
    *,
    on_event: Callable[[Event], None] = lambda _: None,
    in_flight: int = 1,
    max_retries: int = 0,
) -> Report:
    """The report of a short closed loop."""
    configuration = configure_load(
        {**stack.endpoint(), **endpoint},
        _WORKLOAD,
        tables,
        seed=_SEED,
        connections=_CONNECTIONS,
        in_flight=in_flight,
        warmup_s=0.2,
        window_s=1.0,
        drain_s=5.0,
        request_timeout_s=5.0,
        max_retries=max_retries,
    )
    client = find_client("typescript", stack.endpoint()["protocol"])
    return ClientRun(client, configuration, on_event).run(stack.deployment)


def _run(stack: Stack, tables: Path, endpoint: Endpoint, **load: Any) -> tuple[Report, Audit]:
    """Load a bank seeded anew: the report, and what the audit says of it."""
    seed_bank(stack, _ACCOUNTS, _INITIAL)
    before = stack.committed_operations()
    events: list[Event] = []
    report = _load(stack, tables, endpoint, on_event=events.append, **load)
    names = [event.name for event in events]
    assert [names.count(name) for name in ("ready", "window_start", "window_end")] == [1, 1, 1]
    committed = stack.committed_operations()
    audit = reconcile(
        report,
        workload=_WORKLOAD,
        seed=_SEED,
        state=stack.state(),
        committed=None if committed is None or before is None else committed - before,
    )
    return report, audit


def _assert_sound(report: Report, audit: Audit, *, most_out: int) -> None:
    assert audit.agrees, audit.explain()
    assert report.failed["error"] == 0, report.first_error
    assert report.lost_connections == 0
    # The hot accounts run dry: refusals were met, and answered to the transfer that they belong to.
    assert report.failed["insufficient"] > 0
    window = report.window
    assert window.acknowledged > 0
    assert most_out / 2 < window.mean_in_flight <= most_out


@pytest.mark.parametrize(
    ("endpoint", "in_flight"),
    [
        ({}, 1),
        ({}, 8),
        ({"mode": "procedure", "function": "transfer_descending"}, 1),
        ({"mode": "sql"}, 1),
        ({"mode": "drizzle"}, 1),
    ],
    ids=["procedure", "procedure-pipelined", "procedure-descending", "sql", "drizzle"],
)
def test_postgres(postgres_stack: Stack, tmp_path: Path, endpoint: Endpoint, in_flight: int) -> None:
    report, audit = _run(postgres_stack, tmp_path, endpoint, in_flight=in_flight)
    if endpoint.get("mode", "procedure") == "procedure":
        # A refused transfer that took its credit back counts as row updates, but moved nothing.
        assert audit.found.agrees
        audit = replace(audit, committed=None)
    _assert_sound(report, audit, most_out=_CONNECTIONS * in_flight)


@pytest.mark.parametrize("mode", ["sql", "drizzle", "procedure"])
def test_postgres_serialization_failures_are_sent_again(
    serializable_postgres: Stack, tmp_path: Path, mode: str
) -> None:
    refused, audit = _run(serializable_postgres, tmp_path, {"mode": mode})
    assert refused.failed["error"] > 0
    assert "40001" in str(refused.first_error)
    assert refused.retried == 0
    assert audit.found.agrees

    served, audit = _run(serializable_postgres, tmp_path, {"mode": mode}, max_retries=1_000)
    assert served.failed["error"] == 0, served.first_error
    retried = sum(len(row.retried) for row in served.connections)
    assert 0 < retried <= served.retried
    assert audit.found.agrees


@pytest.mark.parametrize("in_flight", [1, 8])
def test_spacetimedb(spacetimedb_stack: Stack, tmp_path: Path, in_flight: int) -> None:
    report, audit = _run(spacetimedb_stack, tmp_path, {}, in_flight=in_flight)
    _assert_sound(report, audit, most_out=_CONNECTIONS * in_flight)


@pytest.mark.parametrize(
    ("stack_name", "endpoint", "in_flight"),
    [
        ("postgres", {}, 1),
        ("postgres", {}, 8),
        ("postgres", {"mode": "sql"}, 1),
        ("postgres", {"mode": "drizzle"}, 1),
        ("spacetimedb", {}, 8),
    ],
)
def test_server_that_dies_leaves_its_last_requests_in_doubt(
    request: pytest.FixtureRequest, tmp_path: Path, stack_name: str, endpoint: Endpoint, in_flight: int
) -> None:
    stack: Stack = request.getfixturevalue(f"{stack_name}_stack")
    seed_bank(stack, _ACCOUNTS, _INITIAL)

    def kill(event: Event) -> None:
        if event.name == "window_start":
            stack.kill()

    try:
        report = _load(stack, tmp_path, endpoint, on_event=kill, in_flight=in_flight)
    finally:
        if not all(process.running for process in stack.processes()):
            stack.recover()
    assert report.lost_connections == _CONNECTIONS
    in_doubt = [len(row.in_doubt) for row in report.connections]
    assert 0 < sum(in_doubt) == report.in_doubt
    assert max(in_doubt) <= in_flight
    assert report.failed["error"] == 0, report.first_error
    assert report.attempted == report.acknowledged + sum(report.failed.values()) + report.in_doubt


@pytest.mark.parametrize("mode", ["procedure", "sql", "drizzle"])
def test_session_that_the_server_ends_is_lost_and_not_refused(
    postgres_stack: Stack, tmp_path: Path, mode: str
) -> None:
    seed_bank(postgres_stack, _ACCOUNTS, _INITIAL)
    login: dict[str, Any] = {
        key: value for key, value in postgres_stack.endpoint().items() if key != "protocol"
    }
    login["dbname"] = login.pop("database")

    def end_sessions(event: Event) -> None:
        if event.name == "window_start":
            with psycopg.connect(**login) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE usename = current_user AND pid <> pg_backend_pid()"
                )

    report = _load(postgres_stack, tmp_path, {"mode": mode}, on_event=end_sessions)
    assert report.lost_connections == _CONNECTIONS
    assert report.failed["error"] == 0, report.first_error
    assert report.in_doubt > 0


@pytest.mark.parametrize("mode", ["sql", "drizzle"])
def test_sqlite(sqlite_stack: Stack, tmp_path: Path, mode: str) -> None:
    report, audit = _run(sqlite_stack, tmp_path, {"mode": mode})
    # A call returns with its answer, so all connections together have one request out.
    _assert_sound(report, audit, most_out=1)
    assert len({row.issued for row in report.connections}) <= 2
    assert report.engine is not None
    assert report.engine["journal_mode"] == "wal"
    assert report.engine["synchronous"] == _SYNCHRONOUS_NORMAL


@pytest.mark.parametrize(
    ("stack_name", "endpoint", "in_flight", "says"),
    [
        ("postgres_stack", {"mode": "sql"}, 2, 'in_flight: 2 is refused; allowed: 1 in mode "sql"'),
        ("postgres_stack", {"mode": "drizzle"}, 2, 'in_flight: 2 is refused; allowed: 1 in mode "drizzle"'),
        ("postgres_stack", {"mode": "batch", "batch_size": 2}, 2, 'endpoint.mode: "batch" is refused'),
        ("sqlite_stack", {}, 2, "in_flight: 2 is refused; allowed: 1 for protocol"),
    ],
)
def test_what_this_client_cannot_do_is_refused_by_name(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    stack_name: str,
    endpoint: Endpoint,
    in_flight: int,
    says: str,
) -> None:
    stack = request.getfixturevalue(stack_name)
    with pytest.raises(ClientError, match="ended with code 2") as refused:
        _load(stack, tmp_path, endpoint, in_flight=in_flight)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("stack_name", "endpoint", "says"),
    [
        ("postgres_stack", {"password": "wrong"}, "password authentication failed"),
        ("postgres_stack", {"function": "no_such_function"}, "no_such_function"),
        ("postgres_stack", {"port": _CLOSED_PORT}, "ECONNREFUSED"),
        ("spacetimedb_stack", {"token": "wrong"}, "no WebSocket: 401"),
        ("spacetimedb_stack", {"database": "no-such-database"}, "no WebSocket: 404"),
        ("spacetimedb_stack", {"port": _CLOSED_PORT}, "ECONNREFUSED"),
        ("sqlite_stack", {"path": "/no/such/bank.sqlite"}, "sqlite at /no/such/bank.sqlite: "),
    ],
)
def test_endpoint_that_cannot_be_used_is_named(
    request: pytest.FixtureRequest, tmp_path: Path, stack_name: str, endpoint: Endpoint, says: str
) -> None:
    stack = request.getfixturevalue(stack_name)
    with pytest.raises(ClientError, match="ended with code 3") as refused:
        _load(stack, tmp_path, endpoint)
    assert says in str(refused.value)
