"""The bank on Postgres: batches, isolation levels, and the RPC server with its retries and round trips."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import httpx
import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.module import RunningTier, load_module
from gapbook.deploy.stack import Stack
from gapbook.deploy.toolchain import node_path
from tests.bank import balances_of, seed_bank

_ACCOUNTS = 100
_INITIAL = 1_000
_MODULE = load_module("postgres", "transfer")

Caller = Callable[[int, int, int], str]
"""Moves an amount from source to destination and says ``ok``, ``insufficient`` or the error's text."""


@pytest.fixture(name="bank")
def _bank(postgres_stack: Stack) -> Stack:
    seed_bank(postgres_stack, _ACCOUNTS, _INITIAL)
    return postgres_stack


_RPC_ACCESS = _MODULE.tiers["rpc"].access or ()
_CALLS = {
    "transfer": "SELECT transfer(%s::int4, %s::int4, %s::int4)",
    "transfer_descending": "SELECT transfer_descending(%s::int4, %s::int4, %s::int4)",
    "transfer_batch": "SELECT (transfer_batch(ARRAY[%s::int4], ARRAY[%s::int4], ARRAY[%s::int4]))[1]",
}


def _start_tier(
    deployment: Deployment, access: str, endpoint: Endpoint, *, pool_size: int, max_retries: int = 0
) -> RunningTier:
    tier = _MODULE.start_tier(
        deployment,
        tier="rpc",
        access=access,
        endpoint=endpoint,
        pool_size=pool_size,
        max_retries=max_retries,
    )
    assert tier is not None
    return tier


def _connect(stack: Stack) -> psycopg.Connection[Any]:
    address = stack.endpoint()
    return psycopg.connect(
        host=address["host"],
        port=address["port"],
        user=address["user"],
        password=address["password"],
        dbname=address["database"],
        autocommit=True,
    )


@contextlib.contextmanager
def _rpc_caller(tier: RunningTier) -> Iterator[Caller]:
    with httpx.Client(base_url=_url(tier), trust_env=False, timeout=20.0) as client:

        def transfer(source: int, destination: int, amount: int) -> str:
            reply = client.post("/transfer", json={"from": source, "to": destination, "amount": amount})
            answer = reply.json()
            assert (reply.status_code == 200) == (answer["ok"] or answer["error"] == "insufficient")
            return "ok" if answer["ok"] else str(answer["error"])

        yield transfer


def _url(tier: RunningTier) -> str:
    return f"http://{tier.endpoint['host']}:{tier.endpoint['port']}"


def _balances_except(changed: dict[int, int]) -> np.ndarray[Any, np.dtype[np.int64]]:
    expected = np.full(_ACCOUNTS, _INITIAL, dtype=np.int64)
    for account, balance in changed.items():
        expected[account] = balance
    return expected


# --- batches: first, because their commits are counted, which waits for every other client to leave
def _batch(connection: psycopg.Connection[Any], transfers: Sequence[tuple[int, int, int]]) -> list[int]:
    columns = [list(column) for column in zip(*transfers, strict=True)]
    row = connection.execute("SELECT transfer_batch(%s::int4[], %s::int4[], %s::int4[])", columns).fetchone()
    assert row is not None
    return list(row[0])


def _draw(random: Random, accounts: int, amount_max: int) -> list[tuple[int, int, int]]:
    """64 transfers between the first accounts."""
    pairs = [random.sample(range(accounts), 2) for _ in range(64)]
    return [(source, destination, random.randint(1, amount_max)) for source, destination in pairs]


def _one_by_one(balances: list[int], transfers: Sequence[tuple[int, int, int]]) -> list[int]:
    """The statuses of transfers applied in order to the balances, which it changes."""
    statuses = []
    for source, destination, amount in transfers:
        enough = balances[source] >= amount
        if enough:
            balances[source] -= amount
            balances[destination] += amount
        statuses.append(int(enough))
    return statuses


