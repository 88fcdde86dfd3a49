"""Our own clients, run as the harness runs them."""

from __future__ import annotations

from typing import Any

from bench.pairs import Load
from gapbook.clients import ClientRun, configure_load, find_client
from gapbook.deployment import Deployment
from gapbook.work import AliasTable

__all__ = ["ACCOUNTS", "WINDOW_S", "configuration", "our_load"]

ACCOUNTS = 100_000
WINDOW_S = 4.0


def configuration(
    deployment: Deployment, endpoint: dict[str, Any], *, connections: int, in_flight: int
) -> dict[str, Any]:
    """Closed loop over uniform accounts, no warm-up: what is counted is the whole run, start included."""
    return configure_load(
        endpoint,
        AliasTable.zipf_cached(ACCOUNTS, 0.0),
        deployment.directory,
        seed=1,
        alpha=0.0,
        amount_max=1000,
        connections=connections,
        in_flight=in_flight,
        warmup_s=0.0,
        window_s=WINDOW_S,
        drain_s=10.0,
        request_timeout_s=10.0,
    )


def our_load(
    deployment: Deployment, language: str, endpoint: dict[str, Any], *, connections: int, in_flight: int
) -> Load:
    """One run of the client of a language: its goodput, and its CPU for each attempted operation."""
    given = configuration(deployment, endpoint, connections=connections, in_flight=in_flight)
    client = find_client(language, endpoint["protocol"])
    report = ClientRun(client, given, lambda event: None).run(deployment)
    cpu_s = report["cpu_user_s"] + report["cpu_system_s"]
    return Load(report["window"]["goodput_per_s"], cpu_s / report["attempted"] * 1e6)
