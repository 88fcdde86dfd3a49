"""The warden: ends a deployment's processes and removes its directory when its owner is gone.

The owner (a notebook kernel, a test, the command line) holds the writing end of this process's
standard input. When that end closes without the word ``done``, the owner died, and the warden does
what the owner no longer can: ends the processes, runs the command lines that take back what was changed
elsewhere, removes the directory. It finds processes by the process ids that the owner registered, by
their descendants, by the deployment's token in their environment and by their working directory; it
never looks for a name. One of these alone is not enough: Postgres writes its process title over the
environment of its backends, and backends that have lost their parent are nobody's descendants.

Run as a script, with the standard library only, so that it starts in milliseconds.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

__all__ = [
    "IGNORED_SIGNALS",
    "OWNER_FILE",
    "TOKEN_VARIABLE",
    "UNDO_FOLDER",
    "bare_environment",
    "descendants",
    "end_processes",
    "kill_tree",
    "portable",
    "process_start_ticks",
    "processes_of",
    "remove",
    "remove_shared_memory",
    "undo",
]

IGNORED_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
TOKEN_VARIABLE = "GAPBOOK_DEPLOYMENT"
OWNER_FILE = "owner"
UNDO_FOLDER = "undo"
_CHECKOUT = Path(__file__).resolve().parent.parent.parent
_OUR_PYTHON, _OUR_CHECKOUT = "@python", "@checkout"
_READ_BYTES = 2**16
_GRACE_S = 5.0
_UNDO_WITHIN_S = 20.0
_UNDO_AGAIN_FOR_S, _UNDO_PAUSE_S = 60.0, 1.0
_IPC_RMID, _SHM_RDONLY = 0, 0o10000  # see shmctl(2), shmat(2)
_SHARED_FILES = Path("/dev/shm")
# How Postgres begins its segment, a list of files of shared memory, and each entry of such a list. The segment
# tells the list's number: magic, process, two sizes, number. The list: magic, entries. An entry: number, uses.
_SEGMENT, _SEGMENT_MAGIC = struct.Struct("@iiNNI"), 679834894
_LIST, _LIST_MAGIC, _ENTRIES_AT = struct.Struct("@II"), 0x9A503D32, 16
_ENTRY, _ENTRY_BYTES = struct.Struct("@II"), 40


def bare_environment() -> dict[str, str]:
    """What every program gets, whatever the reader's shell has: where programs are, and a locale."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}


def process_start_ticks(pid: int) -> int | None:
    """The start time of a process in clock ticks since boot: with the pid, its identity."""
    fields = _stat(pid)
    return None if fields is None else int(fields[19])


def processes_of(token: str, directory: Path) -> dict[int, int]:
    """pid -> start ticks of the processes of a deployment, whoever their parent is.

    They carry its token in their environment, or work in its directory without a terminal (a reader's
    shell that looks at the logs there has one).
    """
    wanted, place = f"{TOKEN_VARIABLE}={token}".encode(), f"{directory}/"
    found = {}
    for pid in _pids():
        fields = _stat(pid)
        if fields is None or pid == os.getpid():
            continue
        with contextlib.suppress(OSError):
            working_directory = Path(f"/proc/{pid}/cwd").readlink()
            without_terminal = fields[4] == "0"
            if (without_terminal and f"{working_directory}/".startswith(place)) or (
                wanted in _read(f"/proc/{pid}/environ").split(b"\0")
            ):
                found[pid] = int(fields[19])
    return found


def descendants(roots: Iterable[int]) -> dict[int, int]:
    """pid -> start ticks of the children of processes, and of theirs."""
    children: dict[int, dict[int, int]] = {}
    for pid in _pids():
        fields = _stat(pid)
        if fields is not None:
            children.setdefault(int(fields[1]), {})[pid] = int(fields[19])
    found: dict[int, int] = {}
    pending = list(roots)
    while pending:
        for pid, ticks in children.pop(pending.pop(), {}).items():
            found[pid] = ticks
            pending.append(pid)
    return found


