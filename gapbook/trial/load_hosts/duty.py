"""What a load host does: it calls who measures, answers with its time, and runs a client when it is told to.

Whatever befalls is told on the line. When that is cut, the client ends, and all that was started with it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import msgspec

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.endpoint import Endpoint
from gapbook.errors import GapbookError, SetupError
from gapbook.load.client import Client, ClientRun, discover_clients
from gapbook.load.line import Line, LineError
from gapbook.load.null_server import CeilingLoad, measure_ceiling
from gapbook.model.event import Event, Progress
from gapbook.paths import CHECKOUT
from gapbook.record.schema import one_line
from gapbook.trial.facts import machine
from gapbook.trial.load_hosts.messages import (
    Answered,
    Asked,
    Call,
    Ceiling,
    Clock,
    Failed,
    Hello,
    MakeLoad,
    MeasureCeiling,
    ReadClock,
    Reported,
    Saying,
    asked,
    packed,
)
from gapbook.trial.workloads import find_workload

__all__ = ["client_name", "described_host", "hang_up", "make_load"]

_CALLS_WITHIN_S = 10.0
_ASKED_WITHIN_S = 60.0
_TAKEN_WITHIN_S = 10.0
_lines: list[Line] = []
"""Those of this process: one at a time, unless one still ends while the next begins."""


def described_host() -> bytes:
    """The machine of this host, packed: a task for Dask."""
    return msgspec.msgpack.encode(machine())


def make_load(call: bytes) -> str:
    """All that one load asks of this host: a task for Dask. What befell the line, or nothing."""
    where = msgspec.msgpack.decode(call, type=Call)
    try:
        with Line.to(where.address, where.port, _CALLS_WITHIN_S) as line, _held(line):
            _say(line, Hello(where.host, where.token))
            _serve(line)
    except LineError as error:
        return str(error)
    return ""


def hang_up() -> None:
    """Cut the lines of all loads that are under way, from another thread: they end, and what runs for them."""
    for line in tuple(_lines):
        line.cut()


@contextmanager
def _held(line: Line) -> Iterator[None]:
    _lines.append(line)
    try:
        yield
    finally:
        _lines.remove(line)


def client_name(client: Client) -> str:
    """By which a client is known in each checkout of the same code: its folder."""
    return client.folder.relative_to(CHECKOUT).as_posix()


def _serve(line: Line) -> None:
    """Answer until the line ends, which is how one is let go."""
    try:
        with Deployment() as deployment:
            while True:
                _say(line, _answer(_next(line), line, deployment))
    except (GapbookError, OSError, ValueError) as error:
        _say(line, Failed(one_line(error)))


def _next(line: Line) -> Asked:
    return asked(line.receive(_ASKED_WITHIN_S))


def _answer(wanted: Asked, line: Line, deployment: Deployment) -> Answered:
    if isinstance(wanted, ReadClock):
        return Clock(time.time())
    with deployment.declaring(wanted.environment):
        if isinstance(wanted, MakeLoad):
            return Reported(_report(wanted, line, deployment))
        return Ceiling(_ceiling(wanted, deployment))


def _report(wanted: MakeLoad, line: Line, deployment: Deployment) -> bytes:
    configuration = _with_own_files(wanted.configuration, deployment.directory)
    run = ClientRun(_client(wanted.client), configuration, lambda event: _say(line, _saying(event)))
    with _ended_with(line, run.end):
        return run.output(deployment)


def _ceiling(wanted: MeasureCeiling, deployment: Deployment) -> float | None:
    load = CeilingLoad(
        client=_client(wanted.client),
        protocol=wanted.protocol,
        endpoint=cast(Endpoint, dict(wanted.endpoint)),
        workload=find_workload(wanted.workload, wanted.parameters),
        connections=wanted.connections,
        in_flight=wanted.in_flight,
        warmup_s=wanted.warmup_s,
    )
    return measure_ceiling(deployment, load, window_s=wanted.window_s)


def _client(name: str) -> Client:
    for client in discover_clients():
        if client_name(client) == name:
            return client
    raise SetupError(f"no client is in {name}; take the same checkout on all hosts")


def _with_own_files(configuration: Mapping[str, Any], directory: Path) -> dict[str, Any]:
    """The configuration with the files of the workload as they are made here; their hashes stay those that were asked
    for, to which the client holds them."""
    workload = configuration["workload"]
    made = find_workload(workload["name"], workload["parameters"]).files(directory)
    files = {name: {**file, "path": str(made[name].path)} for name, file in workload["files"].items()}
    return {**configuration, "workload": {**workload, "files": files}}


def _saying(event: Event) -> Saying:
    if isinstance(event, Progress):
        return Saying(event.name, event.phase, event.elapsed_s, event.acknowledged)
    return Saying(event.name)


def _say(line: Line, answer: Answered) -> None:
    line.send(packed(answer), _TAKEN_WITHIN_S)


@contextmanager
def _ended_with(line: Line, end: Callable[[], None]) -> Iterator[None]:
    """While this lasts, ``end`` is called as soon as the line is cut."""
    over = threading.Event()

    def watch() -> None:
        if line.wait_until_cut(over):
            end()

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield
    finally:
        over.set()
        watching.join()
