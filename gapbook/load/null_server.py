"""Null servers: the same protocol, answered at once, so that a client's own ceiling shows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import msgspec

from gapbook.declared.client import NullEndpoint, NullServerDeclaration
from gapbook.declared.reading import read
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.endpoint import Endpoint, SentRequest
from gapbook.deploy.process import Announced
from gapbook.deploy.rust import rust_binary
from gapbook.errors import ParameterError
from gapbook.load.client import Client, ClientRun, configure_load
from gapbook.model.event import Event
from gapbook.model.workload import Workload
from gapbook.paths import CHECKOUT

__all__ = ["CEILING_WINDOW_S", "CeilingLoad", "has_null_server", "measure_ceiling", "null_server"]

CEILING_WINDOW_S = 2.0
"""For how long a ceiling is measured, after the warm-up of a trial."""


def _speakers(protocol: str) -> list[NullServerDeclaration]:
    """The null servers that speak a protocol."""
    found = (
        read(path, NullServerDeclaration) for path in sorted((CHECKOUT / "clients").glob("*/*/null.toml"))
    )
    return [facts for facts in found if protocol in facts.protocols]


def has_null_server(protocol: str) -> bool:
    """Whether a client of this protocol has a ceiling."""
    return bool(_speakers(protocol))


def _command_and_endpoint(protocol: str) -> tuple[list[str], Endpoint]:
    """The command of the null server of a protocol, and what its endpoint holds besides the address."""
    for facts in _speakers(protocol):
        program, *arguments = (word.replace("{protocol}", protocol) for word in facts.command)
        endpoint = facts.endpoint.get(protocol, NullEndpoint())
        return [str(rust_binary(program, "null server")), *arguments], msgspec.to_builtins(endpoint)
    raise ParameterError(f"no null server speaks {protocol!r}")


@contextmanager
def null_server(deployment: Deployment, protocol: str, told: Endpoint | None = None) -> Iterator[Endpoint]:
    """A running null server; yields the endpoint for a client. Raises StackError when it does not start.

    ``told`` is what the client is told besides the address. Its ``requests`` are those that it sends over HTTP, where
    they are not the null server's own: each is answered as its success is declared. ``newest`` is the newest
    version of the protocol: no other is picked, whatever the client offers.
    """
    command, endpoint = _command_and_endpoint(protocol)
    if told and (requests := told.get("requests")) is not None:
        command += ["--requests", json.dumps({kind: _told(request) for kind, request in requests.items()})]
        endpoint["requests"] = requests
    if told and (newest := told.get("newest")):
        command += ["--newest", newest]
    process = deployment.start(command, name=f"null-{protocol}", stdin=True, stdout=True)
    try:
        port = process.said(f"null server {protocol}", Announced).port
        yield {**endpoint, "protocol": protocol, "host": "127.0.0.1", "port": port}
    finally:
        deployment.stop(process)


def _told(request: SentRequest) -> SentRequest:
    """What a null server must know of a request: not its headers, which can hold a secret."""
    return {"method": request["method"], "path": request["path"], "success": request["success"]}


@dataclass(frozen=True, kw_only=True)
class CeilingLoad:
    """What the ceiling of a client is measured with; ``endpoint`` is what the client is told besides the address.
    Where the client has processors of its own, ``processors`` are those, and ``beside`` those of the null server."""

    client: Client
    protocol: str
    endpoint: Endpoint
    workload: Workload
    connections: int
    in_flight: int
    warmup_s: float
    processors: Sequence[int] | None = None
    beside: Sequence[int] | None = None


def measure_ceiling(
    deployment: Deployment, load: CeilingLoad, *, window_s: float | None = None
) -> float | None:
    """Requests a second of a client against the null server of its protocol, on the same cores as a trial
    and after the same warm-up.

    ``window_s`` None is :data:`CEILING_WINDOW_S`. None when no null server speaks the protocol.
    """
    if not has_null_server(load.protocol):
        return None
    with ExitStack() as running:
        with deployment.confining(load.beside):
            address = running.enter_context(null_server(deployment, load.protocol, load.endpoint))
        configuration = configure_load(
            {**load.endpoint, **address},
            load.workload,
            deployment.directory,
            seed=1,
            connections=load.connections,
            in_flight=load.in_flight,
            warmup_s=load.warmup_s,
            window_s=CEILING_WINDOW_S if window_s is None else window_s,
            drain_s=5.0,
            request_timeout_s=5.0,
        )
        with deployment.confining(load.processors):
            report = ClientRun(load.client, configuration, _ignore).run(deployment)
    return report.window.goodput_per_s


def _ignore(_event: Event) -> None:
    """A ceiling needs no reading at the window's edges."""
