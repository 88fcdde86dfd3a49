"""A deployment: the processes and the directory of one run, which leave nothing behind."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from gapbook.deploy import warden
from gapbook.deploy.backend import Running
from gapbook.deploy.environment import child_environment, make_home
from gapbook.deploy.process import LOOPBACK, Process, end_with_parent, log_tail
from gapbook.errors import SetupError, StackError, cut
from gapbook.paths import deployments_directory

__all__ = ["Deployment", "Undo"]

_PREFIX = "gapbook-"
_PLAIN_PATH = re.compile(r"[\w./+=:@,-]+")
_LEAVE_GRACE_S = 6.0
_AUTOGROUP = Path("/proc/self/autogroup")
_GIVE_WAY_ATTEMPTS = 10


class Undo:
    """The command line that takes back one change made outside the deployment."""

    def __init__(self, step: Path) -> None:
        self._step = step

    def run(self) -> None:
        """Run it now; later calls do nothing. Raises StackError when it fails: it is then tried again when
        the deployment ends, and by later starts."""
        problem = warden.undo(self._step)
        if problem is not None:
            raise StackError(problem)


class Deployment:
    """Context manager that owns a fresh directory and every process started through it.

    On leaving, however it is left, all processes are ended, what was changed elsewhere is taken back
    (:meth:`on_abandon`) and the directory is removed. If the owning process is killed, its warden does the
    same (see ``gapbook.deploy.warden``); if both are killed, the next deployment does.
    """

    def __init__(self, parent: Path | None = None) -> None:
        """``parent``: where the directory is made; None is where servers keep their data."""
        self._parent = parent
        self.token = secrets.token_hex(16)
        self.directory = Path()
        self.declared: Mapping[str, str] = {}
        """Variables that what is started now gets besides (:meth:`declaring`)."""
        self.confined: Sequence[int] | None = None
        """The processors of what is started now, where that says none of its own (:meth:`confining`)."""
        self._processes: list[Process] = []
        self._warden: subprocess.Popen[bytes] | None = None
        self._log_numbers = itertools.count()
        self._undo_numbers = itertools.count()

    def __enter__(self) -> Self:
        parent = self._parent or _data_parent()
        sweep(parent)
        directory = parent.resolve() / f"{_PREFIX}{secrets.token_hex(4)}"
        try:
            # Before there is anything that it would have to remove: we may be killed at any moment.
            self._warden = self._started_warden(directory)
            directory.mkdir()
            self.directory = directory
            self.directory.chmod(0o755)
            make_home(self.directory)
            owner = f"{os.getpid()} {warden.process_start_ticks(os.getpid())} {self.token}\n"
            (self.directory / warden.OWNER_FILE).write_text(owner, encoding="utf-8")
        except OSError as error:
            self._give_up()
            raise SetupError(
                f"no deployment directory can be made in {parent} ({error.strerror}); "
                "set GAPBOOK_DATA to a folder on a disk with room"
            ) from error
        except BaseException:
            self._give_up()
            raise
        return self

    def _started_warden(self, directory: Path) -> subprocess.Popen[bytes]:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, warden.IGNORED_SIGNALS)
        try:
            return subprocess.Popen(
                [sys.executable, "-I", warden.__file__, self.token, str(directory)],
                stdin=subprocess.PIPE,
                start_new_session=True,
                # Without a token: it outlives whatever ends us, also the end of a deployment that we are a part of.
                env=warden.bare_environment(),
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            deadline = time.monotonic() + _LEAVE_GRACE_S
            for process in reversed(self._processes):
                process.stop(grace_s=max(0.1, deadline - time.monotonic()))
            warden.end_processes(warden.processes_of(self.token, self.directory), signal.SIGKILL)
            for line in warden.remove(self.directory):
                print(f"gapbook: {line}", file=sys.stderr)
            self._tell_warden("done\n")
        finally:
            # Without its last word, as when a second Ctrl-C cut this short, the warden does the rest.
            self._let_warden_go()

    def _give_up(self) -> None:
        """The deployment did not come about."""
        if self.directory != Path():
            shutil.rmtree(self.directory, ignore_errors=True)
        self._tell_warden("done\n")
        self._let_warden_go()

    def _let_warden_go(self) -> None:
        if self._warden is not None and self._warden.stdin is not None:
            with contextlib.suppress(OSError):
                self._warden.stdin.close()
            self._warden.wait()

    def _tell_warden(self, line: str) -> None:
        if self._warden is not None and self._warden.stdin is not None:
            with contextlib.suppress(OSError):
                self._warden.stdin.write(line.encode())
                self._warden.stdin.flush()

    def on_abandon(
        self, command: Sequence[str | Path], *, what: str, environment: Mapping[str, str] | None = None
    ) -> Undo:
        """Say how a change outside this deployment is taken back, before the change is made.

        ``command`` is run until it succeeds: by :meth:`Undo.run`, when the deployment ends, by the warden (for
        a minute, where the owner is gone), and by the next deployment. It must succeed when there is nothing
        (more) to take back, and end within 20 s.
        ``what`` names in an error message what is left. Secrets belong into ``environment``, which is kept in
        a file that this user alone can read; a command line is for everybody to see.
        """
        folder = self.directory / warden.UNDO_FOLDER
        folder.mkdir(mode=0o700, exist_ok=True)
        step = folder / f"{next(self._undo_numbers):06}.json"
        written = {
            "what": what,
            "command": warden.portable(command),
            "environment": dict(environment or {}),
        }
        partial = step.with_suffix(".partial")
        partial.touch(mode=0o600)
        partial.write_text(json.dumps(written), encoding="utf-8")
        partial.rename(step)
        return Undo(step)

    @contextlib.contextmanager
    def declaring(self, variables: Mapping[str, str]) -> Iterator[None]:
        """Give these variables to everything that is started meanwhile, natively or in a container, over those that
        a caller declares: the ``environment`` of a contestant, which no stack needs to know of."""
        before, self.declared = self.declared, {**self.declared, **variables}
        try:
            yield
        finally:
            self.declared = before

    @contextlib.contextmanager
    def confining(self, processors: Sequence[int] | None) -> Iterator[None]:
        """Let every process that is started meanwhile run on these processors alone; None is no limit."""
        before, self.confined = self.confined, processors
        try:
            yield
        finally:
            self.confined = before

    def start(
        self,
        command: Sequence[str | Path],
        *,
        name: str,
        stdin: bool = False,
        stdout: bool = False,
        stderr: bool = False,
        stop_signal: int = signal.SIGTERM,
        user: str | None = None,
        environment: Mapping[str, str] | None = None,
        working_directory: Path | None = None,
        processors: Sequence[int] | None = None,
        niceness: int = 0,
    ) -> Process:
        """Start a child process in a session of its own, its log under the deployment's directory.

        Of the environment of the reader's shell it gets what :func:`gapbook.deploy.environment.child_environment`
        allows, besides what ``environment`` and :meth:`declaring` say. ``processors`` are those on which it may run,
        else those of :meth:`confining`.
        Standard output and standard error go to the log unless a pipe is asked for. The process ends with
        the thread that starts it, also where no warden is left to see to that.
        Raises StackError when the command cannot be started.
        """
        log_path = self.directory / f"{name}-{next(self._log_numbers)}.log"
        allowed = processors or self.confined
        pinned = ["taskset", "--cpu-list", ",".join(map(str, allowed))] if allowed else []
        try:
            with log_path.open("wb") as log:
                popen = subprocess.Popen(
                    [*pinned, *(str(word) for word in command)],
                    stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                    stdout=subprocess.PIPE if stdout else log,
                    stderr=subprocess.PIPE if stderr else log,
                    env=child_environment(
                        self.directory, self.token, {**(environment or {}), **self.declared}
                    ),
                    cwd=working_directory or self.directory,
                    start_new_session=True,
                    user=user,
                    group=None if user is None else pwd.getpwnam(user).pw_gid,
                    extra_groups=None if user is None else [],
                    preexec_fn=partial(_prepare, niceness),  # noqa: PLW1509 (takes no lock: two system calls)
                )
        except OSError as error:
            raise StackError(f"{name}: {command[0]} cannot be started ({error.strerror})") from error
        process = Process(popen, name, log_path, stop_signal)
        self._processes.append(process)
        self._tell_warden(f"{popen.pid} {warden.process_start_ticks(popen.pid) or 0}\n")
        return process

    def run(
        self, command: Sequence[str | Path], *, name: str, user: str | None = None, timeout_s: float = 60
    ) -> None:
        """Run a short command to its end; raise StackError with the end of its log when it fails."""
        process = self.start(command, name=name, user=user)
        try:
            code = process.popen.wait(timeout_s)
        except BaseException as error:
            # Here, while its folders are there: what it shared in memory is found by them.
            self.stop(process, grace_s=0.5)
            if isinstance(error, subprocess.TimeoutExpired):
                said = log_tail(process.log_path)
                raise StackError(f"{name}: no end after {timeout_s:.0f} s: {said}") from None
            raise
        self.forget(process)
        if code != 0:
            raise StackError(f"{name}: ended with code {code}: {log_tail(process.log_path)}")

    def stop(self, process: Process, grace_s: float = 10.0) -> None:
        """End a process, and what it left behind: the backends of a server that was killed live on."""
        process.stop(grace_s)
        self.forget(process)
        orphans = warden.processes_of(self.token, self.directory)
        led = [other.pid for other in self._processes]
        for pid in led:
            orphans.pop(pid, None)
        if orphans:
            for pid in warden.descendants(led):
                orphans.pop(pid, None)
            warden.end_processes(orphans, signal.SIGKILL)
        warden.remove_shared_memory(self.directory)

    def release(self, ended: Sequence[Running]) -> None:
        """Let go of what has been ended, and of what it left behind."""
        for process in [own for own in self._processes if own in ended]:
            self.stop(process)

    def forget(self, process: Process) -> None:
        with contextlib.suppress(ValueError):
            self._processes.remove(process)

    def wait_until_listening(
        self, process: Process, port: int, timeout_s: float, *, address: str = LOOPBACK
    ) -> None:
        """Return when the port accepts a connection; raise StackError when it does not in time."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            process.require_running()
            with contextlib.suppress(OSError), socket.create_connection((address, port), timeout=1.0):
                return
            time.sleep(0.02)
        raise StackError(
            f"{process.name}: nothing listens on port {port} after {timeout_s:.0f} s: {log_tail(process.log_path)}"
        )


