"""The bank on Postgres: the same cases for the SQL function and for both operations of the RPC server."""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import numpy as np
import psycopg
import pytest

from gapbook.deployment import Deployment
from gapbook.modules import RunningTier, load_module_facts
from gapbook.stacks import Stack
from gapbook.toolchain import node_path

_ACCOUNTS = 100
_INITIAL = 1_000
_CONNECTIONS = 50
_MODULE = load_module_facts("postgres")

Caller = Callable[[int, int, int], str]
"""Moves an amount from source to destination and says ``ok``, ``insufficient`` or the error's text."""
Open = Callable[[], contextlib.AbstractContextManager[Caller]]


@pytest.fixture(name="bank")
def _bank(postgres_stack: Stack) -> Stack:
    postgres_stack.seed(_ACCOUNTS, _INITIAL)
    return postgres_stack


@pytest.fixture(name="opener", scope="module", params=["sql", "procedure", "drizzle"])
def _opener(request: pytest.FixtureRequest, deployment: Deployment, postgres_stack: Stack) -> Iterator[Open]:
    """Opens one more connection of a client."""
    if request.param == "sql":
        yield lambda: _sql_caller(postgres_stack)
        return
    tier = _start_tier(deployment, request.param, postgres_stack.endpoint(), pool_size=_CONNECTIONS)
    yield lambda: _rpc_caller(tier)
    deployment.stop(tier.process)


@pytest.fixture(name="transfer")
def _transfer(opener: Open) -> Iterator[Caller]:
    with opener() as caller:
        yield caller


def _start_tier(
    deployment: Deployment, access: str, endpoint: dict[str, Any], *, pool_size: int
) -> RunningTier:
    tier = _MODULE.start_tier(deployment, tier="rpc", access=access, endpoint=endpoint, pool_size=pool_size)
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
def _sql_caller(stack: Stack) -> Iterator[Caller]:
    with _connect(stack) as connection:

        def transfer(source: int, destination: int, amount: int) -> str:
            try:
                row = connection.execute(
                    "SELECT transfer(%s::int4, %s::int4, %s::int4)", (source, destination, amount)
                ).fetchone()
            except psycopg.Error as error:
                return str(error.diag.message_primary)
            status = row[0] if row else None
            return "ok" if status == 1 else "insufficient" if status == 0 else f"unexpected {status}"

        yield transfer


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


# --- the contract, the same for every access level --------------------------------------------
@pytest.mark.parametrize(("source", "destination"), [(3, 7), (7, 3)])
def test_transfer_moves_the_amount_and_nothing_else(
    bank: Stack, transfer: Caller, source: int, destination: int
) -> None:
    assert transfer(source, destination, 250) == "ok"
    assert np.array_equal(bank.balances(), _balances_except({source: 750, destination: 1_250}))


@pytest.mark.parametrize(("source", "destination"), [(3, 7), (7, 3)])
def test_whole_balance_can_be_moved_but_not_one_more(
    bank: Stack, transfer: Caller, source: int, destination: int
) -> None:
    assert transfer(source, destination, _INITIAL + 1) == "insufficient"
    assert np.array_equal(bank.balances(), _balances_except({}))
    assert transfer(source, destination, _INITIAL) == "ok"
    assert np.array_equal(bank.balances(), _balances_except({source: 0, destination: 2 * _INITIAL}))


@pytest.mark.parametrize("amount", [1, _INITIAL + 1])
@pytest.mark.parametrize(
    ("source", "destination"), [(3, _ACCOUNTS), (_ACCOUNTS, 3)], ids=["destination", "source"]
)
def test_missing_account_is_named_and_nothing_moves(
    bank: Stack, transfer: Caller, source: int, destination: int, amount: int
) -> None:
    assert transfer(source, destination, amount) == f"account {_ACCOUNTS} does not exist"
    assert np.array_equal(bank.balances(), _balances_except({}))


def test_one_account_twice_is_refused(bank: Stack, transfer: Caller) -> None:
    assert "must be two accounts, not 3 and 3" in transfer(3, 3, 1)
    assert np.array_equal(bank.balances(), _balances_except({}))


@pytest.mark.parametrize("amount", [0, -1])
def test_amount_below_one_is_refused(bank: Stack, transfer: Caller, amount: int) -> None:
    assert transfer(3, 7, amount).startswith("amount")
    assert np.array_equal(bank.balances(), _balances_except({}))


def test_crossing_transfers_neither_deadlock_nor_lose_money(bank: Stack, opener: Open) -> None:
    deadline = time.monotonic() + 2.0

    def cross(connection: int) -> list[str]:
        answers: list[str] = []
        with opener() as caller:
            for turn in itertools.count(connection):
                if time.monotonic() >= deadline:
                    return answers
                answers.append(caller(turn % 2, 1 - turn % 2, 400))
        return answers

    with ThreadPoolExecutor(_CONNECTIONS) as threads:
        answers = list(itertools.chain(*threads.map(cross, range(_CONNECTIONS))))
    assert set(answers) <= {"ok", "insufficient"}
    assert answers.count("ok") > _CONNECTIONS
    balances = bank.balances()
    assert balances.sum() == _ACCOUNTS * _INITIAL
    assert balances.min() >= 0
    assert np.array_equal(balances[2:], np.full(_ACCOUNTS - 2, _INITIAL))


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
        bank.seed(_ACCOUNTS, 5)
        assert pages() == fresh
        listed = connection.execute((_MODULE.folder / "verify.sql").read_bytes()).fetchall()
    assert listed == [(account, 5) for account in range(_ACCOUNTS)]


def test_updates_stay_on_their_page(bank: Stack) -> None:
    bank.seed(1_000, _INITIAL)
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
        (" " * 4096, "longer than a transfer"),
    ],
)
def test_bad_input_is_answered_with_its_reason(bank: Stack, tier: RunningTier, body: str, words: str) -> None:
    reply = httpx.post(f"{_url(tier)}/transfer", content=body, trust_env=False)
    assert reply.status_code == 400
    assert words in reply.json()["error"]
    assert np.array_equal(bank.balances(), _balances_except({}))


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
        ({"access": "prisma"}, 2, 'access: "prisma" is unknown; allowed: drizzle, procedure'),
        ({"pool_size": 0}, 2, "pool_size: must be an integer from 1"),
        ({"pool": 5}, 2, 'unknown key "pool"'),
        ({}, 3, "postgres: 2 connections to 127.0.0.1:1 cannot be opened"),
    ],
)
def test_configuration_that_cannot_work_ends_the_server(
    changed: dict[str, Any], code: int, words: str
) -> None:
    configuration = {
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


@pytest.mark.parametrize("access", ["drizzle", "procedure"])
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
    assert counted == 10 * _MODULE.facts["access"][access]["round_trips"]
