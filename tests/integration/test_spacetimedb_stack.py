"""The SpacetimeDB stack over a real server."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.process import free_port
from gapbook.deploy.server import ServerChoice, sha256_of
from gapbook.deploy.stack import Stack, StackContext, stack_class
from gapbook.errors import ParameterError, SetupError, StackError
from gapbook.record.durability import Durability
from tests.bank import balances_of, seed_bank
from tests.newer import newer_version
from tests.processes import process_of

_ACCOUNTS = 100
_INITIAL = 1_000
_DELAYED = Durability("delayed", 500.0)
_UNBOUNDED = Durability("delayed")
_FSYNC = Durability("fsync-per-commit")
_OWN, _NEWER = "1.2.0", newer_version("spacetimedb") or ""
# What each version promises of an answer that does not wait for the disk.
_PROMISE = {_OWN: _DELAYED, _NEWER: _UNBOUNDED}


@pytest.fixture(name="deployment", scope="module")
def _deployment() -> Iterator[Deployment]:
    with Deployment() as deployment:
        yield deployment


@pytest.fixture(name="kind", scope="module", params=[(_OWN, None), (_NEWER, None), (_NEWER, "hash")], ids=str)
def _kind(request: pytest.FixtureRequest) -> tuple[str, str | None]:
    """A version of the server and the program in it; one that is not on this machine is skipped, and says why."""
    version, program = request.param
    return _here(version), program


def _here(version: str) -> str:
    if version != _OWN:
        try:
            stack_class("spacetimedb").located(ServerChoice(version=version))
        except SetupError as error:
            pytest.skip(str(error))
    return version


@pytest.fixture(name="version", scope="module")
def _version(kind: tuple[str, str | None]) -> str:
    return kind[0]


@pytest.fixture(name="shared", scope="module")
def _shared(deployment: Deployment, kind: tuple[str, str | None]) -> Iterator[Stack]:
    version, program = kind
    stack = _stack(deployment, _PROMISE[version], ServerChoice(version=version), program)
    stack.start()
    seed_bank(stack, _ACCOUNTS, _INITIAL)
    yield stack
    stack.stop()


@pytest.fixture(name="bank")
def _bank(shared: Stack) -> Stack:
    seed_bank(shared, _ACCOUNTS, _INITIAL)
    return shared


def _stack(
    deployment: Deployment,
    durability: Durability = _DELAYED,
    choice: ServerChoice | None = None,
    program: str | None = None,
) -> Stack:
    context = StackContext(deployment, durability, choice or ServerChoice(), program=program)
    return stack_class("spacetimedb")(context)


def _transfer(stack: Stack, source: int, destination: int, amount: int) -> str | None:
    """Call the reducer; None when it committed, else what it said."""
    address = stack.endpoint()
    answer = httpx.post(
        f"http://{address['host']}:{address['port']}/v1/database/{address['database']}/call/transfer",
        json=[source, destination, amount],
        headers={"Authorization": f"Bearer {address['token']}"},
        trust_env=False,
    )
    return None if answer.status_code == 200 else answer.text


def _settled_log_bytes(stack: Stack) -> int:
    """The log's size once it has not grown for three times its timer; the log follows the acknowledgement."""
    size, since = stack.log_bytes(), time.monotonic()
    while time.monotonic() - since < 1.5:
        time.sleep(0.05)
        if stack.log_bytes() != size:
            size, since = stack.log_bytes(), time.monotonic()
    assert size is not None
    return size


def _listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


# --- seeding ----------------------------------------------------------------------------------
def test_seeding_again_forgets_what_was_moved(bank: Stack) -> None:
    assert _transfer(bank, 3, 7, 250) is None
    seed_bank(bank, _ACCOUNTS + 20, 5)
    assert np.array_equal(balances_of(bank), np.full(_ACCOUNTS + 20, 5))


def test_seed_reducer_replaces_what_is_stored(bank: Stack) -> None:
    address = bank.endpoint()
    for _ in range(2):
        answer = httpx.post(
            f"http://{address['host']}:{address['port']}/v1/database/{address['database']}/call/seed",
            json=[10, 42],
            headers={"Authorization": f"Bearer {address['token']}"},
            trust_env=False,
        )
        assert answer.status_code == 200
    assert np.array_equal(balances_of(bank), np.full(10, 42))


