"""Servers killed under load: what is gone is counted to the unit, and the next load finds them whole."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import pytest

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import Stack, StackContext, stack_class
from gapbook.errors import StackError
from gapbook.method.proportions import proportion_bound
from gapbook.record.durability import Durability
from gapbook.record.losses import KillCheck, verdict_of
from gapbook.trial.contestant import Contestant
from gapbook.trial.kill_check import kill_check, kill_servers, kills_left
from gapbook.trial.kill_outcome import killed_no_earlier_s, oldest_age_s
from tests.bank import balances_of, one_contestant, seed_bank

pytestmark = pytest.mark.usefixtures("load_outlasts_late_strikes")
_FSYNC = Durability("fsync-per-commit")
_DELAYED = Durability("delayed", 500.0)
_NONE = Durability("none")
_POSTGRES = Contestant("postgres-rust", "postgres", "procedure", "direct", "rust", 4)
_POSTGRES_RPC = Contestant("procedure-rpc", "postgres", "procedure", "rpc", "rust", 1)
_SPACETIMEDB = Contestant("spacetimedb-rust", "spacetimedb", "reducer", "direct", "rust", 4)
_SQLITE = Contestant("sqlite-rust", "sqlite", "sql", "in-process", "rust", 1)
_SQLITE_RPC = Contestant("sqlite-rpc", "sqlite", "sql", "rpc", "rust", 1)
_scenario = partial(one_contestant, accounts=20_000, seed=9)
_KEYS = {
    "contestant",
    "durability",
    "round",
    "acknowledged",
    "lost",
    "in_doubt_committed",
    "resolved",
    "load_s",
    "goodput_per_s",
    "lost_s",
    "oldest_lost_s",
    "recovered_in_s",
    "note",
    "unreadable",
    "verdict",
}


_LOAD_S = 0.3
"""Until the earliest kill: what a kill leaves does not hang on how long the load was."""


@pytest.fixture(autouse=True)
def _short_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    named = kill_check.__kwdefaults__
    assert named is not None
    assert "load_s" in named
    monkeypatch.setitem(named, "load_s", _LOAD_S)


@pytest.fixture(name="flushed", scope="module")
def _flushed(deployment: Deployment) -> Iterator[Stack]:
    """A Postgres that waits for its disk."""
    with _started("postgres", _FSYNC, deployment) as stack:
        yield stack


@contextmanager
def _started(system: str, durability: Durability, deployment: Deployment) -> Iterator[Stack]:
    stack = stack_class(system)(StackContext(deployment, durability))
    stack.start()
    try:
        yield stack
    finally:
        stack.stop()


def _check(
    contestant: Contestant, stack: Stack, deployment: Deployment, rounds: int = 1
) -> list[dict[str, Any]]:
    scenario = _scenario(contestant, stack.context.durability)
    checks = list(kill_check(contestant, scenario, stack, deployment, rounds=range(rounds)))
    rows: list[dict[str, Any]] = msgspec.to_builtins(checks)
    assert msgspec.convert(json.loads(json.dumps(rows)), list[KillCheck]) == checks
    assert all(row.keys() == _KEYS for row in rows)
    assert [row["round"] for row in rows] == list(range(rounds))
    return rows


@pytest.mark.parametrize("contestant", [_POSTGRES, _POSTGRES_RPC])
def test_fsync_per_commit_loses_nothing(
    contestant: Contestant, flushed: Stack, deployment: Deployment
) -> None:
    (row,) = _check(contestant, flushed, deployment)
    assert (row["lost"], row["lost_s"], row["verdict"]) == (0, 0.0, "kept"), row
    assert row["acknowledged"] > 0
    assert row["durability"] == "fsync-per-commit"
    assert row["recovered_in_s"] > 0


@pytest.mark.parametrize("contestant", [_POSTGRES, _SPACETIMEDB])
def test_delayed_commits_are_counted_to_the_unit(contestant: Contestant, deployment: Deployment) -> None:
    with _started(contestant.system, _DELAYED, deployment) as stack:
        rows = _check(contestant, stack, deployment, rounds=5)
    for row in rows:
        assert row["resolved"], row
        assert 0 <= row["lost"] < row["acknowledged"]
        assert row["in_doubt_committed"] <= 8 * contestant.in_flight
        assert (row["lost"] == 0) == (row["oldest_lost_s"] == 0)
    # Some commits wait for the log when they are acknowledged before it, though not at every moment.
    assert any(row["lost"] for row in rows), rows
    assert len({row["load_s"] for row in rows}) == 5


def test_false_promise_is_refuted(deployment: Deployment) -> None:
    with _started("postgres", _NONE, deployment) as stack:
        stack.context.durability = _FSYNC
        rows = _check(_POSTGRES, stack, deployment, rounds=2)
    assert "lost more than its class allows" in [row["verdict"] for row in rows], rows


def test_server_without_a_log_loses_everything(deployment: Deployment) -> None:
    with _started("spacetimedb", _NONE, deployment) as stack:
        (row,) = _check(_SPACETIMEDB, stack, deployment)
    assert row["lost"] == row["acknowledged"] > 0, row
    assert row["verdict"] == f"lost {row['lost']:,} (within its class)"


@pytest.mark.parametrize("contestant", [_SQLITE, _SQLITE_RPC])
def test_engine_without_a_server_dies_with_what_runs_it(
    contestant: Contestant, deployment: Deployment
) -> None:
    with _started("sqlite", _FSYNC, deployment) as stack:
        (row,) = _check(contestant, stack, deployment)
    assert (row["resolved"], row["lost"], row["verdict"]) == (True, 0, "kept"), row
    assert row["acknowledged"] > 0
    assert row["recovered_in_s"] is None
    assert (row["note"] is not None) == (contestant.tier == "in-process")


def test_killed_server_recovers_at_the_same_address(deployment: Deployment) -> None:
    for system, durability in (("postgres", _FSYNC), ("spacetimedb", _DELAYED)):
        with _started(system, durability, deployment) as stack:
            seed_bank(stack, 100, 7)
            # Longer than any timer that the log waits for.
            time.sleep(1.0)
            address, before = stack.endpoint(), stack.processes()
            stack.kill()
            assert not any(process.running for process in before)
            assert not _listening(address["port"])
            stack.recover()
            assert stack.endpoint() == address
            assert balances_of(stack).tolist() == [7] * 100
            assert [process.running for process in stack.processes()] == [True]
            seed_bank(stack, 10, 3)
            assert balances_of(stack).tolist() == [3] * 10


def test_check_that_broke_says_why_and_the_next_is_made(flushed: Stack, deployment: Deployment) -> None:
    too_many = replace(_scenario(_POSTGRES, _FSYNC), connections=2000)
    (broken,) = kill_check(_POSTGRES, too_many, flushed, deployment, rounds=[0])
    assert (broken.resolved, broken.verdict) == (False, "not resolved")
    assert broken.note is not None
    assert "client" in broken.note
    assert "\n" not in broken.note
    (row,) = _check(_POSTGRES, flushed, deployment)
    assert row["verdict"] == "kept"


def test_kill_that_reached_nothing_has_no_answer(
    flushed: Stack, deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    for verb in ("kill", "recover"):
        monkeypatch.setattr(flushed, verb, lambda: None)
    (row,) = _check(_POSTGRES, flushed, deployment)
    assert (row["resolved"], row["verdict"]) == (False, "not resolved")
    assert "no request was cut off" in row["note"]


def test_server_that_the_reader_named_is_left_alone(deployment: Deployment) -> None:
    choice = ServerChoice(endpoint="postgresql://127.0.0.1:1/postgres")
    stack = stack_class("postgres")(StackContext(deployment, _DELAYED, choice))
    (row,) = _check(_POSTGRES, stack, deployment)
    assert (row["resolved"], row["note"]) == (False, "a server that the reader named is not killed")
    with pytest.raises(StackError, match="not ours to start again"):
        stack.recover()


@pytest.mark.parametrize(
    ("durability", "lost", "lost_s", "oldest_lost_s", "says"),
    [
        (_FSYNC, None, None, None, "not resolved"),
        (_FSYNC, 0, 0.0, 0.0, "kept"),
        (_FSYNC, 1, 0.0001, 0.0001, "lost more than its class allows"),
        (_DELAYED, 1234, 0.5, 0.5, "lost 1,234 (within its class)"),
        (_DELAYED, 1234, 0.51, 0.51, "lost more than its class allows"),
        # Two estimates that disagree refute nothing.
        (_DELAYED, 1234, 0.51, 0.49, "lost 1,234 (within its class)"),
        (_DELAYED, 1234, 0.51, None, "lost more than its class allows"),
        (_NONE, 9, 60.0, 60.0, "lost 9 (within its class)"),
    ],
)
def test_verdict_is_by_the_declared_class(
    durability: Durability, lost: int | None, lost_s: float | None, oldest_lost_s: float | None, says: str
) -> None:
    assert verdict_of(durability, lost, lost_s, oldest_lost_s) == says


@pytest.mark.parametrize(("last", "age_s"), [(0, 0.0), (5, 0.5), (10, 1.0), (15, 1.5), (35, 3.5)])
def test_age_of_the_oldest_lost_acknowledgement_is_read_off_the_seconds(last: int, age_s: float) -> None:
    assert oldest_age_s([10, 10, 10, 5, 0], 3.5, last) == pytest.approx(age_s)


@pytest.mark.parametrize(("due_s", "killed_at_s"), [(0.05, 0.3), (0.2, 0.3), (0.25, 0.25), (0.45, 0.45)])
def test_a_kill_that_came_late_is_told_by_the_last_answer(due_s: float, killed_at_s: float) -> None:
    per_100ms = [5, 5, 5, 0, 0]
    assert killed_no_earlier_s(per_100ms, due_s) == killed_at_s
    assert oldest_age_s([15], killed_no_earlier_s(per_100ms, due_s), 1) > 0


def test_kills_go_on_where_they_were_interrupted(flushed: Stack, deployment: Deployment) -> None:
    scenario = _scenario(_POSTGRES, _FSYNC)
    rows: list[KillCheck] = []
    kept: list[list[int | None]] = []

    def interrupted() -> None:
        if len(rows) == 2:
            raise KeyboardInterrupt

    def keep() -> None:
        kept.append([row.round for row in rows])

    stacks = {_POSTGRES.variant(_FSYNC): flushed}
    with pytest.raises(KeyboardInterrupt):
        kill_servers(scenario, stacks, deployment, 3, rows, keep=interrupted)
    before = list(rows)
    assert kills_left(scenario, {}, 3, rows)
    kill_servers(scenario, stacks, deployment, 3, rows, keep=keep)
    assert kept == [[0, 1, 2]]
    assert rows[:2] == before
    assert len({row.load_s for row in rows}) == 3
    assert not kills_left(scenario, {}, 3, rows)


def test_few_kills_without_a_loss_prove_little() -> None:
    assert proportion_bound(3) == pytest.approx(1 - 0.05 ** (1 / 3))
    assert proportion_bound(3) == pytest.approx(0.63, abs=0.005)
    assert proportion_bound(3, 1) > proportion_bound(3)
    assert proportion_bound(2, 2) == 1.0


def _listening(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0
