"""A machine that measures sessions for whoever asks its scheduler: ``gapbook worker ADDRESS``."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable

import dask
from distributed import Worker

from gapbook.errors import GapbookError
from gapbook.hosts.build import code_sha256
from gapbook.hosts.resources import whole_machine
from gapbook.locks import alone_in
from gapbook.paths import deployments_directory
from gapbook.record.kind import kind_of
from gapbook.record.machine import Machine
from gapbook.trial.facts import machine

__all__ = ["HostsError", "serve"]

_QUIET = {
    # Nothing of the worker's own is to be seen beside what is measured.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.admin.system-monitor.interval": "10s",
}
_CONNECTS_WITHIN_S = 20


class HostsError(GapbookError):
    """Names the address and what is not there."""


def serve(address: str, say: Callable[[str], None] = print) -> None:
    """Measure sessions until the scheduler ends, or this process is told to.

    Raises HostsError where no scheduler answers, or another worker has this machine.
    """
    logging.getLogger("distributed").setLevel(logging.ERROR)
    here, folder = machine(), deployments_directory() / "gapbook-worker"
    with alone_in(folder) as alone:
        if not alone:
            raise HostsError(
                "worker: another worker is on this machine; sessions side by side would disturb each other: end it first"
            )
        with dask.config.set({**_QUIET, "temporary-directory": str(folder)}):
            asyncio.run(_served(address, here, say))


async def _served(address: str, here: Machine, say: Callable[[str], None]) -> None:
    try:
        worker = await Worker(
            address,
            nthreads=1,
            resources=whole_machine(code_sha256(), kind_of(here)),
            memory_limit=0,
            dashboard=False,
            death_timeout=_CONNECTS_WITHIN_S,
        )
    except (OSError, ValueError, TimeoutError) as error:
        raise HostsError(
            f"worker: no scheduler answers at {address}; start one there: dask scheduler"
        ) from error
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, lambda: asyncio.ensure_future(worker.close()))
    say(f"worker: {here.processor}, waits for sessions from {address}")
    await worker.finished()
    say("worker: ended")
