"""The SQLite stack: real files, the Rust client inside its process and the Node.js server before it."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.module import RunningTier, load_module
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import Stack, StackContext, stack_class
from gapbook.deploy.toolchain import node_path
from gapbook.errors import ClientError, ParameterError, SetupError, StackError
from gapbook.load.client import ClientRun, configure_load, find_client
from gapbook.load.configuration import LoadConfiguration
from gapbook.model.report import Report
from gapbook.record.durability import Durability
from gapbook.trial.audit import reconcile
from gapbook.trial.contestant import Contestant
from gapbook.trial.workloads import find_workload
from tests.bank import balances_of, bank_workload, seed_bank

_ACCOUNTS = 100
_INITIAL = 1_000
_FUNDS = 1_000_000
_SEED = 42
_AMOUNT_MAX = 100
_ALPHA = 0.5
_FLUSHED = Durability("fsync-per-commit")
_NONE = Durability("none")
_MODULE = load_module("sqlite", "transfer")


@pytest.fixture(name="shared", scope="module")
def _shared(deployment: Deployment) -> Iterator[Stack]:
    stack = _stack(deployment)
    stack.start()
    yield stack
    stack.stop()


@pytest.fixture(name="bank")
def _bank(shared: Stack) -> Stack:
    seed_bank(shared, _ACCOUNTS, _INITIAL)
    return shared


@pytest.fixture(name="tier", params=["drizzle", "sql"])
def _tier(request: pytest.FixtureRequest, deployment: Deployment, bank: Stack) -> Iterator[RunningTier]:
    tier = _MODULE.start_tier(
        deployment, tier="rpc", access=request.param, endpoint=bank.endpoint(), pool_size=50
    )
    assert tier is not None
    yield tier
    deployment.stop(tier.process)


def _stack(
    deployment: Deployment,
    durability: Durability = _NONE,
    choice: ServerChoice | None = None,
    isolation: str | None = None,
) -> Stack:
    context = StackContext(deployment, durability, choice or ServerChoice(), isolation=isolation)
    return stack_class("sqlite")(context)


@contextlib.contextmanager
def _started(deployment: Deployment, durability: Durability) -> Iterator[Stack]:
    stack = _stack(deployment, durability)
    stack.start()
    try:
        yield stack
    finally:
        stack.stop()


def _configuration(endpoint: Endpoint, tables: Path, *, window_s: float = 1.0) -> LoadConfiguration:
    return configure_load(
        endpoint,
        bank_workload(1_000, _FUNDS, alpha=_ALPHA, amount_max=_AMOUNT_MAX),
        tables,
        seed=_SEED,
        connections=5,
        in_flight=1,
        warmup_s=0.2,
        window_s=window_s,
        drain_s=5.0,
        request_timeout_s=10.0,
    )


def _embedded(stack: Stack) -> Endpoint:
    """What a client that holds the engine is told."""
    return _MODULE.client_endpoint("sql", "in-process", stack.endpoint())


def _load(deployment: Deployment, configuration: LoadConfiguration) -> Report:
    protocol = configuration["endpoint"]["protocol"]
    client = find_client("rust", protocol, "sql" if protocol == "sqlite" else None)
    return ClientRun(client, configuration, lambda event: None).run(deployment)


def _require_agreement(stack: Stack, report: Report) -> None:
    audit = reconcile(
        report,
        workload=bank_workload(1_000, _FUNDS, alpha=_ALPHA, amount_max=_AMOUNT_MAX),
        seed=_SEED,
        state=stack.state(),
        committed=stack.committed_operations(),
    )
    assert audit.agrees, audit.explain()
    assert audit.acknowledged == report.attempted > 0


def _balances_except(changed: dict[int, int]) -> np.ndarray[Any, np.dtype[np.int64]]:
    expected = np.full(_ACCOUNTS, _INITIAL, dtype=np.int64)
    for account, balance in changed.items():
        expected[account] = balance
    return expected


def _synchronous_of(connection: sqlite3.Connection, setting: str) -> int:
    connection.execute(f"PRAGMA synchronous = {setting}")
    return int(connection.execute("PRAGMA synchronous").fetchone()[0])


# --- load, audited to the unit ----------------------------------------------------------------
@pytest.mark.parametrize("durability", [_NONE, _FLUSHED], ids=str)
def test_balances_are_those_of_the_transfers_that_the_rust_client_reports(
    deployment: Deployment, durability: Durability, tmp_path: Path
) -> None:
    with _started(deployment, durability) as stack:
        seed_bank(stack, 1_000, _FUNDS)
        before = stack.log_bytes()
        report = _load(deployment, _configuration(_embedded(stack), tmp_path))
        after = stack.log_bytes()
        assert before is not None
        assert after is not None
        assert after > before
        _require_agreement(stack, report)
        asked = stack.settings()["synchronous"]
        with contextlib.closing(sqlite3.connect(":memory:")) as connection:
            assert report.engine is not None
            assert report.engine["synchronous"] == str(_synchronous_of(connection, asked))
        assert report.engine["journal_mode"] == "wal"


def test_updates_that_never_run_are_answered_ok_and_refused_by_the_audit(
    deployment: Deployment, shared: Stack, tmp_path: Path
) -> None:
    seed_bank(shared, 1_000, _FUNDS)
    size_before = shared.log_bytes()
    tier = _MODULE.start_tier(
        deployment, tier="rpc", access="drizzle-unexecuted", endpoint=shared.endpoint(), pool_size=5
    )
    assert tier is not None
    try:
        report = _load(deployment, _configuration(tier.endpoint, tmp_path))
    finally:
        deployment.stop(tier.process)
    assert report.acknowledged == report.attempted > 0
    assert np.array_equal(balances_of(shared), np.full(1_000, _FUNDS))
    assert shared.log_bytes() == size_before
    with pytest.raises(AssertionError, match=r"of 1,000 balances differ"):
        _require_agreement(shared, report)


def test_updates_that_never_run_are_offered_behind_the_server_only() -> None:
    with pytest.raises(ParameterError, match="cannot be reached by tier 'in-process'"):
        _MODULE.require("drizzle-unexecuted", "in-process")


def test_a_change_that_no_transfer_explains_is_noticed(
    deployment: Deployment, shared: Stack, tmp_path: Path
) -> None:
    seed_bank(shared, 1_000, _FUNDS)
    report = _load(deployment, _configuration(_embedded(shared), tmp_path))
    with contextlib.closing(sqlite3.connect(shared.endpoint()["path"], isolation_level=None)) as connection:
        connection.execute("UPDATE accounts SET balance = balance + 1 WHERE id = 999")
        connection.execute("UPDATE accounts SET balance = balance - 1 WHERE id = 998")
    with pytest.raises(AssertionError, match="2 of 1,000 balances differ"):
        _require_agreement(shared, report)


def test_a_killed_client_leaves_whole_transfers_and_a_sound_file(
    deployment: Deployment, shared: Stack, tmp_path: Path
) -> None:
    seed_bank(shared, 1_000, _FUNDS)
    configuration = _configuration(_embedded(shared), tmp_path, window_s=30.0)
    client = find_client("rust", "sqlite", "sql")
    process = deployment.start(client.resolved_command(), name="killed", stdin=True, stdout=True, stderr=True)
    process.stdin.write(json.dumps(configuration).encode())
    process.stdin.close()
    seen: dict[str, Any] = {}
    while seen.get("acknowledged", 0) == 0:
        line = process.stderr.readline()
        assert line, f"the client ended before its first acknowledgement was told: {seen}"
        seen = json.loads(line)
    process.popen.kill()
    process.popen.wait()
    assert balances_of(shared).sum() == 1_000 * _FUNDS
    assert (balances_of(shared) != _FUNDS).any()
    with contextlib.closing(sqlite3.connect(shared.endpoint()["path"])) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    seed_bank(shared, _ACCOUNTS, _INITIAL)
    assert np.array_equal(balances_of(shared), _balances_except({}))
    deployment.stop(process)


def test_a_client_without_a_file_says_which(deployment: Deployment, tmp_path: Path) -> None:
    endpoint: Endpoint = {"protocol": "sqlite", "path": str(tmp_path / "absent.sqlite"), "synchronous": "OFF"}
    configuration = _configuration(endpoint, tmp_path)
    with pytest.raises(ClientError, match=r"code 3: .*absent\.sqlite"):
        _load(deployment, configuration)
    assert not (tmp_path / "absent.sqlite").exists()


# --- the module's server ----------------------------------------------------------------------
def test_server_says_which_engine_it_holds(shared: Stack, tier: RunningTier) -> None:
    assert tier.settings["sqlite_version"].startswith("3.")
    assert tier.settings["driver"].startswith("better-sqlite3 ")
    assert tier.settings["journal_mode"] == "wal"
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        asked = _synchronous_of(connection, shared.settings()["synchronous"])
    assert tier.settings["synchronous"] == str(asked)


def test_server_without_a_file_says_which(tmp_path: Path) -> None:
    configuration = {
        "workload": "transfer",
        "access": "sql",
        "listen": {"host": "127.0.0.1", "port": 0},
        "sqlite": {"path": str(tmp_path / "absent.sqlite"), "synchronous": "FULL"},
        "pool_size": 1,
    }
    ended = subprocess.run(
        [node_path(), "rpc/server.ts"],
        cwd=_MODULE.folder,
        input=json.dumps(configuration),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        encoding="utf-8",
    )
    assert ended.returncode == 3
    assert "absent.sqlite cannot be opened" in ended.stderr
    assert not list(tmp_path.iterdir())


# --- what the stack promises and reads back ---------------------------------------------------
def test_settings_read_back_are_those_declared(bank: Stack) -> None:
    settings, declared = bank.settings(), bank.declared_settings()
    assert {name: settings[name] for name in declared} == declared
    assert settings["journal_mode"] == "wal"
    assert bank.processes() == []


@pytest.mark.parametrize(
    ("durability", "synchronous"), [(_NONE, "NORMAL"), (_FLUSHED, "FULL")], ids=["none", "flushed"]
)
def test_durability_is_proven_by_what_is_read_back(
    deployment: Deployment, durability: Durability, synchronous: str
) -> None:
    with _started(deployment, durability) as stack:
        assert stack.endpoint()["synchronous"] == stack.settings()["synchronous"] == synchronous
        assert stack.durability() == durability


def test_a_flush_to_memory_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        monkeypatch.setenv("GAPBOOK_DATA", folder)
        with Deployment() as deployment, _started(deployment, _FLUSHED) as stack:
            assert stack.settings()["synchronous"] == "FULL"
            assert stack.durability() == _NONE


@pytest.mark.parametrize("durability", [Durability("delayed", 500.0), Durability("delayed", 1.0)], ids=str)
def test_a_delayed_class_is_refused_and_what_is_allowed_is_named(
    deployment: Deployment, durability: Durability
) -> None:
    with pytest.raises(StackError, match="allowed: none, fsync-per-commit") as refused:
        _stack(deployment, durability).start()
    assert str(durability) in str(refused.value)
    assert "\n" not in str(refused.value)


# --- the rollback journal ---------------------------------------------------------------------
_COUNTED = load_module("sqlite", "counter-and-messages")
_DELAYED = Durability("delayed")


@contextlib.contextmanager
def _with_rollback_journal(deployment: Deployment, durability: Durability) -> Iterator[Stack]:
    settings = _COUNTED.settings("sql-rollback")
    context = StackContext(deployment, durability, workload="counter-and-messages", settings=settings)
    stack = stack_class("sqlite")(context)
    stack.start()
    try:
        yield stack
    finally:
        stack.stop()


@pytest.mark.parametrize(
    ("durability", "synchronous"), [(_NONE, "OFF"), (_DELAYED, "FULL"), (_FLUSHED, "EXTRA")], ids=str
)
def test_a_rollback_journal_is_read_back_by_the_stack_and_by_the_tier(
    deployment: Deployment, durability: Durability, synchronous: str
) -> None:
    with _with_rollback_journal(deployment, durability) as stack:
        stack.seed(find_workload("counter-and-messages", {"counters": 2}))
        settings, declared = stack.settings(), stack.declared_settings()
        assert {name: settings[name] for name in declared} == declared
        assert (settings["journal_mode"], settings["synchronous"]) == ("delete", synchronous)
        assert stack.durability() == durability
        tier = _COUNTED.start_tier(
            deployment, tier="rpc", access="sql-rollback", endpoint=stack.endpoint(), pool_size=1
        )
        assert tier is not None
        assert tier.settings["journal_mode"] == "delete"
        with contextlib.closing(sqlite3.connect(":memory:")) as connection:
            assert tier.settings["synchronous"] == str(_synchronous_of(connection, synchronous))
        deployment.stop(tier.process)


def test_a_rollback_journal_flushes_by_no_timer(deployment: Deployment) -> None:
    refused = r"delayed\(500 ms\) cannot be kept with journal_mode delete.*; allowed: none, fsync-per-commit, delayed"
    with (
        pytest.raises(StackError, match=refused),
        _with_rollback_journal(deployment, Durability("delayed", 500.0)),
    ):
        pass


def test_a_seeded_file_is_not_rolled_back_by_a_journal_that_was_left(deployment: Deployment) -> None:
    with _with_rollback_journal(deployment, _DELAYED) as stack:
        workload = find_workload("counter-and-messages", {"counters": 2})
        stack.seed(workload)
        path = Path(stack.endpoint()["path"])
        left = path.with_name(f"{path.name}-journal")
        left.write_bytes(b"left by an engine that was killed")
        stack.seed(workload)
        assert not left.exists()


def test_a_setting_is_one_that_the_stack_offers(deployment: Deployment) -> None:
    for settings in ({"journal_mode": "memory"}, {"page_size": "512"}, {"pages": "1"}):
        with pytest.raises(StackError, match=r"is not offered; stacks/sqlite/stack\.toml offers") as refused:
            stack_class("sqlite")(StackContext(deployment, _NONE, settings=settings))
        assert ("delete" in str(refused.value)) == ("journal_mode" in settings)


def test_a_contestant_with_a_rollback_journal_has_a_file_of_its_own() -> None:
    variants = [
        Contestant(
            name, "sqlite", access, "rpc", "rust", 1, durability="none", workload="counter-and-messages"
        ).variant(_NONE)
        for name, access in (("wal", "sql"), ("rollback", "sql-rollback"))
    ]
    assert [one.label(_NONE) for one in variants] == ["sqlite", "sqlite (journal_mode delete)"]


def test_an_isolation_level_that_sqlite_has_not_is_refused(deployment: Deployment) -> None:
    with pytest.raises(StackError, match="'read committed' is not offered; allowed: serializable"):
        _stack(deployment, isolation="read committed").start()


@pytest.mark.parametrize(
    "choice", [ServerChoice(binary=Path("/bin/true")), ServerChoice(endpoint="http://127.0.0.1:1")]
)
def test_a_server_cannot_be_named(deployment: Deployment, choice: ServerChoice) -> None:
    with pytest.raises(SetupError, match="sqlite: there is no server to name"):
        _stack(deployment, choice=choice).start()


def test_seeding_again_forgets_what_was_moved(bank: Stack) -> None:
    path = bank.endpoint()["path"]
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE accounts SET balance = 0")
    seed_bank(bank, _ACCOUNTS + 20, 5)
    assert np.array_equal(balances_of(bank), np.full(_ACCOUNTS + 20, 5))
    assert Path(f"{path}-wal").stat().st_size == 0


def test_stopping_leaves_nothing_and_starting_again_works(deployment: Deployment) -> None:
    stack = _stack(deployment)
    stack.start()
    seed_bank(stack, 3, 1)
    folder = Path(stack.endpoint()["path"]).parent
    stack.stop()
    assert not folder.exists()
    with pytest.raises(StackError, match="not started"):
        stack.state()
    stack.start()
    assert len(balances_of(stack)) == 0
    stack.stop()
