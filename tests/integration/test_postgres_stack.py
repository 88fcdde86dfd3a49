"""Postgres keeps the durability class that it was asked for, and says so itself."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from faults.belongings import shared_files, unused_shared_memory
from gapbook.deploy import warden
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.stack import StackContext, stack_class
from gapbook.errors import StackError
from gapbook.record.durability import Durability
from tests.bank import balances_of, seed_bank
from tests.hostile import hostile_shell
from tests.processes import process_of
from tests.running import eventually

_OTHER = {"none": "", "delayed": "on", "delayed(500 ms)": "on", "fsync-per-commit": "off"}
"""By class a value of synchronous_commit with which a session would have another; none without fsync."""


@pytest.mark.parametrize("asked", _OTHER)
def test_the_running_server_proves_the_class_it_was_asked_for(asked: str, deployment: Deployment) -> None:
    declared = Durability.parse(asked)
    stack = stack_class("postgres")(StackContext(deployment, declared))
    # Among its variables is a PGOPTIONS that switches synchronous_commit on, for a session that reads it.
    with hostile_shell():
        stack.start()
        try:
            proven = stack.durability()
            assert proven is not None
            assert proven.satisfies(declared)
            assert proven.kind == declared.kind
            with deployment.declaring({"PGOPTIONS": "-c jit=on"}):
                assert stack.settings()["jit"] == "on"
                assert stack.durability() == proven
            with (
                deployment.declaring({"PGOPTIONS": f"-c synchronous_commit={_OTHER[asked] or 'off'}"}),
                pytest.raises(StackError, match=r"sessions that read the environment .* leave out of it")
                if _OTHER[asked]
                else contextlib.nullcontext(),
            ):
                stack.durability()
        finally:
            stack.stop()


def test_a_server_that_never_answers_is_said_after_a_bound_and_can_be_started_again(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = stack_class("postgres")(StackContext(deployment, Durability("none")))
    stack.start()
    monkeypatch.setattr("gapbook_stack_postgres.sessions._ANSWER_WITHIN_S", 0.5)
    monkeypatch.setattr("gapbook_stack_postgres.sessions._LOG_IN_WITHIN_S", 2)
    server = process_of(stack).pid
    for pid in (server, *warden.descendants([server])):
        os.kill(pid, signal.SIGSTOP)
    with pytest.raises(StackError, match=r"postgres: read the log position: no answer within 0\.5 s"):
        stack.log_bytes()
    with pytest.raises(StackError, match="postgres: read settings back: connection timeout expired"):
        stack.settings()
    with pytest.raises(StackError, match="postgres: read the version: the connection is closed"):
        stack.server()
    monkeypatch.undo()
    stack.stop()
    stack.start()
    seed_bank(stack, 3, 100)
    assert balances_of(stack).tolist() == [100] * 3
    stack.stop()


def test_a_server_that_is_killed_leaves_no_shared_memory_and_starts_again(deployment: Deployment) -> None:
    stack = stack_class("postgres")(StackContext(deployment, Durability("fsync-per-commit")))
    stack.start()
    server = process_of(stack).pid
    files = {file for pid in (server, *warden.descendants([server])) for file in shared_files(pid)}
    assert files
    stack.kill()
    assert not [file for file in files if file.exists()]
    stack.recover()
    seed_bank(stack, 3, 100)
    assert balances_of(stack).tolist() == [100] * 3
    stack.stop()


_SHARES = """\
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
assert libc.shmget(ctypes.c_int32(os.stat(sys.argv[1]).st_ino), 56, 0o1600) >= 0  # IPC_CREAT, as Postgres does
open(sys.argv[2], "w").close()
time.sleep(60)
"""


def test_a_command_that_is_interrupted_leaves_no_shared_memory(
    deployment: Deployment, tmp_path: Path
) -> None:
    """As where Ctrl-C meets initdb: its folder is what tells whose the memory is, and is removed after it."""
    data, shared = deployment.directory / "server", tmp_path / "shared"
    data.mkdir()

    def interrupt() -> None:
        assert eventually(shared.exists)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    striker = threading.Thread(target=interrupt)
    striker.start()
    with pytest.raises(KeyboardInterrupt):
        deployment.run([sys.executable, "-c", _SHARES, data, shared], name="shares")
    striker.join()
    assert ctypes.c_int32(data.stat().st_ino).value not in unused_shared_memory()
