"""Servers that are none, that never answer, or that answer garbage or half: one line each, and the rest goes on."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gapbook.deploy import warden
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import Stack, StackContext, stack_class
from gapbook.errors import StackError
from gapbook.model.plan import PlannedTrial
from gapbook.record.durability import Durability
from gapbook.trial.contestant import Contestant
from gapbook.trial.scenario import Scenario
from gapbook.trial.trial import run_trial
from tests.bank import alphas, bank

_DELAYED = Durability("delayed", 500.0)
# Says that it is a server of a version that is known, then listens where it is told to and answers so.
_PROGRAM = """#!/bin/sh
[ "$1" = --version ] && echo 'spacetimedb tool version 1.2.0; spacetimedb-lib version 1.2.0;' && exit
{body}
"""
_LISTENS = """exec python3 -c '
import contextlib, socket, sys, time
host, port = sys.argv[sys.argv.index("--listen-addr") + 1].split(":")
taken = []
with socket.create_server((host, int(port))) as server:
    while True:
        client, _ = server.accept()
        with contextlib.suppress(OSError):
            if client.recv(65536):
                client.sendall({answer!r})
        if {closes}:
            client.close()
        taken.append(client)
' "$@"
"""


def _listening(answer: bytes, *, closes: bool) -> str:
    # In double quotes, for the program stands in single ones.
    return _LISTENS.replace("{answer!r}", f'bytes.fromhex("{answer.hex()}")').replace("{closes}", str(closes))


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("echo no luck; exit 3", r"spacetimedb ended with code 3: no luck"),
        ("exec sleep 600", r"spacetimedb: nothing listens on port \d+ after 1 s"),
        (_listening(b"", closes=False), r"spacetimedb: log in: timed out"),
        (_listening(b"\xff" * 300, closes=True), r"spacetimedb: log in: "),
        (
            _listening(b'HTTP/1.1 200 OK\r\ncontent-length: 90\r\n\r\n{"tok', closes=True),
            r"spacetimedb: log in: ",
        ),
        (
            _listening(b'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n{"to', closes=True),
            r"spacetimedb: log in: the server answered what is none: b'\{\"to'",
        ),
        (
            _listening(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]", closes=True),
            r"spacetimedb: log in: the server answered what is none: b'\[\]'",
        ),
    ],
    ids=["ends", "sleeps", "mute", "garbage", "half", "cut", "another answer"],
)
def test_what_only_says_that_it_is_a_server_is_one_line_and_leaves_nothing(
    body: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "server"
    program.write_text(_PROGRAM.replace("{body}", body), encoding="utf-8")
    program.chmod(0o755)
    stack_class("spacetimedb")
    # The others have time to begin, on a busy machine too.
    if "nothing listens" in says:
        monkeypatch.setattr("gapbook_stack_spacetimedb._READY_TIMEOUT_S", 1.0)
    if "timed out" in says:
        monkeypatch.setattr("gapbook_stack_spacetimedb.database._REQUEST_TIMEOUT_S", 1.0)
    with Deployment() as deployment:
        stack = stack_class("spacetimedb")(StackContext(deployment, _DELAYED, ServerChoice(binary=program)))
        with pytest.raises(StackError, match=says) as caught:
            stack.start()
        assert "\n" not in str(caught.value)
        assert not list(deployment.directory.glob("spacetimedb-*/"))
        assert warden.processes_of(deployment.token, deployment.directory) == {}


@contextlib.contextmanager
def _refusing_upgrades() -> Iterator[int]:
    """A server that speaks none of the protocols that it is offered; yields its port."""
    refusal = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 26\r\nconnection: close\r\n\r\nno valid protocol selected"
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    client, _ = server.accept()
                    with client, contextlib.suppress(OSError):
                        client.recv(65536)
                        client.sendall(refusal)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield int(server.getsockname()[1])
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def _trial(language: str, stack: Stack, deployment: Deployment) -> dict[str, Any]:
    contestant = Contestant("reducer", "spacetimedb", "reducer", "direct", language, 1)
    scenario = Scenario(
        chapter="false-servers",
        contestants=(contestant,),
        workload=bank(1000),
        treatment=alphas(0.5),
        connections=4,
        window_s=0.5,
        warmup_s=0.2,
        durability=_DELAYED,
        seed=1,
        drain_s=1.0,
        request_timeout_s=2.0,
    )
    row = run_trial(
        PlannedTrial(0, 0, "reducer", 0.5, 7),
        scenario,
        stack,
        deployment=deployment,
        tables=deployment.directory,
        ceiling_per_s=None,
    )
    return row.columns()


@pytest.mark.parametrize("language", ["rust", "typescript", "python"])
def test_a_protocol_that_neither_side_speaks_is_a_refused_trial_and_the_next_is_measured(
    language: str, spacetimedb_stack: Stack, deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    true_endpoint = spacetimedb_stack.endpoint
    with monkeypatch.context() as patch, _refusing_upgrades() as port:
        patch.setattr(spacetimedb_stack, "endpoint", lambda: {**true_endpoint(), "port": port})
        row = _trial(language, spacetimedb_stack, deployment)
    assert not row["valid"]
    assert row["refused_because"].startswith("client ")
    assert "400" in row["refused_because"]
    assert "\n" not in row["refused_because"]
    following = _trial(language, spacetimedb_stack, deployment)
    gates = {gate["name"]: gate["passed"] for gate in following["gates"]}
    assert gates.get("reconciled"), following["refused_because"]
    assert following["acknowledged"] == following["committed"] > 0
