"""The Python client keeps clients/CONTRACT.md: its draws, its refusals, its load on real servers."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psycopg
import pytest

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.module import load_module
from gapbook.deploy.stack import Stack
from gapbook.load.client import Client, configure_load, discover_clients
from gapbook.paths import CHECKOUT
from gapbook.record.histograms import decode_histogram
from gapbook.trial.audit import Audit, reconcile
from tests.bank import balances_of, bank_workload, seed_bank

_GOLDEN = CHECKOUT / "workloads" / "transfer" / "golden"
_ACCOUNTS = 1_000
_ALPHA = 1.5
_SEED = 3
_AMOUNT_MAX = 1_000
_AMPLE = 10**7
_SCARCE = 2_000
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
    def configure(endpoint: dict[str, Any], **changed: Any) -> dict[str, Any]:
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
        report,
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


# --- work -------------------------------------------------------------------------------------
@pytest.mark.parametrize("vector_path", sorted(_GOLDEN.glob("*.json")), ids=lambda path: path.stem)
def test_golden_vectors_are_drawn(vector_path: Path) -> None:
    vector = json.loads(vector_path.read_text())
    table = vector["files"]["alias_table"]
    workload = {
        "name": "transfer",
        "seed": vector["seed"],
        **{key: vector["parameters"][key] for key in ("accounts", "alpha", "amount_max", "redraw")},
        "alias_table": str(_GOLDEN / table["path"]),
        "alias_table_sha256": table["sha256"],
    }
    draw = {"connection": vector["connection"], "first_index": vector["first_index"], "count": 1_000}
    code, output, _ = _run({"contract": 1, "workload": workload, "draw": draw}, "--draw")
    assert code == 0
    drawn = [[int(word) for word in line.split()] for line in output.splitlines()]
    first = vector["first_index"]
    assert drawn == [[first + place, *fields] for place, (_, *fields) in enumerate(vector["operations"])]


def test_describe_names_what_client_toml_declares() -> None:
    code, output, _ = _run("", "--describe")
    described = json.loads(output)
    assert code == 0
    assert described["contract"] == 1
    assert described["language"] == _CLIENT.language
    assert tuple(described["protocols"]) == _CLIENT.protocols


# --- refusals ---------------------------------------------------------------------------------
_POSTGRES = {
    "protocol": "postgres",
    "host": "127.0.0.1",
    "port": 1,
    "user": "u",
    "password": "p",
    "database": "d",
}
_HTTP = {"protocol": "http", "host": "127.0.0.1", "port": 1}
_SPACETIMEDB = {"protocol": "spacetimedb", "host": "127.0.0.1", "port": 1, "database": "d", "token": "t"}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"contract": 2}, "contract: 2 is refused"),
        ({"connections": 0}, "connections: 0 is refused; allowed: an integer from 1"),
        ({"connections": True}, "connections: true is refused"),
        ({"conections": 5}, "conections: unknown key"),
        ({"window_s": 0}, "window_s: 0 is refused"),
        ({"warmup_s": "1"}, 'warmup_s: "1" is refused'),
        ({"max_retries": -1}, "max_retries: -1 is refused"),
        ({"threads": 2}, "threads: 2 is refused"),
        ({"flaws": [{"name": "x"}]}, "flaws: unknown key"),
        ({"loop": {"kind": "open"}}, "loop.rate_per_s: missing"),
        ({"loop": {"kind": "closed", "rate_per_s": 5.0}}, "loop.rate_per_s: 5.0 is refused"),
        ({"workload": {}}, "workload.name: missing"),
        ({"endpoint": 5}, "endpoint: must be an object"),
        ({"endpoint": {**_POSTGRES, "protocol": "sqlite"}}, 'endpoint.protocol: "sqlite" is refused'),
        ({"endpoint": {**_POSTGRES, "mode": "drizzle"}}, 'endpoint.mode: "drizzle" is refused'),
        ({"endpoint": {**_POSTGRES, "batch_size": 64}}, "endpoint.batch_size: unknown key"),
        ({"endpoint": {**_POSTGRES, "function": "a; b"}}, 'endpoint.function: "a; b" is refused'),
        ({"endpoint": {**_POSTGRES, "mode": "sql", "function": "transfer"}}, "endpoint.function: "),
        ({"endpoint": {**_POSTGRES, "port": 0}}, "endpoint.port: 0 is refused"),
        ({"endpoint": {**_POSTGRES, "mode": "sql"}, "in_flight": 2}, "in_flight: 2 is refused; allowed: 1"),
        ({"endpoint": _HTTP, "in_flight": 2}, "in_flight: 2 is refused; allowed: 1 with the protocol http"),
        ({"endpoint": {**_HTTP, "path": "transfer"}}, 'endpoint.path: "transfer" is refused'),
        ({"endpoint": {**_SPACETIMEDB, "confirmed": 1}}, "endpoint.confirmed: 1 is refused"),
        ({"endpoint": {**_SPACETIMEDB, "newest": "v4"}}, 'endpoint.newest: "v4" is refused; allowed: "v3"'),
        ({"endpoint": {**_SPACETIMEDB, "coalesce": 1}}, "endpoint.coalesce: 1 is refused"),
        ({"endpoint": {**_SPACETIMEDB, "reducer": "f()"}}, 'endpoint.reducer: "f()" is refused'),
        ({"endpoint": {**_SPACETIMEDB, "token": "a b"}}, 'endpoint.token: "a b" is refused'),
    ],
)
def test_wrong_configuration_is_refused_by_name(
    configure: Callable[..., dict[str, Any]], changed: dict[str, Any], words: str
) -> None:
    code, output, events = _run(configure(_POSTGRES) | changed)
    assert (code, output) == (2, "")
    assert events[-1]["event"] == "error"
    assert events[-1]["message"].startswith(words)


def test_unknown_arguments_and_no_json_are_refused() -> None:
    assert _run("", "--help")[0] == 2
    code, _, events = _run("{")
    assert code == 2
    assert "not JSON" in events[-1]["message"]


def test_alias_table_that_was_changed_is_not_believed(configure: Callable[..., dict[str, Any]]) -> None:
    configuration = configure(_POSTGRES)
    path = Path(configuration["workload"]["alias_table"])
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    code, output, events = _run(configuration)
    assert (code, output) == (4, "")
    assert "sha256" in events[-1]["message"]


@pytest.mark.parametrize("endpoint", [_POSTGRES, _HTTP, _SPACETIMEDB], ids=lambda end: str(end["protocol"]))
def test_endpoint_without_a_server_ends_with_code_3(
    configure: Callable[..., dict[str, Any]], endpoint: dict[str, Any]
) -> None:
    code, output, events = _run(configure(endpoint))
    assert (code, output) == (3, "")
    assert "127.0.0.1" in events[-1]["message"]


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
    report, _ = _report(configure(endpoint, in_flight=in_flight, max_retries=max_retries))
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
    loop = {"kind": "open", "rate_per_s": 200.0}
    report, _ = _report(configure(postgres_stack.endpoint(), loop=loop, in_flight=2))
    assert report["attempted"] == 240
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


# --- answers of an HTTP server that misbehaves --------------------------------------------------
@contextlib.contextmanager
def _serving(answers: list[tuple[int, bytes] | None]) -> Iterator[tuple[int, list[str]]]:
    """A server that gives these answers in turn, the last for ever; None closes the connection unanswered."""
    asked: list[str] = []
    left = list(answers)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            if body == "{}":
                answer: tuple[int, bytes] | None = (400, b"{}")
            else:
                asked.append(body)
                answer = left.pop(0) if len(left) > 1 else left[0]
            if answer is None:
                self.close_connection = True
                return
            self.send_response(answer[0])
            self.send_header("content-length", str(len(answer[1])))
            self.end_headers()
            self.wfile.write(answer[1])

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_port, asked
    server.shutdown()
    server.server_close()
    thread.join()


def test_http_status_and_body_decide(configure: Callable[..., dict[str, Any]]) -> None:
    answers: list[tuple[int, bytes] | None] = [
        (200, b'{"ok":true}'),
        (200, b'{"ok":false,"error":"insufficient"}'),
        (200, b'{"ok":false,"error":"deadlock"}'),
        (500, b'{"ok":true}'),
        (200, b"no JSON"),
        (200, b'{"ok":true,"retries":3}'),
        (500, b'{"ok":false,"error":"could not serialize","retries":2}'),
        (200, b' {"ok": true}\n'),
    ]
    with _serving(answers) as (port, asked):
        report, _ = _report(configure({**_HTTP, "port": port}, connections=1))
    failed = [[1, "insufficient"], [2, "error"], [3, "error"], [4, "error"], [6, "error"]]
    assert report["connections"][0]["failed"] == failed
    assert report["connections"][0]["retried"] == [5, 6]
    assert report["retried"] == 5
    assert "deadlock" in report["first_error"]
    assert len(asked) == report["attempted"]


def test_http_connection_that_closes_is_lost_and_never_opened_again(
    configure: Callable[..., dict[str, Any]],
) -> None:
    with _serving([(200, b'{"ok":true}'), (200, b'{"ok":true}'), None]) as (port, asked):
        report, events = _report(configure({**_HTTP, "port": port}, connections=1))
    assert len(asked) == 3
    assert (report["acknowledged"], report["in_doubt"], report["lost_connections"]) == (2, 1, 1)
    assert report["connections"][0]["in_doubt"] == [2]
    assert any(event["event"] == "connection_lost" for event in events)


def test_unserved_path_ends_with_code_3(configure: Callable[..., dict[str, Any]]) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_error(404)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        code, _, events = _run(configure({**_HTTP, "port": server.server_port}))
        server.shutdown()
        thread.join()
    assert code == 3
    assert "POST /transfer is not served" in events[-1]["message"]


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
