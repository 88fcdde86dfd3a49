"""Our own clients, run as the harness runs them, and the load that they share with their peers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from bench.pairs import Case, Load
from bench.programs import Ended, run_program
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.stack import Stack
from gapbook.errors import ClientError
from gapbook.load.client import ClientRun, configure_load, find_client
from gapbook.trial.workloads import find_workload

__all__ = [
    "ACCOUNTS",
    "BOUND_S",
    "WINDOW_S",
    "EndpointLoader",
    "held_against",
    "our_load",
    "program_load",
]

EndpointLoader: TypeAlias = Callable[[Mapping[str, Any], Case], Load]

ACCOUNTS = 100_000
WINDOW_S = 4.0
BOUND_S = 60.0
"""Every program has ended long before, whatever it needs to connect and to prepare."""


def _configuration(deployment: Deployment, endpoint: Mapping[str, Any], case: Case) -> dict[str, Any]:
    """Closed loop over uniform accounts, no warm-up: what is counted is the whole run, start included."""
    return configure_load(
        endpoint,
        find_workload("transfer", {"accounts": ACCOUNTS, "alpha": 0.0}),
        deployment.directory,
        seed=1,
        connections=case.connections,
        in_flight=case.in_flight,
        warmup_s=0.0,
        window_s=WINDOW_S,
        drain_s=10.0,
        request_timeout_s=10.0,
    )


def our_load(deployment: Deployment, language: str, endpoint: Mapping[str, Any], case: Case) -> Load:
    """One run of the client of a language: its goodput, and its CPU for each attempted operation."""
    client = find_client(language, endpoint["protocol"])
    report = ClientRun(client, _configuration(deployment, endpoint, case), lambda event: None).run(deployment)
    cpu_s = report["cpu_user_s"] + report["cpu_system_s"]
    return Load(report["window"]["goodput_per_s"], cpu_s / report["attempted"] * 1e6, report["acknowledged"])


def program_load(
    deployment: Deployment,
    program: Path,
    read: Callable[[dict[str, Any], Ended], Load],
    endpoint: Mapping[str, Any],
    case: Case,
) -> Load:
    """One run of a program that is given what a client is given; ``read`` says what its JSON report holds.

    Raises ClientError when the program fails or its report is another.
    """
    given = json.dumps(_configuration(deployment, endpoint, case))
    ended = run_program(deployment, [program], name=program.name, bound_s=BOUND_S, given=given)
    try:
        return read(json.loads(ended.last_line), ended)
    except (ValueError, KeyError, TypeError) as error:
        raise ClientError(
            f"{program.name}: its report is not understood: {ended.last_line[-300:]}"
        ) from error


def held_against(stack: Stack, load: EndpointLoader) -> Callable[[Case], Load]:
    """A load on freshly seeded accounts; raises ClientError when it counts more than the server committed."""

    def held(case: Case) -> Load:
        stack.seed(find_workload("transfer", {"accounts": ACCOUNTS}))
        done = load(stack.endpoint(), case)
        committed = stack.committed_operations()
        if committed is None or committed < done.counted:
            raise ClientError(f"a load counted {done.counted} transfers, {stack.name} committed {committed}")
        return done

    return held
