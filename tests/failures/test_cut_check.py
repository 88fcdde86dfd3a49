"""Power cut under load: what is gone is counted to the unit, and what promises too much is caught."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import psycopg
import pytest

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.power_cut import PowerCutDisk, require_power_cuts
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import Stack
from gapbook.errors import SetupError
from gapbook.record.cuts import FAULTS, CutCheck
from gapbook.record.durability import Durability
from gapbook.record.losses import BROKEN
from gapbook.trial import cuts
from gapbook.trial.contestant import Contestant
from gapbook.trial.cut_check import cut_check
from gapbook.trial.cuts import cut_disks
from gapbook.trial.servers import stack_of
from tests.bank import one_contestant

pytestmark = pytest.mark.usefixtures("load_outlasts_late_strikes")
_FSYNC = Durability("fsync-per-commit")
_DELAYED = Durability("delayed", 500.0)
_NONE = Durability("none")
_POSTGRES = Contestant("postgres-rust", "postgres", "procedure", "direct", "rust", 4)
_SPACETIMEDB = Contestant("spacetimedb-rust", "spacetimedb", "reducer", "direct", "rust", 4)
_SQLITE = Contestant("sqlite-rust", "sqlite", "sql", "in-process", "rust", 1)
_JOURNAL = replace(_SQLITE, access="sql-rollback")
_scenario = partial(one_contestant, accounts=5_000, seed=11)


@pytest.fixture(name="_can_cut")
def _skips_where_nothing_can_be_cut() -> None:
    try:
        require_power_cuts()
    except SetupError as error:
        pytest.skip(str(error))


def _cut(
    contestant: Contestant,
    declared: Durability,
    rounds: Collection[int] = (0,),
    kept: Durability | None = None,
) -> list[dict[str, Any]]:
    """Rows, as a manifest has them, of a contestant that declares a class; ``kept`` is the class that its server really has."""
    scenario = _scenario(contestant, declared)
    really = _scenario(contestant, kept or declared)
    with Deployment() as deployment:

        def start(disk: PowerCutDisk) -> Stack:
            stack = stack_of(contestant, really, {}, deployment, disk.folder)
            stack.start()
            return stack

        checks = list(cut_check(contestant, scenario, deployment, start, rounds=rounds))
    rows: list[dict[str, Any]] = msgspec.to_builtins(checks)
    assert msgspec.convert(json.loads(json.dumps(rows)), list[CutCheck]) == checks
    assert all(row.keys() == set(CutCheck.__struct_fields__) for row in rows)
    assert [row["round"] for row in rows] == sorted(rounds)
    return rows


@pytest.mark.usefixtures("_can_cut")
@pytest.mark.parametrize("contestant", [_POSTGRES, _SQLITE, _JOURNAL], ids=["postgres", "log", "journal"])
def test_who_waits_for_the_disk_loses_nothing_whatever_survives(contestant: Contestant) -> None:
    rounds = [
        number for number, fault in enumerate(FAULTS) if fault in {"power", "torn-pages", "torn-prefix"}
    ]
    for row in _cut(contestant, _FSYNC, rounds):
        assert (row["left"], row["lost"], row["verdict"]) == ("whole", 0, "kept"), row
        assert row["acknowledged"] > 0
        assert row["fsyncs"] > 0
        assert row["written_bytes"] > 0
        assert (row["recovered_in_s"] is None) == (contestant.system == "sqlite")


@pytest.mark.usefixtures("_can_cut")
def test_a_store_that_promises_what_it_does_not_do_is_caught() -> None:
    rows = _cut(_POSTGRES, _FSYNC, (0, 1), kept=_NONE)
    assert {row["verdict"] for row in rows} == {BROKEN}, rows
    assert all(row["unsynced_bytes"] > 0 for row in rows)
    # SQLite's log is flushed when it is copied back: a cut right after that finds all of it on the disk.
    rows = _cut(_SQLITE, _FSYNC, (0, 5, 10, 15, 20), kept=_NONE)
    assert BROKEN in {row["verdict"] for row in rows}, rows


@pytest.mark.usefixtures("_can_cut")
def test_delayed_commits_are_counted_to_the_unit() -> None:
    for row in _cut(_SPACETIMEDB, _DELAYED, (0, 5)):
        assert row["left"] == "whole", row["note"]
        assert 0 < row["lost"] < row["acknowledged"]
        assert row["in_doubt_committed"] <= 8 * _SPACETIMEDB.in_flight
        assert row["oldest_lost_s"] > 0


@pytest.mark.usefixtures("_can_cut")
def test_a_rollback_journal_that_comes_back_takes_one_commit_at_most() -> None:
    rows = _cut(_JOURNAL, Durability("delayed"), (0, 5, 10))
    assert {row["left"] for row in rows} == {"whole"}, rows
    assert {row["lost"] for row in rows} <= {0, 1}


@pytest.mark.usefixtures("_can_cut")
@pytest.mark.parametrize("contestant", [_POSTGRES, _SQLITE], ids=["postgres", "sqlite"])
def test_faults_of_the_disk_end_in_a_state_that_is_known(contestant: Contestant) -> None:
    rounds = [number for number, fault in enumerate(FAULTS) if fault in {"fsync-error", "disk-full"}]
    for row in _cut(contestant, _FSYNC, rounds):
        assert row["resolved"], row
        assert row["left"] in {"whole", "inconsistent", "unreadable"}


@pytest.mark.usefixtures("_can_cut")
def test_a_cut_before_the_first_acknowledgement_loses_nothing_and_the_next_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another session holds the accounts, so that no transfer is answered before the power goes."""
    synced, sessions = PowerCutDisk.sync, list[psycopg.Connection[Any]]()
    started, running = Stack.seed, list[Stack]()

    def seed(stack: Stack, workload: Any) -> None:
        started(stack, workload)
        running.append(stack)

    def sync(disk: PowerCutDisk) -> None:
        synced(disk)
        if not sessions:
            sessions.append(psycopg.connect(running[-1]._admin_address))  # type: ignore[attr-defined]
            sessions[0].execute("LOCK TABLE accounts")

    monkeypatch.setattr(Stack, "seed", seed)
    monkeypatch.setattr(PowerCutDisk, "sync", sync)
    first, following = _cut(_POSTGRES, _FSYNC, (0, 5))
    sessions[0].close()
    assert (first["acknowledged"], first["lost"], first["left"], first["verdict"]) == (0, 0, "whole", "kept")
    assert first["in_doubt"] > 0
    assert (following["lost"], following["verdict"]) == (0, "kept")
    assert following["acknowledged"] > 0


