"""Loss of power on one machine: a disk that forgets what was not fsynced when its power is cut.

A layer (``clients/rust/gap-powercut``, which tells its model) lies over a folder of the deployment and is mounted
there. That folder holds at every moment what would be left. Its cost in time is part of whatever runs on it, so
that a rate measured on it is no rate of the server.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.process import Process, Ready
from gapbook.deploy.rust import rust_binary
from gapbook.errors import SetupError, StackError

__all__ = [
    "CutReport",
    "DiskState",
    "DiskTotals",
    "PowerCutDisk",
    "Survivors",
    "power_cut_disk",
    "require_power_cuts",
]

Survivors = Literal["none", "prefix", "pages"]
"""What survives a cut of that which was not durable: nothing; everything up to a random page, which is torn; or
each page by the toss of a coin, the last of each file torn."""

_Answer = TypeVar("_Answer")
_PROGRAM = "gap-powercut"
_DEVICE = Path("/dev/fuse")


class DiskTotals(msgspec.Struct):
    """What was done to a disk since it was mounted; ``fsyncs`` are those of files."""

    bytes_written: int
    fsyncs: int
    directory_fsyncs: int


class DiskState(msgspec.Struct):
    """A disk at one moment: what was done to it, and how many bytes of it are not durable."""

    totals: DiskTotals
    unsynced_bytes: int


class CutReport(msgspec.Struct):
    """What a cut took: when it was (``at_ns``, of the monotonic clock), and how many bytes are gone. ``written_back``
    above 0 says that the layer's memory was full before, which made things durable that nobody had synced."""

    at_ns: int
    bytes_dropped: int
    written_back: int


def require_power_cuts() -> None:
    """Raise SetupError, which says what is missing, where no such disk can be mounted."""
    if os.geteuid() != 0:
        raise SetupError("power cuts: only root may mount; run gapbook as root")
    try:
        os.close(os.open(_DEVICE, os.O_RDWR))
    except OSError as error:
        raise SetupError(
            f"power cuts: {_DEVICE}: {error.strerror}; they need a kernel with FUSE, and in a container "
            f"--device {_DEVICE} and the capability SYS_ADMIN"
        ) from error


class PowerCutDisk:
    """A mounted disk; its commands raise StackError when the layer refuses them or is gone."""

    def __init__(self, deployment: Deployment, name: str, processors: Sequence[int] | None) -> None:
        self.folder = deployment.directory / name
        """Where it is mounted: for the server's data."""
        self.durable = deployment.directory / f"{name}-durable"
        """What would be left if the power failed now."""
        self._deployment = deployment
        self._processors = processors
        self._process: Process | None = None

    @property
    def process(self) -> Process:
        """The layer, whose CPU is a cost of the simulation, not of the server."""
        if self._process is None:
            raise StackError(f"{self._title}: it is not mounted")
        return self._process

    def cut(self, survive: Survivors = "none", seed: int = 0) -> CutReport:
        """Cut the power: from now on everything fails, and what was not durable is lost.

        What was not is lost also where the harness itself never synced it, so call :meth:`sync` once the server
        is set up. Kill the server right after: what it acknowledges without its disk would be lost as well.
        Returns the layer's report.
        """
        return self._told({"command": "cut", "survive": survive, "seed": seed}, CutReport)

    def restore(self) -> None:
        """Give the power back: what is mounted then is what survived. Without a cut, as after an orderly
        shutdown, that is everything. The layer ends with the thread that calls this."""
        self.switch_off()
        self.switch_on()

    def sync(self) -> None:
        """Make everything durable."""
        self._told({"command": "sync"}, Ready)

    def fail_fsync(self, count: int = 1, contains: str = "") -> None:
        """Make the next fsyncs of files whose path on the disk contains a text fail with EIO; what they should
        have written is lost, as on Linux, though it still shows."""
        self._told({"command": "fail-fsync", "count": count, "contains": contains}, Ready)

    def fill(self, bytes_left: int) -> None:
        """Let files together grow by so many bytes; then the disk is full."""
        self._told({"command": "full", "bytes": bytes_left}, Ready)

    def stats(self) -> DiskState:
        """Writes, bytes written and fsyncs since it was mounted, in all and by file, and what is not durable."""
        return self._told({"command": "stats"}, DiskState)

    def switch_on(self) -> None:
        for folder in (self.folder, self.durable):
            folder.mkdir(exist_ok=True)
        program = rust_binary(_PROGRAM, "power cuts")
        command: list[str | Path] = [program, "--backing", self.durable, "--mount", self.folder]
        self._process = self._deployment.start(
            command, name="power-cut", stdin=True, stdout=True, processors=self._processors
        )
        self._process.said(self._title, Ready)

    def switch_off(self) -> None:
        """Unmount; where the power was not cut before, everything is made durable."""
        if self._process is None:
            return
        ended, self._process = self._process, None
        self._deployment.stop(ended)
        if ended.popen.returncode != 0:
            # The mount outlives a layer that was killed, and nobody could mount there again.
            unmount: list[str | Path] = [rust_binary(_PROGRAM, "power cuts"), "--unmount", self.folder]
            self._deployment.run(unmount, name="power-cut-unmount")

    @property
    def _title(self) -> str:
        return f"power cuts of {self.folder}"

    def _told(self, command: Mapping[str, str | int], kind: type[_Answer]) -> _Answer:
        process = self.process
        try:
            process.stdin.write(json.dumps(command).encode() + b"\n")
            process.stdin.flush()
        except OSError as error:
            process.require_running()
            raise StackError(f"{self._title}: {error}") from error
        said = process.said(self._title, dict[str, object])
        if "error" in said:
            raise StackError(f"{self._title}: {command['command']}: {said['error']}")
        return msgspec.convert(said, kind)


@contextmanager
def power_cut_disk(
    deployment: Deployment, *, name: str = "disk", processors: Sequence[int] | None = None
) -> Iterator[PowerCutDisk]:
    """An empty disk mounted under the deployment's folder, which is gone afterwards however the process ends.

    Servers on it are to be stopped before it is left: those that are not see its files fail. Raises SetupError
    where nothing can be mounted or the layer is not built, and StackError when it does not start.
    """
    require_power_cuts()
    disk = PowerCutDisk(deployment, name, processors)
    undo = deployment.on_abandon(
        [rust_binary(_PROGRAM, "power cuts"), "--unmount", disk.folder],
        what=f"power cuts: the disk mounted at {disk.folder}",
    )
    try:
        disk.switch_on()
        yield disk
    finally:
        try:
            disk.switch_off()
        finally:
            undo.run()
            shutil.rmtree(disk.durable, ignore_errors=True)
            shutil.rmtree(disk.folder, ignore_errors=True)