# --- what the stack reads back ----------------------------------------------------------------
def test_only_committed_operations_are_counted(bank: Stack) -> None:
    before = bank.committed_operations() or 0
    for amount in (1, 2, 3):
        assert _transfer(bank, 3, 7, amount) is None
    assert _transfer(bank, 3, 7, 10 * _INITIAL) == "insufficient"
    assert bank.committed_operations() == before + 3


def test_log_grows_with_each_commit(shared: Stack) -> None:
    before = _settled_log_bytes(shared)
    assert _transfer(shared, 3, 7, 1) is None
    assert _settled_log_bytes(shared) > before > 0


def test_settings_read_back_are_those_declared(shared: Stack, version: str) -> None:
    settings, declared = shared.settings(), shared.declared_settings()
    assert {name: settings[name] for name in declared} == declared
    assert settings["version"] == version
    assert settings["storage"] == "disk"
    assert settings["commit_log_timer"].startswith("not readable")


def test_server_is_the_program_that_runs(shared: Stack, version: str) -> None:
    server = shared.server()
    assert server.version == version
    assert server.sha256 == sha256_of(Path(f"/proc/{process_of(shared).pid}/exe"))
    assert server == type(shared).located(ServerChoice(version=version))


# --- durability -------------------------------------------------------------------------------
def test_durability_is_that_of_the_commit_log(shared: Stack, version: str) -> None:
    assert shared.durability() == _PROMISE[version]
    assert shared.endpoint().get("confirmed") is (None if version == _OWN else False)


def test_confirmed_answers_wait_for_the_disk(deployment: Deployment) -> None:
    stack = _stack(deployment, _FSYNC, ServerChoice(version=_here(_NEWER)))
    stack.start()
    try:
        seed_bank(stack, 10, 100)
        assert stack.durability() == _FSYNC
        assert stack.endpoint()["confirmed"] is True
    finally:
        stack.stop()


def test_in_memory_server_is_seen_as_not_durable(deployment: Deployment, version: str) -> None:
    stack = _stack(deployment, Durability("none"), ServerChoice(version=version))
    stack.start()
    try:
        seed_bank(stack, 10, 1)
        assert stack.durability() == Durability("none")
        assert stack.settings()["storage"] == "memory"
        assert stack.log_bytes() == 0
    finally:
        stack.stop()


@pytest.mark.parametrize("asked", [Durability("fsync-per-commit"), Durability("delayed", 100.0)])
def test_class_that_cannot_be_kept_is_refused(deployment: Deployment, asked: Durability) -> None:
    with pytest.raises(StackError, match=r"1\.2\.0 .* allowed: none, delayed, delayed\(500 ms\) or more$"):
        _stack(deployment, asked).start()


# --- life -------------------------------------------------------------------------------------
def test_stop_leaves_no_process_port_or_directory() -> None:
    with Deployment() as deployment:
        stack = _stack(deployment)
        stack.start()
        stack.start()
        port, pid = stack.endpoint()["port"], process_of(stack).pid
        assert _listening(port)
        assert list(deployment.directory.glob("spacetimedb-*/data"))
        stack.stop()
        assert not _listening(port)
        assert not Path(f"/proc/{pid}").exists()
        assert not list(deployment.directory.glob("spacetimedb-*/"))
        assert stack.processes() == []
        stack.stop()


def test_killed_server_comes_back_with_what_was_on_disk(bank: Stack) -> None:
    assert _transfer(bank, 3, 7, 250) is None
    _settled_log_bytes(bank)
    bank.kill()
    bank.recover()
    expected = np.full(_ACCOUNTS, _INITIAL)
    expected[3], expected[7] = 750, 1_250
    assert np.array_equal(balances_of(bank), expected)
    assert _transfer(bank, 7, 3, 250) is None
    assert balances_of(bank).tolist() == [_INITIAL] * _ACCOUNTS


def test_server_that_died_is_reported_and_the_next_seeding_recovers(bank: Stack) -> None:
    victim = process_of(bank)
    os.kill(victim.pid, signal.SIGKILL)
    victim.popen.wait()
    with pytest.raises(StackError, match=r"ended with code -9: it was killed$"):
        bank.log_bytes()
    with pytest.raises(StackError, match="read accounts"):
        balances_of(bank)
    seed_bank(bank, _ACCOUNTS, _INITIAL)
    assert balances_of(bank).sum() == _ACCOUNTS * _INITIAL


