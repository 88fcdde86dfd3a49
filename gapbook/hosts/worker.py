"""A machine that measures sessions for whoever asks its scheduler: ``gapbook worker ADDRESS``."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import dask
from distributed import Worker

from gapbook.deploy.own_code import code_sha256
from gapbook.errors import GapbookError
from gapbook.hosts.resources import whole_machine
from gapbook.locks import alone_in
from gapbook.paths import deployments_directory
from gapbook.record.kind import kind_of
from gapbook.record.machine import Machine
from gapbook.trial.facts import machine

__all__ = ["HostsError", "Role", "serve", "serve_as"]

_QUIET = {
    # Nothing of the worker's own is to be seen beside what is measured.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.admin.system-monitor.interval": "10s",
}
_CONNECTS_WITHIN_S = 20
_ending: list[asyncio.Future[Any]] = []
"""A task that nobody holds may be collected before it has run."""


class HostsError(GapbookError):
    """Names the address and what is not there."""


@dataclass(frozen=True)
class Role:
    """What a machine does for others: how it is called in what is said, what it offers to the scheduler, what it waits
    for, and what lets go of that when the machine is told to end."""

    name: str
    resources: Mapping[str, float]
    waits_for: str
    let_go: Callable[[], None] = lambda: None


def serve(address: str, say: Callable[[str], None] = print) -> None:
    """Measure sessions until the scheduler ends, or this process is told to.

    Raises HostsError where no scheduler answers, or another worker has this machine.
    """
    here = machine()
    serve_as(Role("worker", whole_machine(code_sha256(), kind_of(here)), "sessions"), address, here, say)


def serve_as(role: Role, address: str, here: Machine, say: Callable[[str], None]) -> None:
    """Be a worker of Dask in that role; raises what :func:`serve` does. A machine has one role at a time."""
    logging.getLogger("distributed").setLevel(logging.ERROR)
    folder = deployments_directory() / "gapbook-worker"
    with alone_in(folder) as alone:
        if not alone:
            raise HostsError(
                f"{role.name}: another worker is on this machine; side by side they would disturb each other: end it first"
            )
        with dask.config.set({**_QUIET, "temporary-directory": str(folder)}):
            asyncio.run(_served(role, address, here, say))


async def _served(role: Role, address: str, here: Machine, say: Callable[[str], None]) -> None:
    try:
        worker = await Worker(
            address,
            nthreads=1,
            resources=dict(role.resources),
            memory_limit=0,
            dashboard=False,
            death_timeout=_CONNECTS_WITHIN_S,
        )
    except (OSError, ValueError, TimeoutError) as error:
        raise HostsError(
            f"{role.name}: no scheduler answers at {address}; start one there: dask scheduler"
        ) from error

    def end() -> None:
        role.let_go()
        _ending.append(asyncio.ensure_future(worker.close()))

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, end)
    say(f"{role.name}: {here.processor}, waits for {role.waits_for} from {address}")
    await worker.finished()
    role.let_go()
    say(f"{role.name}: ended")
