"""A deployment leaves no process and no directory behind, whoever of owner and warden is killed when."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gapbook.book.kernel import kernel_config
from gapbook.deploy import warden
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.process import free_port, log_tail, require_port_free
from gapbook.errors import SetupError, StackError
from gapbook.paths import CHECKOUT

_SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
_IGNORES_SIGNALS = [
    sys.executable,
    "-c",
    "import signal, time\n"
    "for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT): signal.signal(number, signal.SIG_IGN)\n"
    "print('deaf', flush=True); time.sleep(600)",
]
# A child that has left its parent, its session and its environment, as a Postgres backend has.
_LEAVES_HOME = [
    sys.executable,
    "-c",
    "import os, time\n"
    "if os.fork() == 0:\n"
    "    os.setsid()\n"
    "    os.execve('/bin/sleep', ['sleep', '600'], {})\n"
    "time.sleep(600)",
]
_OWNER = """
import sys, time
from gapbook.deploy.deployment import Deployment
with Deployment() as deployment:
    for command in eval(sys.argv[1]):
        deployment.start(command, name="child")
    time.sleep(0.3)
    print(deployment.token, deployment.directory, flush=True)
    time.sleep(600)
"""


def _eventually(holds: Callable[[], bool], within_s: float = 15.0) -> bool:
    deadline = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


class _Owner:
    """A process that owns a deployment with the given children."""

    def __init__(self, *commands: list[str]) -> None:
        self.popen = subprocess.Popen(
            [sys.executable, "-c", _OWNER, repr(commands)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=CHECKOUT,
            env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
            encoding="utf-8",
        )
        assert self.popen.stdout is not None
        self.token, directory = self.popen.stdout.readline().split()
        self.directory = Path(directory)
        self.children = self.found()

    def found(self) -> dict[int, int]:
        return warden.processes_of(self.token, self.directory)

    def has_children(self, count: int) -> bool:
        """Whether so many processes are there in the end: on a busy machine the children of children come late."""
        there = _eventually(lambda: len(self.found()) == count)
        self.children = self.found()
        return there

    def warden(self) -> int:
        (pid,) = (
            pid
            for pid in warden.descendants([self.popen.pid])
            if self.token.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
        )
        return pid

    def nothing_left(self) -> bool:
        alive = [pid for pid, ticks in self.children.items() if warden.process_start_ticks(pid) == ticks]
        return not alive and not self.found() and not self.directory.exists()

    def close(self) -> None:
        self.popen.kill()
        self.popen.communicate()
        warden.end_processes(self.found(), signal.SIGKILL)


@pytest.fixture(name="owner")
def _owner(data_folder: Path) -> Iterator[Callable[..., _Owner]]:
    assert data_folder.is_dir()
    owners: list[_Owner] = []

    def start(*commands: list[str]) -> _Owner:
        owners.append(_Owner(*commands))
        return owners[-1]

    yield start
    for started in owners:
        started.close()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_killed_owner_leaves_nothing(owner: Callable[..., _Owner], number: int) -> None:
    killed = owner(_SLEEP, _IGNORES_SIGNALS, _LEAVES_HOME)
    assert killed.has_children(4)
    killed.popen.send_signal(number)
    assert _eventually(killed.nothing_left)


_KILLED_AS_IT_BEGINS = """
import os, signal
from pathlib import Path
from gapbook.deploy.deployment import Deployment
Path.chmod = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
Deployment().__enter__()
"""


def test_an_owner_that_is_killed_before_it_says_who_it_is_leaves_no_folder(data_folder: Path) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED_AS_IT_BEGINS],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        cwd=CHECKOUT,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert _eventually(lambda: not list(data_folder.iterdir()))


def test_an_empty_folder_of_nobody_is_swept_and_one_that_holds_something_is_not(data_folder: Path) -> None:
    for name in ("gapbook-00000000", "gapbook-notes"):
        (data_folder / name).mkdir()
    (data_folder / "gapbook-notes" / "mine").touch()
    with Deployment() as deployment:
        assert set(data_folder.iterdir()) == {deployment.directory, data_folder / "gapbook-notes"}


def test_killed_owner_and_warden_are_swept_by_the_next_deployment(owner: Callable[..., _Owner]) -> None:
    killed = owner(_SLEEP, _LEAVES_HOME)
    killed_warden = killed.warden()
    os.kill(killed_warden, signal.SIGKILL)
    killed.popen.kill()
    killed.popen.wait()
    # A warden that is still dying is one at work, and its deployment left alone.
    assert _eventually(lambda: warden.process_start_ticks(killed_warden) is None)
    assert not killed.nothing_left()
    with Deployment():
        # What was ended is gone once the kernel has got round to it.
        assert _eventually(killed.nothing_left)


def test_sweep_leaves_living_deployments_alone(owner: Callable[..., _Owner]) -> None:
    living = owner(_SLEEP)
    with Deployment():
        pass
    assert living.found() == living.children
    assert living.directory.is_dir()


def test_killed_warden_does_not_matter_while_the_owner_lives(data_folder: Path) -> None:
    with Deployment() as deployment:
        deployment.start(_SLEEP, name="one")
        assert deployment._warden is not None
        deployment._warden.kill()
        deployment._warden.wait()
        last = deployment.start(_SLEEP, name="two")
        assert last.running
    assert not list(data_folder.iterdir())
    assert not last.running


def test_stopping_a_process_ends_what_it_left_behind_and_nothing_else() -> None:
    with Deployment() as deployment:
        other = deployment.start(_LEAVES_HOME, name="other")
        parent = deployment.start(_LEAVES_HOME, name="parent")
        assert _eventually(lambda: len(warden.processes_of(deployment.token, deployment.directory)) == 4)
        deployment.stop(parent)
        left = warden.processes_of(deployment.token, deployment.directory)
        assert left.keys() == {other.pid, *warden.descendants([other.pid])}
        assert len(left) == 2


def test_second_interrupt_while_leaving_is_finished_by_the_warden(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(**_: object) -> None:
        raise KeyboardInterrupt

    deployment = Deployment().__enter__()
    process = deployment.start(_SLEEP, name="child")
    monkeypatch.setattr(process, "stop", interrupted)
    with pytest.raises(KeyboardInterrupt):
        deployment.__exit__(None, None, None)
    assert not list(data_folder.iterdir())
    # The warden asks by SIGQUIT; on a machine so busy that the grace runs out first, it is SIGKILL.
    assert process.popen.wait(5) in {-signal.SIGQUIT, -signal.SIGKILL}


def test_shell_that_looks_at_the_logs_is_not_ended() -> None:
    with Deployment() as deployment:
        directory = deployment.directory
        pid, terminal = os.forkpty()
        if pid == 0:
            with contextlib.suppress(BaseException):
                os.chdir(directory)
                os.execv("/bin/sleep", ["sleep", "600"])
            os._exit(1)
        assert _eventually(lambda: Path(f"/proc/{pid}/cwd").readlink() == directory)
    try:
        assert warden.process_start_ticks(pid) is not None
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)


def test_a_deployment_inside_another_cleans_up_by_itself(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its warden must live when all that belongs to the outer one is ended."""
    with Deployment(data_folder) as outer:
        monkeypatch.setenv(warden.TOKEN_VARIABLE, outer.token)
        with Deployment(data_folder) as inner:
            child = inner.start(_SLEEP, name="child").pid
            assert child in warden.processes_of(inner.token, inner.directory)
            assert not warden.processes_of(outer.token, outer.directory)