@pytest.mark.parametrize("amount_max", [10, _INITIAL], ids=["ample funds", "scarce funds"])
def test_batch_is_its_transfers_one_after_another(bank: Stack, amount_max: int) -> None:
    random = Random(7)
    expected_balances, expected_statuses, statuses = [_INITIAL] * _ACCOUNTS, [], []
    with _connect(bank) as connection:
        for _ in range(40):
            transfers = _draw(random, 9, amount_max)
            statuses += _batch(connection, transfers)
            expected_statuses += _one_by_one(expected_balances, transfers)
    assert statuses == expected_statuses
    assert (0 in statuses) == (amount_max == _INITIAL)
    assert balances_of(bank).tolist() == expected_balances
    assert bank.committed_operations() == statuses.count(1)


def test_money_received_in_a_batch_can_be_spent_in_it_but_not_before(bank: Stack) -> None:
    with _connect(bank) as connection:
        spent_early = [(3, 4, _INITIAL + 1), (5, 3, 1), (3, 4, _INITIAL + 1)]
        assert _batch(connection, spent_early) == [0, 1, 1]
    assert np.array_equal(balances_of(bank), _balances_except({3: 0, 4: 2 * _INITIAL + 1, 5: _INITIAL - 1}))


@pytest.mark.parametrize(
    "batch",
    [
        "ARRAY[1, 2], ARRAY[3, 2], ARRAY[5, 5]",
        "ARRAY[1, 2], ARRAY[3, 4], ARRAY[5, 0]",
        "ARRAY[1, 2], ARRAY[3, NULL], ARRAY[5, 5]",
        "ARRAY[1, 2], ARRAY[3, 100], ARRAY[5, 5]",
        "ARRAY[1, 2], ARRAY[3], ARRAY[5, 5]",
        "ARRAY[1, 2], NULL, ARRAY[5, 5]",
    ],
)
def test_one_wrong_transfer_undoes_its_batch(bank: Stack, batch: str) -> None:
    with _connect(bank) as connection, pytest.raises((psycopg.DataError, psycopg.errors.NoDataFound)):
        connection.execute(f"SELECT transfer_batch({batch})".encode())
    assert np.array_equal(balances_of(bank), _balances_except({}))


def test_crossing_batches_and_single_transfers_neither_deadlock_nor_lose_money(bank: Stack) -> None:
    deadline = time.monotonic() + 2.0

    def cross(connection: int) -> int:
        random, committed = Random(connection), 0
        with _connect(bank) as session:
            while time.monotonic() < deadline:
                transfers = _draw(random, 20, 300)
                if connection % 4:
                    committed += _batch(session, transfers).count(1)
                else:
                    row = session.execute(_CALLS["transfer"].encode(), transfers[0]).fetchone()
                    committed += row[0] if row else 0
        return committed

    with ThreadPoolExecutor(12) as threads:
        committed = sum(threads.map(cross, range(12)))
    balances = balances_of(bank)
    assert balances.sum() == _ACCOUNTS * _INITIAL
    assert balances.min() >= 0
    assert committed > 12 * 64


def test_updates_of_batches_and_of_single_transfers_are_told_apart(bank: Stack) -> None:
    with _connect(bank) as connection:
        assert _batch(connection, [(1, 2, 5)] * 64) == [1] * 64
        assert _batch(connection, [(1, 2, 5), (2, 3, 5)]) == [1, 1]
        connection.execute("SELECT transfer(1, 2, 5), transfer_descending(1, 2, 5)")
    assert bank.committed_operations() == 64 + 2 + 2


def test_updates_that_were_rolled_back_leave_no_count(bank: Stack) -> None:
    assert bank.committed_operations() == 0
    with _connect(bank) as connection:
        connection.execute("BEGIN; SELECT transfer(1, 2, 5); ROLLBACK")
    assert bank.committed_operations() is None
    seed_bank(bank, _ACCOUNTS, _INITIAL)
    assert bank.committed_operations() == 0