def test_port_that_the_reader_named_is_kept(deployment: Deployment) -> None:
    port = free_port()
    stack = _stack(deployment, choice=ServerChoice(port=port))
    stack.start()
    try:
        seed_bank(stack, 10, 1)
        assert stack.endpoint()["port"] == port
    finally:
        stack.stop()


def test_taken_port_is_refused_and_nothing_is_left_behind(shared: Stack, deployment: Deployment) -> None:
    before = set(deployment.directory.iterdir())
    stack = _stack(deployment, choice=ServerChoice(port=shared.endpoint()["port"]))
    for _ in range(2):
        with pytest.raises(StackError, match="name another port"):
            stack.start()
        assert set(deployment.directory.iterdir()) == before


def test_missing_server_names_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, deployment: Deployment
) -> None:
    monkeypatch.setenv("GAPBOOK_CACHE", str(tmp_path))
    with pytest.raises(SetupError, match="spacetimedb-standalone is missing; run: gapbook setup") as caught:
        _stack(deployment).start()
    assert "\n" not in str(caught.value)


def test_program_that_is_no_server_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "server"
    program.write_text("#!/bin/sh\necho something else\n", encoding="utf-8")
    program.chmod(0o755)
    with pytest.raises(SetupError, match="names no version"):
        stack_class("spacetimedb").locate(ServerChoice(binary=program))


# --- a server that the reader named -----------------------------------------------------------
def test_named_endpoint_is_used_read_back_and_left_as_it_was(
    bank: Stack, deployment: Deployment, version: str, request: pytest.FixtureRequest
) -> None:
    address = bank.endpoint()
    choice = ServerChoice(endpoint=f"http://127.0.0.1:{address['port']}")
    guest = _stack(deployment, _PROMISE[version], choice)
    assert type(guest).locate(choice) == bank.server()
    guest.start()
    request.addfinalizer(guest.stop)
    database = guest.endpoint()["database"]
    seed_bank(guest, 10, 100)
    assert _transfer(guest, 0, 1, 5) is None
    assert balances_of(guest)[:2].tolist() == [95, 105]
    assert guest.committed_operations() == 1
    assert bank.committed_operations() == 0
    assert guest.processes() == []
    assert guest.declared_settings() == {}
    assert guest.settings()["version"] == version
    assert guest.durability() == _PROMISE[version]
    seed_bank(guest, 10, 100)
    assert balances_of(guest).tolist() == [100] * 10
    guest.stop()
    url = f"http://127.0.0.1:{address['port']}/v1/database/{database}"
    assert httpx.get(url, trust_env=False).status_code == 404
    assert balances_of(bank).sum() == _ACCOUNTS * _INITIAL


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://database.example:3000", "database.example is not this machine"),
        ("https://127.0.0.1:3000", "https:// is not how load clients call"),
        (f"http://127.0.0.1:{free_port()}", "no SpacetimeDB process"),
    ],
    ids=["another machine", "another protocol", "nobody there"],
)
def test_endpoint_that_cannot_be_audited_is_refused(deployment: Deployment, url: str, says: str) -> None:
    with pytest.raises((ParameterError, StackError), match=says):
        _stack(deployment, choice=ServerChoice(endpoint=url)).start()


@pytest.mark.parametrize(
    ("number", "max_ms", "seen"),
    [
        ("1.2.0", 500, True),
        ("1.12.0", 500, False),
        ("2.0.1", 500, True),
        ("2.0.2", 10, True),
        ("2.0.3", 10, False),
        ("2.0.4", None, True),
        ("2.8.3", None, True),
        ("2.10.1", None, False),
        ("2.11.0", None, False),
    ],
)
def test_timer_of_the_commit_log_is_that_of_the_version(number: str, max_ms: int | None, seen: bool) -> None:
    spacetimedb: Any = stack_class("spacetimedb")
    timer = spacetimedb.commit_log_timer(number)
    assert timer.max_ms == max_ms
    assert timer.verified is seen
    assert ("not known" in timer.says) is (number == "2.11.0")


def test_version_of_unknown_durability_is_refused() -> None:
    spacetimedb: Any = stack_class("spacetimedb")
    with pytest.raises(StackError, match="not known"):
        spacetimedb.commit_log_timer("1.1.9")
