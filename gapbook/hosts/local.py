"""Workers of one machine, each with processors of its own, and the scheduler before them: ``campaign --on local:N``.

They share memory and disk, so that one disturbs the other there. Each says of its runs how few processors it had, which is a
kind of machine of its own (:mod:`gapbook.record.kind`).
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.limits import allowed_processors
from gapbook.deploy.process import LOOPBACK, Process
from gapbook.errors import ParameterError
from gapbook.hosts.cluster import Cluster, cluster
from gapbook.hosts.worker import HostsError
from gapbook.paths import build_directory, cache_directory

__all__ = ["machines_at"]

_LOCAL = "local:"
_BEGINS_WITHIN_S = 60.0
_LOOKS_EVERY_S = 0.1


@contextmanager
def machines_at(address: str, say: Callable[[str], None] = print) -> Iterator[Cluster]:
    """The machines behind the scheduler at an address, or those that ``local:N`` makes of this one. Raises HostsError
    where none answers, ParameterError for more than this machine can be."""
    here = _local_machines(address) if address.startswith(_LOCAL) else nullcontext(address)
    with here as told, cluster(told, say) as hosts:
        yield hosts


@contextmanager
def _local_machines(address: str) -> Iterator[str]:
    """The address of a scheduler of our own, with the workers that ``local:N`` asks for; all end with the block.

    Raises ParameterError for more workers than there are processors, HostsError where one does not come up.
    """
    allowed = allowed_processors()
    count = _count(address, len(allowed))
    each = len(allowed) // count
    with Deployment() as deployment:
        scheduler, told = _scheduler(deployment)
        workers = [
            _worker(deployment, told, number, allowed[number * each : (number + 1) * each])
            for number in range(count)
        ]
        _until_all_wait([scheduler, *workers], count)
        yield told


def _count(address: str, processors: int) -> int:
    told = address.removeprefix(_LOCAL)
    if not (told.isascii() and told.isdecimal() and 1 <= int(told) <= processors):
        raise ParameterError(
            f"campaign: --on {address} is refused; allowed: {_LOCAL}1 to {_LOCAL}{processors}, for each worker has "
            f"processors of its own, and this process may use {processors}"
        )
    return int(told)


def _scheduler(deployment: Deployment) -> tuple[Process, str]:
    file = deployment.directory / "scheduler.json"
    words = ("--host", LOOPBACK, "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
    process = deployment.start(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", *words], name="dask-scheduler"
    )
    ends_s = time.monotonic() + _BEGINS_WITHIN_S
    while not (file.is_file() and file.stat().st_size):
        _require_alive(process, ends_s)
        time.sleep(_LOOKS_EVERY_S)
    return process, str(json.loads(file.read_text(encoding="utf-8"))["address"])


def _worker(deployment: Deployment, address: str, number: int, processors: list[int]) -> Process:
    data = deployment.directory / f"worker-{number}"
    data.mkdir(mode=0o755)
    folders = {
        "GAPBOOK_DATA": str(data),
        "GAPBOOK_CACHE": str(cache_directory()),
        "GAPBOOK_BUILD": str(build_directory()),
        "HOME": os.environ.get("HOME", str(Path.home())),
    }
    return deployment.start(
        [sys.executable, "-m", "gapbook", "worker", address],
        name=f"worker-{number}",
        environment=folders,
        processors=processors,
    )


def _until_all_wait(processes: list[Process], count: int) -> None:
    """Until each worker says that it waits for sessions."""
    ends_s = time.monotonic() + _BEGINS_WITHIN_S
    while True:
        waiting = sum(
            "waits for sessions" in process.log_path.read_text(encoding="utf-8", errors="replace")
            for process in processes
        )
        if waiting == count:
            return
        for process in processes:
            _require_alive(process, ends_s)
        time.sleep(_LOOKS_EVERY_S)


def _require_alive(process: Process, ends_s: float) -> None:
    if process.popen.poll() is not None or time.monotonic() > ends_s:
        raise HostsError(f"campaign: {process.name} did not come up: {process.last_words()}")
