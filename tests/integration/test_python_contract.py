"""The Python client keeps clients/CONTRACT.md: its draws, its refusals, its requests as they are declared."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gapbook.paths import CHECKOUT

_GOLDEN = CHECKOUT / "workloads"
_CLIENT = CHECKOUT / "clients" / "python"
_SCHEMA = json.loads((CHECKOUT / "clients" / "contract.schema.json").read_text(encoding="utf-8"))
_VECTORS = sorted(_GOLDEN.glob("*/golden/*.json"))
_SUCCESS = {"json": {"ok": True}}
_TRANSFER = {
    "method": "POST",
    "path": "/transfer",
    "body": '{{"from":{from},"to":{to},"amount":{amount}}',
    "success": _SUCCESS,
    "refusals": {"insufficient": {"json": {"ok": False, "error": "insufficient"}}},
    "retries": "retries",
}
_POSTGRES = {
    "protocol": "postgres",
    "host": "127.0.0.1",
    "port": 1,
    "user": "u",
    "password": "p",
    "database": "d",
}
_SPACETIMEDB = {"protocol": "spacetimedb", "host": "127.0.0.1", "port": 1, "database": "d", "token": "t"}
_COUNTERS = {"name": "counter-and-messages", "seed": 42, "parameters": {}, "files": {}}


def _vector(path: Path) -> dict[str, Any]:
    """A golden vector, its files where they are."""
    vector: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    files = {
        name: {**file, "path": str(path.parent / file["path"])} for name, file in vector["files"].items()
    }
    workload = {"name": vector["workload"], "seed": vector["seed"], "parameters": vector["parameters"]}
    return {**vector, "workload": {**workload, "files": files}}


_TRANSFERS = _vector(_GOLDEN / "transfer" / "golden" / "alpha-0.5.json")


def _http(port: int = 1, **requests: Any) -> dict[str, Any]:
    return {
        "protocol": "http",
        "host": "127.0.0.1",
        "port": port,
        "requests": requests or {"transfer": _TRANSFER},
    }


def _configuration(endpoint: Any = None, **changed: Any) -> dict[str, Any]:
    return {
        "contract": 2,
        "endpoint": endpoint or _http(),
        "workload": _TRANSFERS["workload"],
        "connections": 1,
        "first_connection": _TRANSFERS["connection"],
        "in_flight": 1,
        "loop": {"kind": "closed"},
        "warmup_s": 0.1,
        "window_s": 0.5,
        "drain_s": 2,
        "request_timeout_s": 2,
        **changed,
    }


def _run(configuration: Any, *options: str) -> tuple[int, str, list[dict[str, Any]]]:
    """Exit code, standard output and events of one run of the client."""
    done = subprocess.run(
        [sys.executable, str(_CLIENT / "main.py"), *options],
        input=configuration if isinstance(configuration, str) else json.dumps(configuration),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        encoding="utf-8",
    )
    return done.returncode, done.stdout, [json.loads(line) for line in done.stderr.splitlines()]


def _report(configuration: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    code, output, events = _run(configuration)
    assert code == 0, events
    report = json.loads(output)
    _assert_fits("report", report)
    return report, events


def _assert_fits(definition: str, value: Any) -> None:
    schema = {"$ref": f"#/$defs/{definition}", "$defs": _SCHEMA["$defs"]}
    jsonschema.Draft202012Validator(schema).validate(value)


# --- work -------------------------------------------------------------------------------------
def test_every_workload_that_it_draws_has_golden_vectors() -> None:
    code, output, _ = _run("", "--describe")
    described = json.loads(output)
    assert code == 0
    _assert_fits("description", described)
    assert (described["contract"], described["language"], described["reports"]) == (2, "python", "indices")
    assert described["protocols"] == ["http", "postgres", "spacetimedb"]
    assert described["workloads"] == sorted({path.parent.parent.name for path in _VECTORS})


@pytest.mark.parametrize("path", _VECTORS, ids=lambda path: f"{path.parent.parent.name} {path.stem}")
def test_golden_vectors_are_drawn(path: Path) -> None:
    vector = _vector(path)
    first = vector["first_index"]
    draw = {
        "connection": vector["connection"],
        "first_index": first,
        "count": len(vector["operations"]),
    }
    code, output, _ = _run({"contract": 2, "workload": vector["workload"], "draw": draw}, "--draw")
    assert code == 0
    expected = [" ".join(map(str, row)) for row in vector["operations"]]
    assert output.splitlines() == [f"{first + place} {row}" for place, row in enumerate(expected)]


# --- refusals ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"contract": 1}, "contract: 1 is refused; allowed: 2"),
        ({"connections": "5"}, "connections: Expected `int`, got `str`"),
        ({"conections": 5}, "configuration: Object contains unknown field `conections`"),
        ({"threads": 2}, "threads: 2 is refused; allowed: 1"),
        ({"start_unix_s": 1.0}, "configuration: Object contains unknown field `start_unix_s`"),
        ({"flaws": [{"name": "status-unread"}]}, 'flaws: [{"name": "status-unread"}] is refused'),
        ({"loop": {"kind": "half"}}, "loop.kind: Invalid enum value 'half'"),
        ({"loop": {"kind": "open"}}, "loop.rate_per_s: Expected `float`, got `null`"),
        ({"workload": {}}, "workload: Object missing required field `name`"),
        (
            {"workload": {**_COUNTERS, "name": "tpc-c"}},
            'workload.name: "tpc-c" is refused; allowed: "chat", "counter',
        ),
        ({"workload": {**_TRANSFERS["workload"], "files": {}}}, "workload.files.alias_table: missing"),
        ({"workload": _COUNTERS}, "endpoint.requests.increment: missing"),
        ({"endpoint": 5}, "endpoint: Expected `object`, got `int`"),
        ({"endpoint": {**_POSTGRES, "protocol": "sqlite"}}, 'endpoint.protocol: "sqlite" is refused'),
        (
            {"endpoint": {**_POSTGRES, "mode": "drizzle"}},
            'endpoint.mode: "drizzle" is refused; allowed: "pro',
        ),
        (
            {"endpoint": {**_POSTGRES, "batch_size": 64}},
            "endpoint: Object contains unknown field `batch_size`",
        ),
        ({"endpoint": {**_POSTGRES, "mode": "sql", "function": "transfer"}}, "endpoint.function: "),
        ({"endpoint": {**_POSTGRES, "mode": "sql"}, "in_flight": 2}, "in_flight: 2 is refused; allowed: 1"),
        ({"endpoint": {**_POSTGRES, "mode": "sql"}, "workload": _COUNTERS}, "workload.name: "),
        ({"endpoint": {**_POSTGRES, "functions": {"pay": "f"}}}, 'endpoint.functions: "pay" is refused'),
        (
            {"endpoint": {**_POSTGRES, "function": "f"}, "workload": _COUNTERS},
            'endpoint.function: "f" is ref',
        ),
        ({"in_flight": 2}, "in_flight: 2 is refused; allowed: 1 with the protocol http"),
        (
            {"endpoint": _http(transfer={**_TRANSFER, "body": "{source}"})},
            'endpoint.requests.transfer.body: "{source}" is refused; allowed: the fields {from}, {to}, {amount}',
        ),
        (
            {"endpoint": _http(transfer={**_TRANSFER, "refusals": {"late": {}}})},
            'endpoint.requests.transfer.refusals: "late" is refused; allowed: "insufficient"',
        ),
        ({"endpoint": {**_SPACETIMEDB, "confirmed": 1}}, "endpoint.confirmed: Expected `bool`, got `int`"),
        ({"endpoint": {**_SPACETIMEDB, "newest": "v4"}}, "endpoint.newest: Invalid enum value 'v4'"),
        ({"endpoint": {**_SPACETIMEDB, "reducer": "f", "reducers": {}}}, 'endpoint.reducer: "f" is refused'),
    ],
)
def test_wrong_configuration_is_refused_by_name(changed: dict[str, Any], words: str) -> None:
    code, output, events = _run(_configuration(**changed))
    assert (code, output) == (2, "")
    assert events[-1]["event"] == "error"
    assert events[-1]["message"].startswith(words)


def test_unknown_arguments_and_no_json_are_refused() -> None:
    assert _run("", "--help")[0] == 2
    code, _, events = _run("{")
    assert code == 2
    assert "not JSON" in events[-1]["message"]


def test_alias_table_that_was_changed_is_not_believed(tmp_path: Path) -> None:
    file = _TRANSFERS["workload"]["files"]["alias_table"]
    copy = tmp_path / "alias.bin"
    copy.write_bytes(Path(file["path"]).read_bytes()[:-1] + b"x")
    files = {"alias_table": {**file, "path": str(copy)}}
    code, output, events = _run(_configuration(workload={**_TRANSFERS["workload"], "files": files}))
    assert (code, output) == (4, "")
    assert "sha256" in events[-1]["message"]


@pytest.mark.parametrize("endpoint", [_POSTGRES, _http(), _SPACETIMEDB], ids=lambda end: str(end["protocol"]))
def test_endpoint_without_a_server_ends_with_code_3(endpoint: dict[str, Any]) -> None:
    code, output, events = _run(_configuration(endpoint))
    assert (code, output) == (3, "")
    assert "127.0.0.1" in events[-1]["message"]


# --- answers of an HTTP server ----------------------------------------------------------------
@dataclass
class _Asked:
    """What a server was asked."""

    port: int = 0
    requests: list[tuple[str, str, Mapping[str, str], str]] = field(default_factory=list)
    """Method, path, headers and body of each."""


Answers = Callable[[str, int], tuple[int, bytes] | None]
"""The answer to a method, asked so many times before; None closes the connection unanswered."""


@contextlib.contextmanager
def _serving(answers: Answers) -> Iterator[_Asked]:
    asked = _Asked()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            asked.requests.append((self.command, self.path, dict(self.headers), body))
            answer = answers(self.command, len(asked.requests) - 1)
            if answer is None:
                self.close_connection = True
                return
            self.send_response(answer[0])
            self.send_header("content-length", str(len(answer[1])))
            self.end_headers()
            self.wfile.write(answer[1])

        do_POST = do_PUT = answer  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    asked.port = server.server_port
    yield asked
    server.shutdown()
    server.server_close()
    thread.join()


def test_http_status_and_body_decide() -> None:
    answers: list[tuple[int, bytes]] = [
        (200, b'{"ok":true}'),
        (200, b'{"ok":false,"error":"insufficient"}'),
        (200, b'{"ok":false,"error":"deadlock"}'),
        (500, b'{"ok":true}'),
        (200, b"no JSON"),
        (200, b'{"ok":true,"retries":3}'),
        (500, b'{"ok":false,"error":"could not serialize","retries":2}'),
        (200, b'{"ok":1}'),
        (200, b'{"ok":true,"retries":-1}'),
        (200, b' {"ok": true}\n'),
    ]
    with _serving(lambda _, place: answers[min(place, len(answers) - 1)]) as asked:
        report, _ = _report(_configuration(_http(asked.port)))
    errors = [[2, "error"], [3, "error"], [4, "error"], [6, "error"], [7, "error"], [8, "error"]]
    assert report["connections"][0]["failed"] == [[1, "insufficient"], *errors]
    assert report["failed"] == report["kinds"]["transfer"]["failed"]
    assert report["failed"] == {"insufficient": 1, "error": 6, "timeout": 0}
    assert report["connections"][0]["retried"] == [5, 6]
    assert report["retried"] == 5
    assert "deadlock" in report["first_error"]
    assert len(asked.requests) == report["attempted"]
    bodies = [json.loads(body) for *_, body in asked.requests[:100]]
    fields = [[body["from"], body["to"], body["amount"]] for body in bodies]
    assert fields == [row[1:] for row in _TRANSFERS["operations"][: len(bodies)]]


def test_each_kind_is_sent_as_it_is_declared_and_counted_for_itself() -> None:
    vector = _vector(_GOLDEN / "counter-and-messages" / "golden" / "default.json")
    requests = {
        "increment": {
            "method": "POST",
            "path": "/counters/{counter}",
            "body": "{amount}",
            "success": _SUCCESS,
        },
        "message": {
            "method": "PUT",
            "path": "/messages/{connection}-{index}",
            "headers": {"X-Index": "{index}", "Content-Type": "text/plain"},
            "body": '{{"body":{body}}',
            "success": {"status": [201]},
        },
    }
    with _serving(lambda method, _: (201, b"") if method == "PUT" else (200, b'{"ok":true}')) as asked:
        report, _ = _report(
            _configuration(
                _http(asked.port, **requests),
                workload=vector["workload"],
                first_connection=vector["connection"],
            )
        )
    for index, (kind, *fields) in enumerate(vector["operations"][: min(50, len(asked.requests))]):
        method, path, headers, body = asked.requests[index]
        if kind == "increment":
            assert (method, path, body) == ("POST", f"/counters/{fields[0]}", "1")
            assert headers["content-type"] == "application/json"
        else:
            assert (method, path) == ("PUT", f"/messages/{vector['connection']}-{index}")
            assert json.loads(body) == {"body": fields[2]}
            assert (headers["X-Index"], headers["Content-Type"]) == (str(index), "text/plain")
    kinds = report["kinds"]
    assert report["acknowledged"] == report["attempted"] > 0
    assert sum(kind["attempted"] for kind in kinds.values()) == report["attempted"]
    assert sum(kind["window"]["completed"] for kind in kinds.values()) == report["window"]["completed"]
    assert sum(method == "PUT" for method, *_ in asked.requests) == kinds["message"]["attempted"]


def test_http_connection_that_closes_is_lost_and_never_opened_again() -> None:
    with _serving(lambda _, place: (200, b'{"ok":true}') if place < 2 else None) as asked:
        report, events = _report(_configuration(_http(asked.port)))
    assert len(asked.requests) == 3
    assert (report["acknowledged"], report["in_doubt"], report["lost_connections"]) == (2, 1, 1)
    assert report["connections"][0]["in_doubt"] == [2]
    assert report["kinds"]["transfer"]["in_doubt"] == 1
    assert any(event["event"] == "connection_lost" for event in events)