def _prepare(niceness: int) -> None:
    """Run in a child before its program: it gets Postgres's immediate shutdown when its parent dies."""
    if niceness:
        os.nice(niceness)
        _give_way(niceness)
    end_with_parent(signal.SIGQUIT)


def _give_way(niceness: int) -> None:
    """Give the session of this process the same niceness.

    Where the kernel groups processes by session, the niceness of one counts within its session alone, and a build
    takes as much as whatever it should give way to (sched(7), *the autogroup feature*).
    """
    for _ in range(_GIVE_WAY_ATTEMPTS):
        try:
            _AUTOGROUP.write_text(str(niceness), encoding="ascii")
        except BlockingIOError:
            # Users other than root may do so ten times in a second, all of them together.
            time.sleep(0.1)
        except OSError:
            return
        else:
            return


def _data_parent() -> Path:
    """Where servers keep their data; raises SetupError for a name that not all of them can be given."""
    parent = deployments_directory()
    if _PLAIN_PATH.fullmatch(str(parent.absolute())) is None:
        raise SetupError(
            f"servers cannot keep data in {cut(str(parent))!r}: initdb of Postgres hands the name to a shell; "
            "set GAPBOOK_DATA to a folder named with letters, digits and . _ - + = : @ , only"
        )
    return parent


def sweep(parent: Path) -> None:
    """End deployments of this user whose owner no longer lives and whose warden does not either."""
    for directory in parent.resolve().glob(f"{_PREFIX}*"):
        try:
            # Somebody else's folder is nothing that may say what is to be run.
            if directory.lstat().st_uid != os.geteuid() or directory.is_symlink():
                continue
            pid, ticks, token = (directory / warden.OWNER_FILE).read_text(encoding="utf-8").split()
        except (OSError, ValueError):
            with contextlib.suppress(OSError):
                if not _warden_at_work(directory):
                    directory.rmdir()  # of an owner that was killed before it said who it is
            continue
        if str(warden.process_start_ticks(int(pid))) != ticks and not _warden_at_work(directory):
            warden.end_processes(warden.processes_of(token, directory), signal.SIGQUIT)
            for line in warden.remove(directory):
                print(f"gapbook: {line}", file=sys.stderr)


def _warden_at_work(directory: Path) -> bool:
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(directory).encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                return True
    return False
