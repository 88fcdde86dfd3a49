"""k6 keeps clients/CONTRACT.md: its draws, its refusals, its counts against those of a server that keeps them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jsonschema
import psutil
import pytest

from gapbook.deploy.deployment import Deployment
from gapbook.errors import ClientError
from gapbook.load.client import Client, ClientRun, discover_clients
from gapbook.model.event import Event
from gapbook.paths import CHECKOUT
from gapbook.record.histograms import decode_histogram

_WORKLOADS = CHECKOUT / "workloads"
_CONTRACT = json.loads((CHECKOUT / "clients" / "contract.schema.json").read_text(encoding="utf-8"))
_CLIENT: Client = next(client for client in discover_clients() if client.language == "k6")
_USERS = 4
_WINDOW_S = 1.0
_ASKED_FIRST = 1
"""Connections before the load: whether somebody listens."""
_PARAMETERS = {"counters": 5, "increment_share": 0.7, "message_bytes": 8}


def _checked(kind: str, value: Any) -> None:
    schema = {**_CONTRACT, "$ref": f"#/$defs/{kind}"}
    jsonschema.Draft202012Validator(schema).validate(value)


def _run(configuration: Any, *options: str) -> tuple[int, str, list[dict[str, Any]]]:
    """Exit code, standard output and events of one run of the client."""
    with subprocess.Popen(
        [*_CLIENT.resolved_command(), *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as client:
        assert client.stdin is not None
        assert client.stderr is not None
        with contextlib.suppress(BrokenPipeError):
            client.stdin.write(configuration if isinstance(configuration, str) else json.dumps(configuration))
            client.stdin.close()
        client.stdin = None
        output, errors = client.communicate(timeout=60)
        return client.returncode, output, [json.loads(line) for line in errors.splitlines()]


# --- a server that keeps what it was sent -------------------------------------------------------
@dataclass
class _Store:
    """What a server committed, and how it answers: after ``refuses_every`` requests one is refused."""

    port: int = 0
    refuses_every: int = 0
    hangs_up_after: int = 0
    counters: Counter[int] = field(default_factory=Counter)
    messages: Counter[tuple[int, int, str]] = field(default_factory=Counter)
    refused: int = 0
    connections: int = 0
    asked: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, path: str, body: bytes) -> tuple[int, bytes] | None:
        """The answer to one request; None closes the connection without one."""
        with self.lock:
            told = json.loads(body)
            self.asked += 1
            if self.hangs_up_after and self.asked > self.hangs_up_after:
                return None
            if self.refuses_every and self.asked % self.refuses_every == 0:
                self.refused += 1
                return 500, b"no"
            if path == "/increment":
                self.counters[told["counter"]] += told["amount"]
            else:
                self.messages[told["connection"], told["index"], told["body"]] += 1
            return 200, b'{"ok":true}'


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


@pytest.fixture(name="store")
def _store() -> Iterator[_Store]:
    store = _Store()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            with store.lock:
                store.connections += 1

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            assert self.headers["content-type"] == "application/json"
            answer = store.take(self.path, body)
            if answer is None:
                self.close_connection = True
                return
            self.send_response(answer[0])
            self.send_header("content-length", str(len(answer[1])))
            self.end_headers()
            self.wfile.write(answer[1])

        def log_message(self, *_: object) -> None:
            pass

    server = _Server(("127.0.0.1", 0), Handler)
    store.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield store
    server.shutdown()
    server.server_close()


_SUCCESS = {"status": [200], "json": {"ok": True}}
_REQUESTS = {
    "increment": {
        "method": "POST",
        "path": "/increment",
        "body": '{{"counter":{counter},"amount":{amount}}',
        "success": _SUCCESS,
    },
    "message": {
        "method": "POST",
        "path": "/message",
        "body": '{{"connection":{connection},"index":{index},"body":{body}}',
        "success": _SUCCESS,
    },
}


def _configuration(port: int = 1, **changed: Any) -> dict[str, Any]:
    return {
        "contract": 2,
        "endpoint": {"protocol": "http", "host": "127.0.0.1", "port": port, "requests": _REQUESTS},
        "workload": {"name": "counter-and-messages", "seed": 3, "parameters": _PARAMETERS, "files": {}},
        "connections": _USERS,
        "in_flight": 1,
        "loop": {"kind": "closed"},
        "warmup_s": 0.5,
        "window_s": _WINDOW_S,
        "drain_s": 5.0,
        "request_timeout_s": 5.0,
        **changed,
    }


def _report(configuration: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    _checked("configuration", configuration)
    code, output, events = _run(configuration)
    assert code == 0, events
    report = json.loads(output)
    _checked("report", report)
    return report, events


def _drawn(connection: int, count: int) -> list[list[str]]:
    """The first operations of a connection: index, kind and fields."""
    draw = {"connection": connection, "first_index": 0, "count": count}
    code, output, events = _run(_configuration() | {"draw": draw}, "--draw")
    assert code == 0, events
    return [line.split(" ") for line in output.splitlines()]


def _assert_adds_up(report: dict[str, Any]) -> None:
    rows, kinds, window = report["connections"], report["kinds"].values(), report["window"]
    assert report["attempted"] == sum(row["issued"] for row in rows)
    assert report["attempted"] == (
        report["acknowledged"] + sum(report["failed"].values()) + report["in_doubt"]
    )
    assert sum(report["failed"].values()) == sum(len(row["failed"]) for row in rows)
    assert report["in_doubt"] == sum(len(row["in_doubt"]) for row in rows)
    for total in ("attempted", "acknowledged", "in_doubt"):
        assert report[total] == sum(kind[total] for kind in kinds)
    for total in ("acknowledged", "completed"):
        assert window[total] == sum(kind["window"][total] for kind in kinds)
    assert report["acknowledged"] == sum(report["per_100ms"]) == sum(report["per_second"])
    assert window["acknowledged"] == decode_histogram(report["service_time_ns"]).get_total_count()
    assert 0 < window["mean_in_flight"] <= _USERS + 1e-9
    assert 0 < window["cpu_user_s"] <= report["cpu_user_s"]


# --- work ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "vector_path",
    sorted(_WORKLOADS.glob("*/golden/*.json")),
    ids=lambda path: f"{path.parts[-3]}-{path.stem}",
)
def test_golden_vectors_are_drawn_by_k6_itself(vector_path: Path) -> None:
    vector = json.loads(vector_path.read_text(encoding="utf-8"))
    files = {
        name: {**file, "path": str(vector_path.parent / file["path"])}
        for name, file in vector["files"].items()
    }
    configuration = {
        "contract": 2,
        "workload": {
            "name": vector["workload"],
            "seed": vector["seed"],
            "parameters": vector["parameters"],
            "files": files,
        },
        "draw": {
            "connection": vector["connection"],
            "first_index": vector["first_index"],
            "count": len(vector["operations"]),
        },
    }
    code, output, events = _run(configuration, "--draw")
    assert code == 0, events
    expected = [
        " ".join(map(str, [vector["first_index"] + place, *row]))
        for place, row in enumerate(vector["operations"])
    ]
    assert output.splitlines() == expected


def test_describe_names_what_client_toml_declares() -> None:
    code, output, _ = _run("", "--describe")
    described = json.loads(output)
    assert code == 0
    _checked("description", described)
    assert described["language"] == _CLIENT.language
    assert tuple(described["protocols"]) == _CLIENT.protocols
    assert "k6 v" in described["version"]


# --- counts -------------------------------------------------------------------------------------
def test_what_the_server_holds_is_what_was_acknowledged_to_the_unit(store: _Store) -> None:
    report, events = _report(_configuration(store.port))
    _assert_adds_up(report)
    assert report["acknowledged"] == report["attempted"] > 50
    counters: Counter[int] = Counter()
    messages = set()
    for row in report["connections"]:
        for index, kind, *fields in _drawn(row["connection"], row["issued"]):
            if kind == "increment":
                counters[int(fields[0])] += 1
            else:
                messages.add((row["connection"], int(index), fields[2]))
    assert store.counters == counters
    assert set(store.messages) == messages
    assert set(store.messages.values()) == {1}
    assert report["kinds"]["message"]["acknowledged"] == len(messages)
    names = [event["event"] for event in events if event["event"] != "progress"]
    assert names == ["ready", "window_start", "window_end"]


def test_each_user_keeps_one_connection(store: _Store) -> None:
    _report(_configuration(store.port))
    # On a busy machine the next request can begin before k6 has taken the connection back, and opens a second one.
    assert _USERS + _ASKED_FIRST <= store.connections <= 2 * _USERS + _ASKED_FIRST
    assert store.asked > 10 * store.connections


def test_refused_requests_are_listed_by_their_index(store: _Store) -> None:
    store.refuses_every = 10
    report, _ = _report(_configuration(store.port))
    _assert_adds_up(report)
    assert report["failed"]["error"] == store.refused > 5
    assert report["first_error"] == "status 500: no"
    assert report["lost_connections"] == 0
    refused = {
        (row["connection"], index)
        for row in report["connections"]
        for index, name in row["failed"]
        if name == "error"
    }
    assert refused.isdisjoint({(connection, index) for connection, index, _ in store.messages})
    assert sum(store.counters.values()) == report["kinds"]["increment"]["acknowledged"]


@pytest.mark.parametrize(
    ("answer", "share"),
    [({"json": {"ok": True}}, 1), ({"text": '{"ok":true}'}, 1), ({"text": "ok"}, 0)],
    ids=["by-a-key", "by-its-text", "another-text"],
)
def test_a_named_refusal_goes_before_success(store: _Store, answer: dict[str, Any], share: int) -> None:
    transfer = {
        "method": "POST",
        "path": "/message",
        "body": '{{"connection":{from},"index":{to},"body":"{amount}"}',
        "success": {"status": [200]},
        "refusals": {"insufficient": answer},
    }
    vector = json.loads((_WORKLOADS / "transfer" / "golden" / "alpha-0.5.json").read_text(encoding="utf-8"))
    folder = _WORKLOADS / "transfer" / "golden"
    files = {name: {**file, "path": str(folder / file["path"])} for name, file in vector["files"].items()}
    workload = {"name": "transfer", "seed": 3, "parameters": vector["parameters"], "files": files}
    configuration = _configuration(store.port, workload=workload)
    configuration["endpoint"] = {**configuration["endpoint"], "requests": {"transfer": transfer}}
    report, _ = _report(configuration)
    assert report["attempted"] > 50
    assert report["failed"]["insufficient"] == share * report["attempted"]
    assert report["acknowledged"] == report["attempted"] - report["failed"]["insufficient"]


def test_a_server_that_hangs_up_leaves_requests_in_doubt_and_loses_connections(store: _Store) -> None:
    store.hangs_up_after = 100
    report, events = _report(_configuration(store.port))
    assert report["lost_connections"] == _USERS
    assert report["acknowledged"] == 100
    assert 0 < report["in_doubt"] <= _USERS
    lost = [event for event in events if event["event"] == "connection_lost"]
    assert sorted(event["connection"] for event in lost) == list(range(_USERS))


def test_an_open_loop_offers_its_rate(store: _Store) -> None:
    report, _ = _report(_configuration(store.port, loop={"kind": "open", "rate_per_s": 20.0}))
    assert 10 < report["attempted"] <= 20 * 1.5  # all that were due, where the machine has time for them
    response, service = (decode_histogram(report[f"{kind}_time_ns"]) for kind in ("response", "service"))
    assert response.get_mean_value() >= service.get_mean_value()


def test_connections_can_begin_at_another_number(store: _Store) -> None:
    report, _ = _report(_configuration(store.port, first_connection=1000))
    assert [row["connection"] for row in report["connections"]] == list(range(1000, 1000 + _USERS))
    assert {connection for connection, _, _ in store.messages} <= set(range(1000, 1000 + _USERS))


# --- refusals -----------------------------------------------------------------------------------
def _with(path: str, value: Any) -> dict[str, Any]:
    """The configuration with one value changed: ``endpoint.requests.increment.body``."""
    changed: dict[str, Any] = json.loads(json.dumps(_configuration()))
    *inner, last = path.split(".")
    place = changed
    for key in inner:
        place = place[key]
    place[last] = value
    return changed


@pytest.mark.parametrize(
    ("configuration", "words"),
    [
        (_with("contract", 1), "contract: 1 is refused; allowed: 2"),
        (
            _with("endpoint.protocol", "postgres"),
            "endpoint.protocol: 'postgres' is refused; allowed: \"http\"",
        ),
        (
            _with("workload.name", "nothing"),
            'workload.name: "nothing" is refused; allowed: "chat", "counter-and-messages"',
        ),
        (_with("in_flight", 2), "in_flight: 2 is refused; allowed: 1"),
        (_with("threads", 2), "threads: 2 is refused; allowed: 1"),
        (_with("flaws", [{"name": "status-unread"}]), "flaws: "),
        (
            _with("start_unix_s", 1.0),
            "configuration: Object contains unknown field `start_unix_s`",
        ),
        (_with("conections", 2), "configuration: "),
        (_with("window_s", "1"), "configuration: "),
        (_with("loop", {"kind": "open"}), "loop.rate_per_s: "),
        (
            _with("endpoint.requests.increment.body", "{who}"),
            "endpoint.requests.increment.body: '{who}' names no field",
        ),
        (
            _with("endpoint.requests.increment.body", "{ "),
            "endpoint.requests.increment.body: '{ ' names no field",
        ),
        (
            _with("endpoint.requests", {"increment": _REQUESTS["increment"]}),
            "endpoint.requests: must be of the kinds",
        ),
        (
            _with("endpoint.requests.message.refusals", {"insufficient": {}}),
            "endpoint.requests.message.refusals: 'insufficient' is refused; allowed: none",
        ),
    ],
)
def test_wrong_configuration_is_refused_by_name(configuration: dict[str, Any], words: str) -> None:
    code, output, events = _run(configuration)
    assert (code, output) == (2, "")
    assert events[-1]["event"] == "error"
    assert events[-1]["message"].startswith(words)


def test_unknown_arguments_and_no_json_are_refused() -> None:
    assert _run("", "--help")[0] == 2
    code, _, events = _run("{")
    assert code == 2
    assert "not JSON" in events[-1]["message"]


def test_a_file_that_was_changed_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "table.bin"
    path.write_bytes(b"another")
    files = {"alias_table": {"path": str(path), "sha256": "0" * 64}}
    code, output, events = _run(_with("workload.files", files))
    assert (code, output) == (4, "")
    assert "sha256" in events[-1]["message"]


def test_an_endpoint_without_a_server_ends_with_code_3() -> None:
    code, output, events = _run(_configuration())
    assert (code, output) == (3, "")
    assert "127.0.0.1:1" in events[-1]["message"]


# --- k6 -----------------------------------------------------------------------------------------
def test_k6_ends_with_the_client(store: _Store) -> None:
    with subprocess.Popen(
        _CLIENT.resolved_command(),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as client:
        assert client.stdin is not None
        assert client.stderr is not None
        client.stdin.write(json.dumps(_configuration(store.port, window_s=30.0)))
        client.stdin.close()
        for line in client.stderr:
            if json.loads(line)["event"] == "ready":
                break
        (k6,) = psutil.Process(client.pid).children()
        os.kill(client.pid, signal.SIGTERM)
        client.wait(10)
    deadline = time.monotonic() + 5
    while k6.is_running() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not k6.is_running()


def test_settings_of_k6_that_the_reader_has_do_not_change_a_load(
    store: _Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("K6_VUS", "1")
    monkeypatch.setenv("K6_NO_CONNECTION_REUSE", "true")
    report, _ = _report(_configuration(store.port))
    assert len(report["connections"]) == _USERS
    # On a busy machine a user may open a second one; without reuse there would be one for each request.
    assert _USERS + _ASKED_FIRST <= store.connections <= 2 * _USERS + _ASKED_FIRST
    assert store.asked > 10 * store.connections


def test_a_client_that_is_killed_leaves_no_folder_behind(
    store: _Store, tmp_path: Path, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    within = list[str]()

    def kill(event: Event) -> None:
        if event.name == "window_start":
            within.extend(path.name for path in deployment.directory.iterdir())
            for child in psutil.Process().children():
                # Whoever has ended meanwhile, and is not waited for yet, has no command line.
                with contextlib.suppress(psutil.NoSuchProcess):
                    if any(word.endswith("k6/main.py") for word in child.cmdline()):
                        child.kill()

    with Deployment() as deployment:
        with pytest.raises(ClientError, match=r"client main: ended with code -9"):
            ClientRun(_CLIENT, _configuration(store.port), kill).run(deployment)
        assert any(name.startswith("gap-k6-") for name in within)
    assert not list(tmp_path.iterdir())
    assert not list(data_folder.iterdir())