def _pids() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat from the state on (see proc(5), field 3); None for an ended process."""
    try:
        fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].decode(errors="replace").split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields


def _read(path: str) -> bytes:
    """A file of /proc: a path object and a buffer would double what a look at all processes costs."""
    file = os.open(path, os.O_RDONLY)
    try:
        parts = []
        while part := os.read(file, _READ_BYTES):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(file)


def end_processes(processes: dict[int, int], first_signal: int, grace_s: float = _GRACE_S) -> None:
    """Send the signal to each process that is still the one meant, then SIGKILL what remains."""

    def alive() -> list[int]:
        return [pid for pid, ticks in processes.items() if process_start_ticks(pid) == ticks]

    for number in (first_signal, signal.SIGKILL):
        for pid in alive():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        deadline = time.monotonic() + grace_s
        while alive() and time.monotonic() < deadline:
            time.sleep(0.02)


def kill_tree(root: int) -> None:
    """End a process and every descendant at once with SIGKILL; nothing happens where it has ended already."""
    ticks = process_start_ticks(root)
    alive = {} if ticks is None else {root: ticks}
    end_processes(alive | descendants(alive), signal.SIGKILL)


def portable(command: Sequence[str | Path]) -> list[str]:
    """The words of a command line with this interpreter and this checkout named as such, so that another
    checkout can run it when they are gone."""
    words = map(str, command)
    return [
        _OUR_PYTHON
        if word == sys.executable
        else word.replace(f"{_CHECKOUT}{os.sep}", f"{_OUR_CHECKOUT}{os.sep}")
        for word in words
    ]


def _here(word: str) -> str:
    return sys.executable if word == _OUR_PYTHON else word.replace(_OUR_CHECKOUT, str(_CHECKOUT), 1)


def undo(step: Path) -> str | None:
    """Run the command line of one undo file (``Deployment.on_abandon``); None once that is done, and the file
    gone. What failed is said in one line; its file stays, for the next start to try again."""
    try:
        written = json.loads(step.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None  # somebody else was faster
    try:
        done = subprocess.run(
            [_here(word) for word in written["command"]],
            env={**bare_environment(), **written["environment"]},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_UNDO_WITHIN_S,
            start_new_session=True,
            check=False,
            encoding="utf-8",
        )
        problem = (done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"])[-1]
        failed = done.returncode != 0
    except (OSError, subprocess.TimeoutExpired) as error:
        problem, failed = str(error), True
    if not failed:
        step.unlink(missing_ok=True)
        return None
    return (
        f"{written['what']} is still there ({problem[:300]}); the next start tries again to remove it, "
        f"as long as {step} exists"
    )


def remove_shared_memory(directory: Path) -> None:
    """Remove the System V shared memory that servers in this directory left and nobody uses, and its files.

    A Postgres that was killed leaves some; its key is the inode of the data directory. Who made it does not
    help: the servers that initdb starts have mostly ended before anybody saw them.
    """
    with contextlib.suppress(OSError):
        since = int((directory / OWNER_FILE).stat().st_mtime)
        keys = set(_shared_memory_keys(directory))
        for line in Path("/proc/sysvipc/shm").read_text(encoding="utf-8").splitlines()[1:]:
            key, identifier, _, _, creator, _, attached, owner, *_, changed, _, _ = map(int, line.split())
            unused = attached == 0 and changed >= since and process_start_ticks(creator) is None
            if key in keys and unused:
                # Only the segment tells which they are: once it is gone, nobody can remove them.
                for file in _shared_files(identifier):
                    with contextlib.suppress(OSError):
                        if file.stat().st_uid == owner:
                            file.unlink()
                ctypes.CDLL(None).shmctl(identifier, _IPC_RMID, None)


def _shared_memory_keys(directory: Path) -> Iterator[int]:
    """Those of servers whose data lies in the directory, or in a folder of it."""
    servers = _folders(directory)
    for folder in (*servers, *(inner for server in servers for inner in _folders(server))):
        with contextlib.suppress(OSError):
            yield ctypes.c_int32(folder.stat().st_ino).value


def _folders(parent: Path) -> list[Path]:
    """The folders in one; none where it cannot be read, as on a disk whose power is cut."""
    return [parent / name for _, names, _ in itertools.islice(os.walk(parent), 1) for name in names]


def _shared_files(identifier: int) -> list[Path]:
    """Where a Postgres that left this segment shared more memory; none where it is no such segment."""
    magic, *_, number = _SEGMENT.unpack(_begin_of(identifier, _SEGMENT.size))
    if magic != _SEGMENT_MAGIC:
        return []
    found = [_shared_file(number)]
    with contextlib.suppress(OSError, struct.error):
        data = found[0].read_bytes()
        magic, entries = _LIST.unpack_from(data)
        for place in range(entries if magic == _LIST_MAGIC else 0):
            number, uses = _ENTRY.unpack_from(data, _ENTRIES_AT + _ENTRY_BYTES * place)
            if uses:
                found.append(_shared_file(number))
    return found


def _shared_file(number: int) -> Path:
    return _SHARED_FILES / f"PostgreSQL.{number}"


def _begin_of(identifier: int, size: int) -> bytes:
    """The first bytes of a segment; zeros where it cannot be read. A segment has whole pages."""
    library = ctypes.CDLL(None)
    library.shmat.restype = ctypes.c_void_p
    library.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
    library.shmdt.argtypes = [ctypes.c_void_p]
    address = library.shmat(identifier, None, _SHM_RDONLY)
    if address in (None, ctypes.c_void_p(-1).value):
        return bytes(size)
    try:
        return ctypes.string_at(address, size)
    finally:
        library.shmdt(address)


def remove(directory: Path) -> list[str]:
    """Take back what a deployment changed elsewhere, newest first, and remove its directory.

    Returns a line for everything that could not be taken back; then that much of the directory stays.
    """
    remove_shared_memory(directory)
    steps = sorted((directory / UNDO_FOLDER).glob("*.json"), reverse=True)
    failed = [line for line in map(undo, steps) if line is not None]
    if not failed:
        shutil.rmtree(directory, ignore_errors=True)
        return []
    for entry in directory.iterdir():
        if entry.name not in {OWNER_FILE, UNDO_FOLDER}:
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)
    return failed


def _without_owner(directory: Path) -> bool:
    try:
        pid, ticks, _ = (directory / OWNER_FILE).read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        return True  # killed before it said who it is
    return str(process_start_ticks(int(pid))) != ticks


def _watch(token: str, directory: Path) -> None:
    registered: dict[int, int] = {}
    for line in sys.stdin:
        words = line.split()
        if words == ["done"]:
            return
        registered[int(words[0])] = int(words[1])
    ours = {pid: ticks for pid, ticks in registered.items() if process_start_ticks(pid) == ticks}
    # SIGQUIT is Postgres's immediate shutdown, which removes its shared memory; others just end.
    end_processes(ours | descendants(ours) | processes_of(token, directory), signal.SIGQUIT)
    end_processes(processes_of(token, directory), signal.SIGKILL)
    # A dead owner does not wait for us, and a server that is too busy now may not be in a while.
    deadline = time.monotonic() + _UNDO_AGAIN_FOR_S
    while (failed := remove(directory)) and _without_owner(directory) and time.monotonic() < deadline:
        time.sleep(_UNDO_PAUSE_S)
    for line in failed:
        with contextlib.suppress(OSError):
            print(f"gapbook: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    # Started with these blocked, so that none arrives before this.
    for ignored in IGNORED_SIGNALS:
        signal.signal(ignored, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, IGNORED_SIGNALS)
    _watch(sys.argv[1], Path(sys.argv[2]))