def test_what_a_kernel_is_started_for_is_ended_with_its_folder() -> None:
    with kernel_config() as (config, _):
        kernel = subprocess.Popen(_SLEEP)
        folder = Path(config["KernelManager"]["connection_file"]).parent
        assert folder.is_dir()
    assert kernel.wait(10) == -signal.SIGKILL
    assert not folder.exists()
    assert warden.TOKEN_VARIABLE not in os.environ


def test_command_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with Deployment() as deployment, pytest.raises(StackError, match=r"null: .*/absent cannot be started"):
        deployment.start([tmp_path / "absent"], name="null")


def test_command_that_fails_or_hangs_is_explained_by_its_log() -> None:
    with Deployment() as deployment:
        with pytest.raises(StackError, match=r"step: ended with code 7: first \| second"):
            deployment.run(["sh", "-c", "echo first; echo second; exit 7"], name="step")
        with pytest.raises(StackError, match="step: no end after 0 s: begun"):
            deployment.run(["sh", "-c", "echo begun; sleep 600"], name="step", timeout_s=0.3)


def test_logs_of_processes_with_one_name_are_kept_apart() -> None:
    with Deployment() as deployment:
        logs = []
        for word in ("one", "two"):
            process = deployment.start(["echo", word], name="echo")
            process.popen.wait()
            deployment.stop(process)
            logs.append(process.log_path)
        assert [log.read_text(encoding="utf-8") for log in logs] == ["one\n", "two\n"]


def test_folder_that_cannot_be_written_names_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAPBOOK_DATA", str(tmp_path / "absent"))
    with pytest.raises(SetupError, match=r"absent \(No such file or directory\); set GAPBOOK_DATA"):
        Deployment().__enter__()


# --- ports and logs ---------------------------------------------------------------------------
def test_taken_port_is_refused_and_a_free_one_is_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(StackError, match=rf"db: port {port} of 127\.0\.0\.1 cannot be used \(.+\); name"):
            require_port_free(port, "db")
    require_port_free(port, "db")


def test_free_port_can_be_listened_on() -> None:
    port = free_port()
    require_port_free(port, "db")
    with socket.create_server(("127.0.0.1", port)):
        pass


def test_process_that_ended_and_port_that_never_opens_are_explained() -> None:
    with Deployment() as deployment:
        ended = deployment.start(["sh", "-c", "echo no such table; exit 3"], name="db")
        with pytest.raises(StackError, match="db ended with code 3: no such table"):
            deployment.wait_until_listening(ended, free_port(), 5)
        silent = deployment.start(_SLEEP, name="db")
        with pytest.raises(StackError, match=r"db: nothing listens on port \d+ after 0 s: \(empty log\)"):
            deployment.wait_until_listening(silent, free_port(), 0.2)


@pytest.mark.parametrize(
    ("text", "tail"),
    [
        ("a\nb\nc\nd\n", "b | c | d"),
        ("  one  \n\n", "one"),
        ("", "(empty log)"),
        ("x" * 5000, "x" * 600),
        ("\xff\x00", "\xff\x00"),
    ],
)
def test_log_tail_is_one_line(tmp_path: Path, text: str, tail: str) -> None:
    log = tmp_path / "log"
    log.write_text(text, encoding="utf-8")
    assert log_tail(log) == tail
    assert log_tail(tmp_path / "absent") == "(no log)"


@pytest.mark.skipif(
    not Path("/proc/self/autogroup").exists(), reason="this kernel does not group processes by session"
)
def test_what_gives_way_gives_way_to_other_sessions_too() -> None:
    with Deployment() as deployment:
        build = deployment.start(_SLEEP, name="build", niceness=19)
        server = deployment.start(_SLEEP, name="server")
        groups = [Path(f"/proc/{one.popen.pid}/autogroup").read_text("ascii") for one in (build, server)]
        assert os.getpriority(os.PRIO_PROCESS, build.popen.pid) == 19
    assert groups[0].endswith("nice 19\n")
    assert groups[1].endswith("nice 0\n")
