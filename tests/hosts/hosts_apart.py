"""Hosts with a network of their own each, on one wire: namespaces that a test makes and takes away."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Host", "cut_off", "hosts_apart", "why_none"]

_NETWORK = "10.77.0"


def why_none() -> str | None:
    """Why this machine can have no such hosts; None where it can."""
    if shutil.which("ip") is None:
        return "no ip on PATH; install it: apt-get install iproute2"
    if os.geteuid() != 0:
        return "network namespaces need root"
    return None


@dataclass
class Host:
    """A namespace with an address on the wire and a loopback of its own."""

    name: str
    address: str
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(
        self, *words: str, log: Path, environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """A program on this host, its output in ``log``; ended with the host."""
        with log.open("w", encoding="utf-8") as out:
            process = subprocess.Popen(
                ["ip", "netns", "exec", self.name, *words],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                text=True,
                encoding="utf-8",
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
        self.started.append(process)
        return process

    def processes(self) -> list[int]:
        """All that run on it."""
        told = subprocess.run(
            ["ip", "netns", "pids", self.name], capture_output=True, text=True, check=True, encoding="utf-8"
        ).stdout
        return [int(word) for word in told.split()]


@contextmanager
def hosts_apart(count: int) -> Iterator[list[Host]]:
    """So many hosts; the first has the switch. Whatever runs on them when the test ends is ended."""
    tag = f"gb{os.getpid() % 100_000}"
    hosts = [Host(f"{tag}-{number}", f"{_NETWORK}.{number + 1}") for number in range(count)]
    try:
        for host in hosts:
            _ip("netns", "add", host.name)
            _ip("-n", host.name, "link", "set", "lo", "up")
        first = hosts[0].name
        _ip("-n", first, "link", "add", "switch", "type", "bridge")
        _ip("-n", first, "addr", "add", f"{hosts[0].address}/24", "dev", "switch")
        _ip("-n", first, "link", "set", "switch", "up")
        for number, host in enumerate(hosts[1:], 1):
            port = f"port{number}"
            _ip("-n", first, "link", "add", port, "type", "veth", "peer", "name", "wire", "netns", host.name)
            _ip("-n", first, "link", "set", port, "master", "switch", "up")
            _ip("-n", host.name, "addr", "add", f"{host.address}/24", "dev", "wire")
            _ip("-n", host.name, "link", "set", "wire", "up")
        yield hosts
    finally:
        for host in hosts:
            with suppress(subprocess.CalledProcessError):
                for process in host.processes():
                    with suppress(ProcessLookupError):
                        os.kill(process, signal.SIGKILL)
                _ip("netns", "delete", host.name)
            for started in host.started:
                started.wait(30)


@contextmanager
def cut_off(first: Host, number: int) -> Iterator[None]:
    """While this lasts, the host of that number is cut off the wire: what is sent to it and by it is gone."""
    port = f"port{number}"
    _ip("-n", first.name, "link", "set", port, "down")
    try:
        yield
    finally:
        _ip("-n", first.name, "link", "set", port, "up")


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
