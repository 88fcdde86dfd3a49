"""Distance on one machine: a proxy between a client and its endpoint that adds a round trip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.process import Announced, Process
from gapbook.deploy.rust import rust_binary

__all__ = ["delay_proxy"]

_PROGRAM = "gap-delay"


@contextmanager
def delay_proxy(
    deployment: Deployment,
    endpoint: Endpoint,
    round_trip_ms: float,
    *,
    processors: Sequence[int] | None = None,
) -> Iterator[tuple[Process, Endpoint]]:
    """A running proxy (its CPU is a cost of the simulation, not of the server) and the endpoint through it.

    Bytes take half of ``round_trip_ms`` longer each way. Raises SetupError when the proxy is not built and
    StackError when it does not start. A target that refuses shows as a connection closed at once.
    """
    target = f"{endpoint['host']}:{endpoint['port']}"
    process = deployment.start(
        [rust_binary(_PROGRAM, "proxy"), "--target", target, "--round-trip-ms", str(round_trip_ms)],
        name="delay",
        stdin=True,
        stdout=True,
        processors=processors,
    )
    try:
        port = process.said(f"delay of {round_trip_ms} ms to {target}", Announced).port
        yield process, {**endpoint, "host": "127.0.0.1", "port": port}
    finally:
        deployment.stop(process)
