"""One container that runs a server, told in the words of :class:`gapbook.deploy.backend.Running`."""

from __future__ import annotations

import contextlib
import io
import socket
import tarfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import docker.errors
import msgspec
import requests

from gapbook.deploy import usage, warden
from gapbook.deploy.cgroup import ControlGroup, control_group
from gapbook.deploy.engine import engine_errors
from gapbook.deploy.process import LOOPBACK
from gapbook.errors import StackError

__all__ = ["Container"]

_LOG_LINES = 3
_QUIET_S = 0.05
_ENDS_WITHIN_S = 30


class _State(msgspec.Struct):
    """What the engine says of a container; its code is that of its last end."""

    running: bool = msgspec.field(name="Running")
    exit_code: int = msgspec.field(name="ExitCode")
    out_of_memory: bool = msgspec.field(default=False, name="OOMKilled")


class Container:
    """One container that was started. ``pid`` is its first process, as this machine numbers it."""

    def __init__(self, handle: Any, name: str, ports: Sequence[int]) -> None:
        """``ports``: those of this machine that lead to it, that of its server first."""
        self._handle = handle
        self.name = name
        self._ports = tuple(ports)
        self.pid = 0
        self._ticks: int | None = None
        self._group: ControlGroup | None = None
        self._forwarders: list[int] = []

    def start(self) -> None:
        """Start it, or start it again after a kill: its volume and its own layer are as they were left."""
        with engine_errors(f"{self.name}: start its container"):
            self._handle.start()
            self._handle.reload()
        self.pid = int(self._handle.attrs["State"]["Pid"])
        if not self.pid:
            self.require_running()
        self._ticks = warden.process_start_ticks(self.pid)
        self._group = control_group(self.pid, str(self._handle.id))
        self._forwarders = _forwarders(self._ports)

    @property
    def running(self) -> bool:
        if self._group is not None:
            return self._ticks is not None and warden.process_start_ticks(self.pid) == self._ticks
        return self._state().running

    def require_running(self) -> None:
        """Raise StackError, with the end of its log, when it has ended."""
        if self._group is not None and self.running:
            return
        state = self._state()
        if state.running:
            return
        code = state.exit_code
        if state.out_of_memory:
            raise StackError(
                f"{self.name}: its container ended with code {code}: its memory limit was reached"
            )
        if code == 128 + 9:
            raise StackError(f"{self.name}: its container ended with code {code}: it was killed")
        raise StackError(f"{self.name}: its container ended with code {code}: {self.last_words()}")

    def _state(self) -> _State:
        with engine_errors(f"{self.name}: look at its container"):
            self._handle.reload()
        return msgspec.convert(self._handle.attrs["State"], _State)

    def last_words(self) -> str:
        with contextlib.suppress(docker.errors.DockerException, requests.RequestException):
            lines = self._handle.logs(tail=_LOG_LINES).decode(errors="replace").strip().splitlines()
            return " | ".join(line.strip() for line in lines)[-600:] or "(empty log)"
        return "(no log)"

    def cpu_s(self) -> float | None:
        """That of its control group, and of the process that forwards its port where its network is a bridge: so
        bytes reach it, and nothing else does that work natively. None where the group cannot be read."""
        if self._group is None:
            return None
        with contextlib.suppress(OSError):
            return self._group.cpu_s() + usage.cpu_s(self._forwarders)
        return None

    def memory_bytes(self) -> int | None:
        if self._group is None:
            return None
        with contextlib.suppress(OSError):
            return self._group.memory_bytes()
        return None

    def kill(self) -> None:
        """End all that runs in it at once; its volume and layer stay."""
        with engine_errors(f"{self.name}: kill its container"):
            self._kill()

    def _kill(self) -> None:
        try:
            self._handle.kill()
            self._handle.wait(timeout=_ENDS_WITHIN_S)
        except docker.errors.APIError as error:
            # What has ended already cannot be killed, and need not be.
            if error.status_code not in {404, 409}:
                raise

    def run_inside(self, command: Sequence[str]) -> str:
        """What a command prints that runs in it; raises StackError with its last line when it fails."""
        with engine_errors(f"{self.name}: run {command[0]} in its container"):
            code, printed = self._handle.exec_run(list(command))
        text = printed.decode(errors="replace").strip()
        if code != 0:
            last = text.splitlines()[-1] if text else "it says nothing"
            raise StackError(f"{self.name}: {command[0]} in its container ended with code {code}: {last}")
        return str(text)

    def put(self, files: Mapping[str, bytes]) -> None:
        """Write files into it, which everybody in it may read, by their absolute paths."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for path, content in files.items():
                entry = tarfile.TarInfo(path.lstrip("/"))
                entry.size, entry.mode = len(content), 0o644
                archive.addfile(entry, io.BytesIO(content))
        with engine_errors(f"{self.name}: write into its container"):
            self._handle.put_archive("/", packed.getvalue())

    def wait_until_listening(self, timeout_s: float) -> None:
        """Return when its server takes connections; raise StackError when it does not in time.

        What forwards a port accepts before there is a server, and hangs up at once: a connection counts when it
        stays open.
        """
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            self.require_running()
            if _stays_open(self._ports[0]):
                return
            time.sleep(0.02)
        raise StackError(
            f"{self.name}: nothing listens on port {self._ports[0]} after {timeout_s:.0f} s: {self.last_words()}"
        )


def _stays_open(port: int) -> bool:
    try:
        with socket.create_connection((LOOPBACK, port), timeout=1.0) as connection:
            connection.settimeout(_QUIET_S)
            try:
                return bool(connection.recv(1))
            except TimeoutError:
                return True
    except OSError:
        return False


def _forwarders(ports: Sequence[int]) -> list[int]:
    """The engine's processes that forward ports of this machine into a container."""
    wanted = {str(port).encode() for port in ports}
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().split(b"\0")
                told = dict(zip(words[1::2], words[2::2], strict=False))
                if words[0].endswith(b"docker-proxy") and told.get(b"-host-port") in wanted:
                    found.append(int(entry.name))
    return found
