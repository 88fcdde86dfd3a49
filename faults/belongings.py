"""What a run has on this machine at any moment, and what of it is left: nothing may be, once it has ended."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gapbook.deploy import warden

__all__ = [
    "FILLER",
    "Belongings",
    "belongs_to",
    "command_line",
    "listening",
    "mounts_below",
    "shared_files",
    "socket_inodes",
    "unused_shared_memory",
]

FILLER = "filler"
"""The file by which a point fills a disk: it is the point's, not the run's."""
_LISTENS = "0A"  # see proc_net_tcp(5)
_SHARED_FILES = "/dev/shm/"


@dataclass
class Belongings:
    """Of all runs that keep everything below one folder. ``look`` remembers what there is, to miss it later."""

    root: Path
    processes: dict[int, int] = field(default_factory=dict)
    sockets: set[tuple[int, str]] = field(default_factory=set)
    shared_memory_keys: set[int] = field(default_factory=set)
    shared_files: set[Path] = field(default_factory=set)

    def alive(self, *roots: int) -> dict[int, int]:
        """pid -> start ticks of every process of the runs, and of the given ones and their descendants."""
        found = {**belongs_to(self.root), **warden.descendants(roots)}
        own = {pid: ticks for pid in roots if (ticks := warden.process_start_ticks(pid)) is not None}
        return found | own

    def look(self, *roots: int) -> None:
        """Remember processes, listening sockets, the keys of shared memory and its files of this moment."""
        alive = self.alive(*roots)
        self.processes |= alive
        inodes = {inode for pid in alive for inode in socket_inodes(pid)}
        self.sockets |= {each for each in listening() if each[1] in inodes}
        self.shared_files |= {file for pid in alive for file in shared_files(pid)}
        for deployment in _folders(self.root / "data"):
            for server in _folders(deployment):
                for folder in (server, *_folders(server)):
                    with contextlib.suppress(OSError):
                        # Postgres makes the key of its shared memory of this.
                        self.shared_memory_keys.add(ctypes.c_int32(folder.stat().st_ino).value)

    def still_alive(self) -> dict[int, int]:
        """pid -> start ticks of the processes that there are, and of those that are remembered."""
        return self.alive() | {
            pid: ticks for pid, ticks in self.processes.items() if warden.process_start_ticks(pid) == ticks
        }

    def left(self, *, swept: bool = True) -> list[str]:
        """A line for each thing that is still there; ``swept`` False overlooks what only the next start removes,
        where neither owner nor warden lived on: folders, mounts and shared memory."""
        return [
            *(f"process {pid}: {b' '.join(command_line(pid))[:200]!r}" for pid in self.still_alive()),
            *(f"port {port}" for port, _ in self.sockets & set(listening())),
            *(f"lock of {folder}" for folder in _locked(self.root / "runs")),
            *(self._unswept() if swept else ()),
        ]

    def _unswept(self) -> Iterator[str]:
        yield from (f"shared memory {key}" for key in self.shared_memory_keys & unused_shared_memory())
        yield from (f"shared memory {file}" for file in sorted(self.shared_files) if file.exists())
        yield from (f"mount {mount}" for mount in mounts_below(self.root / "data" / "gapbook-"))
        for folder in (self.root / "data", self.root / "tmp"):
            yield from (f"folder {path}" for path in sorted(folder.glob("*")) if path.name != FILLER)


def belongs_to(folder: Path) -> dict[int, int]:
    """pid -> start ticks of processes with the folder in their environment, their arguments or their place."""
    found, wanted = {}, os.fsencode(folder)
    for entry in Path("/proc").glob("[0-9]*"):
        pid = int(entry.name)
        if pid == os.getpid():
            continue
        with contextlib.suppress(OSError):
            texts = ((entry / name).read_bytes() for name in ("environ", "cmdline"))
            if any(wanted in text for text in texts) or wanted in os.fsencode((entry / "cwd").readlink()):
                ticks = warden.process_start_ticks(pid)
                if ticks is not None:
                    found[pid] = ticks
    return found


def command_line(pid: int) -> list[bytes]:
    """The words of a process; none once it has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return []


def mounts_below(prefix: Path) -> list[str]:
    """Mount points whose path begins so."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    return [place for line in lines if (place := line.split(" ")[4]).startswith(str(prefix))]


def socket_inodes(pid: int) -> Iterator[str]:
    with contextlib.suppress(OSError):
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                kind, _, inode = str(handle.readlink()).partition(":")
                if kind == "socket":
                    yield inode.strip("[]")


def shared_files(pid: int) -> set[Path]:
    """The files of shared memory that a process uses."""
    found = set()
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/maps").read_text(errors="replace", encoding="utf-8").splitlines():
            words = line.split(maxsplit=5)
            if len(words) > 5 and words[5].startswith(_SHARED_FILES):
                found.add(Path(words[5]))
    return found


def listening() -> Iterator[tuple[int, str]]:
    """Port and inode of every TCP socket that listens."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text(encoding="utf-8").splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTENS:
                yield int(fields[1].rpartition(":")[2], 16), fields[9]


def _folders(parent: Path) -> list[Path]:
    """The folders in one; none where it cannot be read, as on a disk whose power is cut."""
    return [parent / name for _, names, _ in itertools.islice(os.walk(parent), 1) for name in names]


def unused_shared_memory() -> set[int]:
    """The keys of System V shared memory that no process uses."""
    lines = Path("/proc/sysvipc/shm").read_text(encoding="utf-8").splitlines()[1:]
    return {int(line.split()[0]) for line in lines if int(line.split()[6]) == 0}


def _locked(runs: Path) -> list[Path]:
    """Journals and other folders of runs that somebody holds."""
    held = []
    for path in (*runs.glob("*/incomplete-*"), *runs.glob("**/.lock")):
        with contextlib.suppress(FileNotFoundError):
            opened = os.open(path, os.O_RDONLY)
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                held.append(path)
            finally:
                os.close(opened)
    return held