# --- isolation levels -------------------------------------------------------------------------
_STRICTER = ["repeatable read", "serializable"]


@pytest.mark.parametrize("level", _STRICTER)
@pytest.mark.parametrize("function", list(_CALLS))
def test_transfer_that_met_another_is_refused_as_a_whole(bank: Stack, function: str, level: str) -> None:
    with _connect(bank) as other, _connect(bank) as connection, ThreadPoolExecutor(1) as threads:
        connection.execute(f"SET default_transaction_isolation = '{level}'".encode())
        with other.transaction():
            other.execute("UPDATE accounts SET balance = balance - 1 WHERE id = 7")
            refused = threads.submit(connection.execute, _CALLS[function].encode(), (3, 7, 250))
            _wait_until_blocked(other, connection)
        with pytest.raises(psycopg.errors.SerializationFailure):
            refused.result(10)
        assert np.array_equal(balances_of(bank), _balances_except({7: 999}))
        again = connection.execute(_CALLS[function].encode(), (3, 7, 250)).fetchone()
    assert again == (1,)
    assert np.array_equal(balances_of(bank), _balances_except({3: 750, 7: 1_249}))


@pytest.mark.parametrize("level", _STRICTER)
@pytest.mark.parametrize("function", list(_CALLS))
def test_retried_transfers_are_made_once(bank: Stack, function: str, level: str) -> None:
    deadline = time.monotonic() + 1.0

    def load(number: int) -> NDArray[np.int64]:
        random, moved = Random(number), np.zeros(_ACCOUNTS, np.int64)
        with _connect(bank) as connection:
            connection.execute(f"SET default_transaction_isolation = '{level}'".encode())
            while time.monotonic() < deadline:
                source, destination = random.sample(range(4), 2)
                try:
                    row = connection.execute(_CALLS[function].encode(), (source, destination, 300)).fetchone()
                except psycopg.errors.SerializationFailure:
                    continue
                if row == (1,):
                    moved[source] -= 300
                    moved[destination] += 300
        return moved

    with ThreadPoolExecutor(8) as threads:
        moved = sum(threads.map(load, range(8)))
    balances = balances_of(bank)
    assert np.array_equal(balances, _INITIAL + moved)
    assert balances.min() >= 0


def _wait_until_blocked(observer: psycopg.Connection[Any], waiting: psycopg.Connection[Any]) -> None:
    _wait_for(observer, f"SELECT cardinality(pg_blocking_pids({waiting.info.backend_pid})) > 0")


def _wait_for(observer: psycopg.Connection[Any], question: str) -> None:
    deadline = time.monotonic() + 10.0
    while observer.execute(question.encode()).fetchone() != (True,):
        assert time.monotonic() < deadline, question
        time.sleep(0.005)


@pytest.fixture(name="repeatable_read")
def _repeatable_read(postgres_stack: Stack) -> Iterator[None]:
    with _connect(postgres_stack) as connection:
        connection.execute("ALTER ROLE CURRENT_USER SET default_transaction_isolation = 'repeatable read'")
        yield
        connection.execute("ALTER ROLE CURRENT_USER SET default_transaction_isolation = 'read committed'")


