"""The Python client on real servers: loads that are audited, refusals, connections that are lost."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.module import load_module
from gapbook.deploy.stack import Stack
from gapbook.load.client import Client, configure_load, discover_clients
from gapbook.model.report import Report
from gapbook.record.histograms import decode_histogram
from gapbook.trial.audit import Audit, reconcile
from tests.bank import balances_of, bank_workload, seed_bank

_ACCOUNTS = 1_000
_ALPHA = 1.5
_SEED = 3
_AMOUNT_MAX = 1_000
_AMPLE = 10**7
_SCARCE = _AMOUNT_MAX
"""An account that is hot cannot pay twice, however few transfers a busy machine makes."""
_WINDOW_S = 1.0
_CLIENT: Client = next(client for client in discover_clients() if client.language == "python")


def _run(
    configuration: Any, *options: str, meanwhile: Callable[[], object] = lambda: None
) -> tuple[int, str, list[dict[str, Any]]]:
    """Exit code, standard output and events of one run of the client."""
    client = subprocess.Popen(
        [*_CLIENT.resolved_command(), *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert client.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        client.stdin.write(configuration if isinstance(configuration, str) else json.dumps(configuration))
        client.stdin.flush()
        client.stdin.close()
    client.stdin = None
    timer = threading.Timer(0.5 * _WINDOW_S, meanwhile)
    timer.start()
    output, errors = client.communicate(timeout=60)
    timer.join()
    return client.returncode, output, [json.loads(line) for line in errors.splitlines()]


def _report(configuration: dict[str, Any], **options: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    code, output, events = _run(configuration, **options)
    assert code == 0, events
    return json.loads(output), events


@pytest.fixture(name="configure")
def _configure(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    def configure(endpoint: Endpoint, **changed: Any) -> dict[str, Any]:
        changed = {"in_flight": 1, "connections": 8, "request_timeout_s": 10.0, "drain_s": 10.0, **changed}
        common = {
            key: changed.pop(key) for key in ("in_flight", "connections", "request_timeout_s", "drain_s")
        }
        return (
            configure_load(
                endpoint,
                bank_workload(_ACCOUNTS, 0, alpha=_ALPHA, amount_max=_AMOUNT_MAX),
                tmp_path,
                seed=_SEED,
                warmup_s=0.2,
                window_s=_WINDOW_S,
                **common,
            )
            | changed
        )

    return configure


def _audit(report: dict[str, Any], stack: Stack, initial_balance: int) -> Audit:
    return reconcile(
        msgspec.convert(report, Report),
        workload=bank_workload(_ACCOUNTS, initial_balance, alpha=_ALPHA, amount_max=_AMOUNT_MAX),
        seed=_SEED,
        state=stack.state(),
        committed=stack.committed_operations(),
    )


def _assert_adds_up(report: dict[str, Any], most_out: int) -> None:
    failed = sum(report["failed"].values())
    assert report["attempted"] == report["acknowledged"] + failed + report["in_doubt"]
    rows = report["connections"]
    assert sum(row["issued"] for row in rows) == report["attempted"]
    assert sum(len(row["failed"]) for row in rows) == failed
    again = [row["retried"] for row in rows]
    assert all(len(set(indices)) == len(indices) for indices in again)
    assert sum(map(len, again)) <= report["retried"]
    assert sum(report["per_second"]) == sum(report["per_100ms"]) == report["acknowledged"]
    window = report["window"]
    assert 0 < window["acknowledged"] <= window["completed"]
    assert window["goodput_per_s"] == window["acknowledged"] / _WINDOW_S
    assert 0 < window["mean_in_flight"] <= most_out + 1e-6
    assert decode_histogram(report["service_time_ns"]).total_count == window["acknowledged"]
    assert 0 < window["cpu_user_s"] <= report["cpu_user_s"]
    assert 10e6 < report["peak_memory_bytes"] < 500e6


def test_unknown_function_and_wrong_password_end_with_code_3(
    configure: Callable[..., dict[str, Any]], postgres_stack: Stack
) -> None:
    endpoint = postgres_stack.endpoint()
    for changed, words in (({"function": "nothing"}, "nothing"), ({"password": "wrong"}, "password")):
        for in_flight in (1, 4):
            code, _, events = _run(configure({**endpoint, **changed}, in_flight=in_flight))
            assert code == 3
            assert words in events[-1]["message"]


# --- real servers -----------------------------------------------------------------------------
_WAYS: list[tuple[dict[str, Any], int]] = [
    ({}, 1),
    ({}, 8),
    ({"function": "transfer_descending"}, 1),
    ({"function": "transfer_descending"}, 8),
    ({"mode": "sql"}, 1),
]
_WAY_NAMES = ["procedure", "procedure pipelined", "descending", "descending pipelined", "sql"]


@pytest.mark.parametrize(("way", "in_flight"), _WAYS, ids=_WAY_NAMES)
def test_postgres_load_is_audited_to_the_unit(
    configure: Callable[..., dict[str, Any]], postgres_stack: Stack, way: dict[str, Any], in_flight: int
) -> None:
    seed_bank(postgres_stack, _ACCOUNTS, _AMPLE)
    report, events = _report(configure({**postgres_stack.endpoint(), **way}, in_flight=in_flight))
    _assert_adds_up(report, 8 * in_flight)
    assert report["acknowledged"] == report["attempted"]
    assert [row["connection"] for row in report["connections"]] == list(range(8))
    assert report["response_time_ns"] == report["service_time_ns"]
    audit = _audit(report, postgres_stack, _AMPLE)
    assert audit.committed == report["acknowledged"]
    assert audit.agrees, audit.explain()
    names = [event["event"] for event in events if event["event"] != "progress"]
    assert names == ["ready", "window_start", "window_end"]


@pytest.mark.parametrize(("way", "in_flight"), _WAYS, ids=_WAY_NAMES)
def test_refused_transfers_are_named_and_did_not_move(
    configure: Callable[..., dict[str, Any]], postgres_stack: Stack, way: dict[str, Any], in_flight: int
) -> None:
    seed_bank(postgres_stack, _ACCOUNTS, _SCARCE)
    report, _ = _report(configure({**postgres_stack.endpoint(), **way}, in_flight=in_flight))
    _assert_adds_up(report, 8 * in_flight)
    assert report["failed"]["insufficient"] > 0
    assert report["failed"]["error"] == 0
    assert _audit(report, postgres_stack, _SCARCE).found.agrees


@pytest.fixture(name="serializable")
def _serializable(postgres_stack: Stack) -> Iterator[None]:
    def isolate(level: str) -> None:
        with _connect(postgres_stack) as connection:
            connection.execute(
                f"ALTER ROLE CURRENT_USER SET default_transaction_isolation = '{level}'".encode()
            )

    isolate("serializable")
    yield
    isolate("read committed")


def _hold_busiest_account(stack: Stack) -> None:
    """Changes the busiest account and commits a moment later: what waits for it meanwhile collides, also where one core
    runs each transfer to its end. It holds no other, so that nobody who waits for it can hold what it wants."""
    with _connect(stack) as connection:
        for _ in range(5):
            with connection.transaction():
                connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
                connection.execute("UPDATE accounts SET balance = balance WHERE id = 0")
                time.sleep(0.02)


@pytest.mark.usefixtures("serializable")
@pytest.mark.parametrize("max_retries", [0, 1_000])
@pytest.mark.parametrize(("way", "in_flight"), _WAYS, ids=_WAY_NAMES)
def test_serialization_failures_are_retried_as_often_as_allowed(
    configure: Callable[..., dict[str, Any]],
    postgres_stack: Stack,
    way: dict[str, Any],
    in_flight: int,
    max_retries: int,
) -> None:
    seed_bank(postgres_stack, _ACCOUNTS, _AMPLE)
    endpoint = {**postgres_stack.endpoint(), **way}
    report, _ = _report(
        configure(endpoint, in_flight=in_flight, max_retries=max_retries),
        meanwhile=lambda: _hold_busiest_account(postgres_stack),
    )
    _assert_adds_up(report, 8 * in_flight)
    if max_retries:
        assert report["retried"] > 0
        assert report["failed"]["error"] == 0
    else:
        assert report["retried"] == 0
        assert report["failed"]["error"] > 0
        assert report["first_error"].startswith("40001: ")
    audit = _audit(report, postgres_stack, _AMPLE)
    assert audit.committed is None
    assert audit.agrees, audit.explain()


@pytest.mark.parametrize(("way", "in_flight"), _WAYS, ids=_WAY_NAMES)
def test_connection_that_the_server_ends_is_lost_and_in_doubt(
    configure: Callable[..., dict[str, Any]], postgres_stack: Stack, way: dict[str, Any], in_flight: int
) -> None:
    seed_bank(postgres_stack, _ACCOUNTS, _AMPLE)

    def end_two_sessions() -> None:
        with _connect(postgres_stack) as connection:
            deadline = time.monotonic() + 5
            others = (
                "SELECT pid FROM pg_stat_activity WHERE usename = CURRENT_USER AND pid <> pg_backend_pid()"
            )
            while len(sessions := connection.execute(others).fetchall()) < 8:
                assert time.monotonic() < deadline
            time.sleep(0.5)
            for (pid,) in sessions[:2]:
                connection.execute("SELECT pg_terminate_backend(%s)", (pid,))

    endpoint = {**postgres_stack.endpoint(), **way}
    report, events = _report(configure(endpoint, in_flight=in_flight), meanwhile=end_two_sessions)
    _assert_adds_up(report, 8 * in_flight)
    assert report["lost_connections"] == 2
    assert len([event for event in events if event["event"] == "connection_lost"]) == 2
    assert 0 <= report["in_doubt"] <= 2 * in_flight
    assert report["failed"]["error"] == 0
    assert balances_of(postgres_stack).sum() == _ACCOUNTS * _AMPLE


@pytest.mark.parametrize("access", ["procedure", "sql", "drizzle"])
def test_load_of_the_rpc_server_is_audited_to_the_unit(
    configure: Callable[..., dict[str, Any]], deployment: Deployment, postgres_stack: Stack, access: str
) -> None:
    seed_bank(postgres_stack, _ACCOUNTS, _AMPLE)
    tier = load_module("postgres", "transfer").start_tier(
        deployment, tier="rpc", access=access, endpoint=postgres_stack.endpoint(), pool_size=8
    )
    assert tier is not None
    report, _ = _report(configure(tier.endpoint))
    deployment.stop(tier.process)
    _assert_adds_up(report, 8)
    audit = _audit(report, postgres_stack, _AMPLE)
    assert audit.agrees, audit.explain()


@pytest.mark.parametrize("in_flight", [1, 8])
def test_spacetimedb_load_is_audited_to_the_unit(
    configure: Callable[..., dict[str, Any]], spacetimedb_stack: Stack, in_flight: int
) -> None:
    seed_bank(spacetimedb_stack, _ACCOUNTS, _SCARCE)
    report, _ = _report(configure(spacetimedb_stack.endpoint(), in_flight=in_flight))
    _assert_adds_up(report, 8 * in_flight)
    assert report["failed"]["insufficient"] > 0
    audit = _audit(report, spacetimedb_stack, _SCARCE)
    assert audit.agrees, audit.explain()


def test_open_loop_offers_its_rate(configure: Callable[..., dict[str, Any]], postgres_stack: Stack) -> None:
    seed_bank(postgres_stack, _ACCOUNTS, _AMPLE)
    loop = {"kind": "open", "rate_per_s": 8.0}  # the last is due long before the window ends
    report, _ = _report(configure(postgres_stack.endpoint(), loop=loop, in_flight=2))
    assert report["attempted"] == 10
    response, service = (decode_histogram(report[f"{kind}_time_ns"]) for kind in ("response", "service"))
    assert response.get_mean_value() >= service.get_mean_value()
    assert _audit(report, postgres_stack, _AMPLE).agrees


def _connect(stack: Stack) -> psycopg.Connection[Any]:
    address = stack.endpoint()
    return psycopg.connect(
        host=address["host"],
        port=address["port"],
        user=address["user"],
        password=address["password"],
        dbname=address["database"],
        autocommit=True,
    )


@pytest.mark.parametrize("in_flight", [1, 4])
def test_requests_nobody_answers_are_in_doubt_after_the_time_out(
    configure: Callable[..., dict[str, Any]], postgres_stack: Stack, in_flight: int
) -> None:
    seed_bank(postgres_stack, _ACCOUNTS, _AMPLE)
    with _connect(postgres_stack) as other, other.transaction():
        other.execute("LOCK accounts")
        configuration = configure(postgres_stack.endpoint(), in_flight=in_flight, request_timeout_s=0.5)
        report, _ = _report(configuration)
    assert report["in_doubt"] == report["attempted"] == 8 * in_flight
    assert report["lost_connections"] == 8
    assert report["failed"] == {"insufficient": 0, "error": 0, "timeout": 0}


def test_what_is_out_at_the_end_of_the_drain_is_in_doubt(
    configure: Callable[..., dict[str, Any]], postgres_stack: Stack
) -> None:
    seed_bank(postgres_stack, _ACCOUNTS, _AMPLE)
    with _connect(postgres_stack) as other, other.transaction():
        other.execute("LOCK accounts")
        report, _ = _report(configure(postgres_stack.endpoint(), drain_s=0.2))
    assert (report["in_doubt"], report["lost_connections"]) == (8, 0)
    assert report["drained_s"] >= 0.2
    assert abs(report["window"]["mean_in_flight"] - 8) < 0.01
