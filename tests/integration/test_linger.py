"""Connections that stay open for a while after the window, so that a process for each is read before it ends."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import pytest

from gapbook.deploy.process import Process
from gapbook.deploy.stack import Stack
from gapbook.deploy.usage import process_tree
from gapbook.load.client import ClientRun, configure_load, find_client
from gapbook.model.event import Event
from tests.bank import bank_workload, seed_bank

_CONNECTIONS = 8
_ACCOUNTS = 100
_KEPT_S = 1.0
_CLOSED_WITHIN_S = 10.0
_LINGER_S = 4.0
_CLIENT = "postgres: bank "
"""How the title of a process begins that serves the client. The harness has a session of its own, and the server other
workers: they come and go as they like."""


@pytest.mark.parametrize("linger_s", [0.0, _LINGER_S], ids=["at-once", "lingering"])
@pytest.mark.parametrize("language", ["rust", "typescript", "python"])
def test_a_server_keeps_its_processes_for_as_long_as_it_is_asked(
    postgres_stack: Stack, tmp_path: Path, language: str, linger_s: float
) -> None:
    seed_bank(postgres_stack, _ACCOUNTS, 1_000)
    seen: dict[str, int] = {}

    def on_event(event: Event) -> None:
        if event.name in {"window_start", "window_end"}:
            until = time.monotonic() + (_KEPT_S if linger_s else _CLOSED_WITHIN_S)
            while event.name == "window_end" and _connections(postgres_stack) and time.monotonic() < until:
                time.sleep(0.05)
            seen[event.name] = _connections(postgres_stack)

    client = find_client(language, "postgres", "procedure")
    configuration = configure_load(
        postgres_stack.endpoint(),
        bank_workload(_ACCOUNTS, 1_000, alpha=0.0, amount_max=1),
        tmp_path,
        seed=1,
        connections=_CONNECTIONS,
        in_flight=1,
        warmup_s=0.2,
        window_s=0.5,
        drain_s=5.0,
        request_timeout_s=5.0,
        linger_s=linger_s,
    )
    report = ClientRun(client, configuration, on_event).run(postgres_stack.deployment)
    assert client.lingers
    assert report.lost_connections == 0
    # What was asked for is no part of the drain.
    assert report.drained_s < _LINGER_S
    assert seen == {"window_start": _CONNECTIONS, "window_end": _CONNECTIONS if linger_s else 0}


def _connections(stack: Stack) -> int:
    """Processes of the server that serve a connection of the client now."""
    tree = process_tree([one.pid for one in stack.processes() if isinstance(one, Process)])
    return sum(_title(pid).startswith(_CLIENT) for pid in tree)


def _title(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace")
    return ""