@pytest.mark.usefixtures("_can_cut")
def test_a_round_that_broke_says_why_and_the_next_has_a_fresh_server(monkeypatch: pytest.MonkeyPatch) -> None:
    seeded = Stack.seed
    calls = iter(range(9))

    def seed(stack: Stack, workload: Any) -> None:
        seeded(stack, workload)
        if next(calls) == 0:
            stack.kill()

    monkeypatch.setattr(Stack, "seed", seed)
    broken, following = _cut(_POSTGRES, _FSYNC, (0, 5))
    assert (broken["left"], broken["verdict"]) == ("unknown", "not resolved")
    assert broken["note"]
    assert "\n" not in broken["note"]
    assert (following["left"], following["lost"]) == ("whole", 0), following


def test_where_nothing_can_be_mounted_one_line_says_so_and_the_rest_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse() -> None:
        raise SetupError("power cuts: /dev/fuse: No such file or directory")

    monkeypatch.setattr(cuts, "require_power_cuts", refuse)
    said: list[str] = []
    rows: list[CutCheck] = []
    kept: list[int] = []

    def keep() -> None:
        kept.append(len(rows))

    scenario = _scenario(_POSTGRES, _FSYNC)
    for _ in range(2):
        cut_disks(scenario, {}, 3, rows, keep=keep, say=said.append)
    assert said == ["power cuts: /dev/fuse: No such file or directory"] * 2
    (row,) = rows
    assert (row.load_s, row.left, row.note) == (None, "unknown", said[0])
    assert kept == [1]


def test_the_disk_of_a_server_that_the_reader_named_is_left_alone() -> None:
    rows: list[CutCheck] = []
    named = {"postgres": ServerChoice(endpoint="postgresql://127.0.0.1:1/postgres")}
    cut_disks(_scenario(_POSTGRES, _DELAYED), named, 2, rows, keep=lambda: None, say=lambda line: None)
    assert [row.note for row in rows] == ["the disk of a server that the reader named is not cut"]