@pytest.mark.usefixtures("repeatable_read")
@pytest.mark.parametrize("max_retries", [0, 2])
@pytest.mark.parametrize("access", _RPC_ACCESS)
def test_rpc_server_retries_as_often_as_it_may_and_says_so(
    deployment: Deployment, bank: Stack, access: str, max_retries: int
) -> None:
    tier = _start_tier(deployment, access, bank.endpoint(), pool_size=1, max_retries=max_retries)
    transfer = {"from": 3, "to": 7, "amount": 250}
    with _connect(bank) as other, ThreadPoolExecutor(1) as threads:
        with other.transaction():
            other.execute("SET LOCAL transaction_isolation = 'read committed'")
            other.execute("UPDATE accounts SET balance = balance - 1 WHERE id = 7")
            pending = threads.submit(httpx.post, f"{_url(tier)}/transfer", json=transfer, trust_env=False)
            blocked = "SELECT count(*) = 1 FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0"
            _wait_for(other, blocked)
        first = pending.result(10)
    again = httpx.post(f"{_url(tier)}/transfer", json=transfer, trust_env=False)
    deployment.stop(tier.process)
    assert again.json() == {"ok": True}
    if max_retries == 0:
        assert first.status_code == 500
        assert first.json() == {"ok": False, "error": "could not serialize access due to concurrent update"}
    else:
        assert (first.status_code, first.json()) == (200, {"ok": True, "retries": 1})
    moved = 250 * (1 if max_retries == 0 else 2)
    assert np.array_equal(balances_of(bank), _balances_except({3: _INITIAL - moved, 7: _INITIAL - 1 + moved}))


# --- SQL alone --------------------------------------------------------------------------------
def test_null_is_refused(bank: Stack) -> None:
    with _connect(bank) as connection:
        for arguments in ("NULL, 2, 1", "1, NULL, 1", "1, 2, NULL"):
            with pytest.raises(psycopg.errors.InvalidParameterValue):
                connection.execute(f"SELECT transfer({arguments})".encode())


def test_seed_leaves_nothing_of_the_trial_before(bank: Stack) -> None:
    with _connect(bank) as connection:

        def pages() -> int:
            row = connection.execute("SELECT pg_relation_size('accounts') / 8192").fetchone()
            return int(row[0]) if row else 0

        fresh = pages()
        with connection.transaction():
            for _ in range(20):
                connection.execute("UPDATE accounts SET balance = balance + 1")
        assert pages() > fresh
        seed_bank(bank, _ACCOUNTS, 5)
        assert pages() == fresh
    assert balances_of(bank).tolist() == [5] * _ACCOUNTS


def test_updates_stay_on_their_page(bank: Stack) -> None:
    seed_bank(bank, 1_000, _INITIAL)
    with _connect(bank) as connection:
        pages = "SELECT id, (ctid::text::point)[0] FROM accounts ORDER BY id"
        before = connection.execute(pages).fetchall()
        connection.execute("UPDATE accounts SET balance = balance + 1")
        assert connection.execute(pages).fetchall() == before


# --- the RPC server alone ---------------------------------------------------------------------
@pytest.fixture(name="tier", scope="module")
def _tier(deployment: Deployment, postgres_stack: Stack) -> Iterator[RunningTier]:
    tier = _start_tier(deployment, "procedure", postgres_stack.endpoint(), pool_size=2)
    yield tier
    deployment.stop(tier.process)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("[", "not JSON"),
        ('{"from":1,"to":2}', "amount: nothing is not an integer from 1"),
        ('{"from":1,"to":2,"amount":0.5}', "amount: 0.5"),
        ('{"from":-1,"to":2,"amount":1}', "from: -1"),
        ('{"from":1,"to":1,"amount":1}', "two accounts"),
        ('{"from":1,"to":2,"amount":1,"by":3}', "by: unknown key"),
        (" " * 10_000, "longer than a request"),
    ],
)
def test_bad_input_is_answered_with_its_reason(bank: Stack, tier: RunningTier, body: str, words: str) -> None:
    reply = httpx.post(f"{_url(tier)}/transfer", content=body, trust_env=False)
    assert reply.status_code == 400
    assert words in reply.json()["error"]
    assert np.array_equal(balances_of(bank), _balances_except({}))


def test_health_and_unknown_paths(tier: RunningTier) -> None:
    statuses = [
        httpx.get(f"{_url(tier)}{path}", trust_env=False).status_code
        for path in ("/health", "/transfer", "/nothing")
    ]
    assert statuses == [200, 405, 404]


