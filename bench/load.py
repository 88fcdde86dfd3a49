"""Our own clients, run as the harness runs them, and the load that they share with their peers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import msgspec

from bench.older import told_in
from bench.pairs import Case, Load
from bench.programs import Ended, run_program
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.stack import Stack
from gapbook.errors import ClientError
from gapbook.load.client import ClientRun, configure_load, find_client
from gapbook.load.configuration import LoadConfiguration
from gapbook.load.contract import CONTRACT_VERSION
from gapbook.model.report import Report, Window
from gapbook.trial.workloads import find_workload

__all__ = [
    "ACCOUNTS",
    "BOUND_S",
    "WINDOW_S",
    "EndpointLoader",
    "held_against",
    "our_load",
    "our_window_load",
    "program_load",
]

EndpointLoader: TypeAlias = Callable[[Endpoint, Case], Load]

ACCOUNTS = 100_000
WINDOW_S = 4.0
BOUND_S = 60.0
"""Every program has ended long before, whatever it needs to connect and to prepare."""


def _configuration(deployment: Deployment, endpoint: Endpoint, case: Case) -> LoadConfiguration:
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


def our_load(deployment: Deployment, language: str, endpoint: Endpoint, case: Case) -> Load:
    """One run of the client of a language: its goodput, and its CPU for each attempted operation."""
    report = _report(deployment, language, endpoint, case)
    return _load_of(report, report, report.attempted)


def our_window_load(deployment: Deployment, language: str, endpoint: Endpoint, case: Case) -> Load:
    """As :func:`our_load`, with the CPU inside the window for each operation that ended there."""
    report = _report(deployment, language, endpoint, case)
    return _load_of(report, report.window, report.window.completed)


def _report(deployment: Deployment, language: str, endpoint: Endpoint, case: Case) -> Report:
    client = find_client(language, endpoint["protocol"])
    return ClientRun(client, _configuration(deployment, endpoint, case), lambda event: None).run(deployment)


def _load_of(report: Report, used: Report | Window, operations: int) -> Load:
    if operations == 0:
        raise ClientError("a load did nothing; its server or this machine is too slow for the window")
    cpu_us = (used.cpu_user_s + used.cpu_system_s) * 1e6
    return Load(report.window.goodput_per_s, cpu_us / operations, report.acknowledged)


def program_load(
    deployment: Deployment,
    program: Path,
    read: Callable[[str, Ended], Load],
    endpoint: Endpoint,
    case: Case,
    *,
    contract: int = CONTRACT_VERSION,
) -> Load:
    """One run of a program that is given what a client is given, in the words of that version of the contract;
    ``read`` says what its report, a line of JSON, holds.

    Raises ClientError when the program fails or its report is another.
    """
    given = json.dumps(told_in(contract, _configuration(deployment, endpoint, case)))
    ended = run_program(deployment, [program], name=program.name, bound_s=BOUND_S, given=given)
    try:
        return read(ended.last_line, ended)
    except msgspec.DecodeError as error:
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
