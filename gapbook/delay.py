"""A stated round-trip time in front of a system: a user-space proxy that delays what it forwards."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from gapbook.clients import rust_binaries_directory
from gapbook.deployment import Deployment, Process, log_tail
from gapbook.errors import SetupError, StackError

__all__ = ["delay_proxy"]


@contextmanager
def delay_proxy(
    deployment: Deployment, endpoint: Mapping[str, Any], round_trip_ms: float
) -> Iterator[tuple[Process, dict[str, Any]]]:
    """A running proxy before ``endpoint``; yields its process and the endpoint at the proxy's address.

    Raises SetupError when it is not built, StackError when it does not start.
    """
    binary = rust_binaries_directory() / "gap-delay"
    if not binary.is_file():
        raise SetupError("gap-delay is not built; run: make setup")
    command = [
        str(binary),
        "--target",
        f"{endpoint['host']}:{endpoint['port']}",
        "--round-trip-ms",
        f"{round_trip_ms:g}",
    ]
    process = deployment.start(command, name="delay", stdin=True, stdout=True)
    try:
        line = process.stdout.readline()
        try:
            port = int(json.loads(line)["port"])
        except (ValueError, KeyError) as error:
            raise StackError(f"delay proxy: not ready: {log_tail(process.log_path)}") from error
        yield process, {**endpoint, "host": "127.0.0.1", "port": port}
    finally:
        deployment.stop(process)