def test_settings_are_those_of_a_pooled_connection(tier: RunningTier) -> None:
    assert tier.settings["pool_size"] == "2"
    assert tier.settings["transaction_isolation"] == "read committed"
    assert tier.settings["synchronous_commit"] == "off"
    assert {"node", "drizzle-orm", "pg"} <= tier.settings.keys()


def test_server_ends_when_its_input_closes(deployment: Deployment, postgres_stack: Stack) -> None:
    tier = _start_tier(deployment, "drizzle", postgres_stack.endpoint(), pool_size=2)
    tier.process.stdin.close()
    assert tier.process.popen.wait(10) == 0
    deployment.stop(tier.process)


@pytest.mark.parametrize(
    ("changed", "code", "words"),
    [
        ({"workload": "lottery"}, 2, "workload: lottery is not served here"),
        ({"access": "prisma"}, 2, 'access: "prisma" is unknown; allowed: drizzle, sql, procedure'),
        ({"pool_size": 0}, 2, "pool_size: must be an integer from 1"),
        ({"max_retries": 0.5}, 2, "max_retries: must be an integer from 0"),
        ({"pool": 5}, 2, 'unknown key "pool"'),
        ({}, 3, "postgres: 2 connections to 127.0.0.1:1 cannot be opened"),
    ],
)
def test_configuration_that_cannot_work_ends_the_server(
    changed: dict[str, Any], code: int, words: str
) -> None:
    configuration = {
        "workload": "transfer",
        "access": "drizzle",
        "listen": {"host": "127.0.0.1", "port": 0},
        "postgres": {"host": "127.0.0.1", "port": 1, "user": "u", "password": "p", "database": "d"},
        "pool_size": 2,
        **changed,
    }
    ended = subprocess.run(
        [node_path(), "rpc/server.ts"],
        input=json.dumps(configuration) + "\n",
        capture_output=True,
        text=True,
        cwd=_MODULE.folder,
        timeout=20,
        check=False,
        encoding="utf-8",
    )
    assert ended.returncode == code
    assert ended.stdout == ""
    assert words in ended.stderr
    assert ended.stderr.count("\n") == 1


# --- the declared round trips -----------------------------------------------------------------
class _CountingProxy:
    """Stands between server and Postgres and counts what the client waits for: each Sync or simple query."""

    def __init__(self, host: str, port: int) -> None:
        self.round_trips = 0
        self._target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
                threading.Thread(target=self._forward, args=(client, server, True), daemon=True).start()
                threading.Thread(target=self._forward, args=(server, client, False), daemon=True).start()

    def _forward(self, origin: socket.socket, target: socket.socket, counted: bool) -> None:
        pending, type_bytes = b"", 0
        with origin, target, contextlib.suppress(OSError):
            while data := origin.recv(65536):
                if counted:
                    pending += data
                    while len(pending) >= type_bytes + 4:
                        length = type_bytes + int.from_bytes(pending[type_bytes : type_bytes + 4])
                        if len(pending) < length:
                            break
                        self.round_trips += pending[:type_bytes] in {b"S", b"Q"}
                        # The first message of a connection, and only it, has no type byte.
                        pending, type_bytes = pending[length:], 1
                target.sendall(data)

    def close(self) -> None:
        self._listener.close()


@pytest.mark.parametrize("access", _RPC_ACCESS)
def test_access_level_needs_the_declared_round_trips(
    deployment: Deployment, bank: Stack, access: str
) -> None:
    address = bank.endpoint()
    proxy = _CountingProxy(address["host"], address["port"])
    tier = _start_tier(deployment, access, {**address, "host": "127.0.0.1", "port": proxy.port}, pool_size=1)
    with _rpc_caller(tier) as transfer:
        before = proxy.round_trips
        assert [transfer(3, 7, 1) for _ in range(10)] == ["ok"] * 10
        counted = proxy.round_trips - before
    deployment.stop(tier.process)
    proxy.close()
    assert counted == 10 * _MODULE.levels[access].round_trips
