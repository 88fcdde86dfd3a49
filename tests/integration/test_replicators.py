"""Replicators of SQLite on real storage: what comes back, what is told of them, and what a fault leaves behind."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from gapbook.declared.module import Access, Replication
from gapbook.deploy import replication
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.replicated import ReplicatedStack
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import Ahead, StackContext, discover_stacks
from gapbook.errors import SetupError, StackError
from gapbook.model.event import Event, Progress
from gapbook.model.plan import PlannedTrial
from gapbook.record.durability import Durability
from gapbook.record.own_metric import OwnMetric
from gapbook.trial.contestant import Contestant
from gapbook.trial.scenario import Scenario, WorkloadSettings
from gapbook.trial.treatment import Treatment
from gapbook.trial.trial import run_trial
from gapbook.trial.workloads import find_workload
from tests.running import eventually

_WORKLOAD = "counter-and-messages"
_PARAMETERS = {"increment_share": 0.0, "message_bytes": 200}
_WINDOW_S = 3.0
_REPLICATORS = [
    (name, version)
    for name, stack in discover_stacks().items()
    if issubclass(stack, ReplicatedStack)
    for version in (
        stack.own_version(),
        *filter(None, [stack.native().newer_version]),
    )
]
_KEEPS_ALL = [one for one in _REPLICATORS if one[0] != "walsync"]


@pytest.fixture(name="data", autouse=True)
def _data(data_folder: Path) -> Path:
    return data_folder


@pytest.fixture(name="own")
def _own() -> Iterator[Deployment]:
    with Deployment() as deployment:
        yield deployment


def _start(own: Deployment, replicator: tuple[str, str | None]) -> ReplicatedStack:
    name, version = replicator
    choice = ServerChoice(version=version)
    try:
        discover_stacks()[name].located(choice)
        stack = discover_stacks()[name](StackContext(own, Durability("none"), choice, workload=_WORKLOAD))
        stack.start()
    except SetupError as error:
        pytest.skip(str(error))
    assert isinstance(stack, ReplicatedStack)
    return stack


@pytest.fixture(name="started")
def _started(own: Deployment) -> Callable[[tuple[str, str | None]], ReplicatedStack]:
    return partial(_start, own)


@pytest.fixture(name="struck", scope="module", params=_REPLICATORS, ids=" ".join)
def _struck(request: pytest.FixtureRequest) -> Iterator[ReplicatedStack]:
    """One whose trials a fault strikes, one after the other: each begins where a fault refused the one before, and has
    what it needs."""
    with (
        tempfile.TemporaryDirectory(prefix="test-of-gapbook-", dir="/var/tmp") as folder,
        Deployment(Path(folder)) as own,
    ):
        stack = _start(own, request.param)
        yield stack
        _begin(stack)
        stack.stop()


def _begin(stack: ReplicatedStack, databases: int = 1, **replication: Any) -> None:
    tested = Replication(**{"patience_s": 5, **replication})
    access = Access(summary="statements", round_trips=0, reason="none", replication=tested)
    stack.prepare(Ahead(access, databases, 0.0, _WINDOW_S))
    stack.seed(find_workload(_WORKLOAD, _PARAMETERS))


def _write(stack: ReplicatedStack, rows: int, first: int = 0) -> None:
    endpoint = stack.endpoint()
    for place, path in enumerate([endpoint["path"], *endpoint.get("others", [])]):
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
            for index in range(first, first + rows):
                connection.execute("INSERT INTO messages VALUES (?, ?, ?)", (place, index, "x" * 200))


def _at(elapsed_s: float) -> Progress:
    return Progress(elapsed_s=elapsed_s, acknowledged=0, phase="window")


def _progress(stack: ReplicatedStack, *, struck: bool = False) -> None:
    """A window as a client tells of it, with writes in each of its thirds."""
    stack.on_event(Event("window_start"))
    for third in range(3):
        if third:
            stack.on_event(_at(third * _WINDOW_S / 3 + 0.01))
        _write(stack, 40, first=1000 * third)
        if struck and third == 1:
            assert not (stack.processes() and stack.beside()[0].running)
    stack.on_event(Event("window_end"))


def _values(metrics: Mapping[str, OwnMetric]) -> dict[str, float]:
    return {name: told.value for name, told in metrics.items()}


@pytest.mark.parametrize("replicator", _KEEPS_ALL, ids=" ".join)
@pytest.mark.parametrize("processes", ["one", "each"])
def test_every_row_of_every_database_comes_back(
    started: Callable[[tuple[str, str | None]], ReplicatedStack], replicator: tuple[str, str], processes: str
) -> None:
    stack = started(replicator)
    _begin(stack, databases=3, processes=processes, patience_s=40)
    _progress(stack)
    found = _values(stack.observe().metrics)
    assert (found["rows lost"], found["copies unusable"], found["restored whole"]) == (0, 0, 1)
    assert found["replicator processes"] == (3 if processes == "each" else 1)
    for kind in ("idle", "written"):
        assert 0 < found[f"private memory, {kind}"] <= found[f"PSS, {kind}"] <= found[f"RSS, {kind}"]
    assert stack.state()["messages"].height == 3 * 120
    assert not stack.processes()
    assert not stack.beside()


def test_the_released_walsync_stores_the_log_and_gives_back_the_snapshot(
    started: Callable[[tuple[str, str | None]], ReplicatedStack],
) -> None:
    stack = started(("walsync", "0.1.1"))
    _begin(stack, ballast_mb=1.2)
    _progress(stack)
    found = _values(stack.observe().metrics)
    assert found["restore"] > 0
    assert (found["rows lost"], found["copies unusable"], found["restored whole"]) == (120, 0, 0)
    assert found["said to be synced"] == 1


@pytest.mark.parametrize("replicator", _KEEPS_ALL, ids=" ".join)
@pytest.mark.parametrize("strike", ["restart", "outage"])
def test_writes_during_a_strike_come_back(
    started: Callable[[tuple[str, str | None]], ReplicatedStack], replicator: tuple[str, str], strike: str
) -> None:
    stack = started(replicator)
    _begin(stack, strike=strike, patience_s=40)
    _progress(stack, struck=True)
    found = _values(stack.observe().metrics)
    assert (found["rows lost"], found["restored whole"]) == (0, 1)


@pytest.mark.parametrize("elapsed_s", [[], [_WINDOW_S / 2]], ids=["not struck", "not relented"])
def test_a_load_that_ends_before_its_strike_is_over_is_refused(
    started: Callable[[tuple[str, str | None]], ReplicatedStack], elapsed_s: list[float]
) -> None:
    stack = started(_KEEPS_ALL[0])
    _begin(stack, strike="restart")
    stack.on_event(Event("window_start"))
    for moment_s in elapsed_s:
        stack.on_event(_at(moment_s))
    stack.on_event(Event("window_end"))
    with pytest.raises(
        StackError, match="the load ended before its restart was over; measure it in a window of at least 6 s"
    ):
        stack.observe()
    assert not stack.processes()
    assert not stack.beside()


def _kill(*words: str) -> None:
    """Kill what this process has started with one of these words in its command."""
    for process in _children():
        with contextlib.suppress(psutil.NoSuchProcess):  # it has ended meanwhile
            if set(words) & {Path(part).name for part in process.cmdline()}:
                process.send_signal(signal.SIGKILL)
                # Not waited for: whoever started it must find out by itself.
                eventually(partial(_is_zombie, process))


def _is_zombie(process: psutil.Process) -> bool:
    return bool(process.status() == psutil.STATUS_ZOMBIE)


def _children() -> list[psutil.Process]:
    alive = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE and process.cmdline():
                alive.append(process)
    return alive


def _kill_replicator(_: Deployment) -> None:
    _kill("watch", "replicate")


def _kill_storage(_: Deployment) -> None:
    _kill("versitygw")


_LOST = "lost-"
"""Begins the name of what a fault has taken away: the test's, not the trial's."""


def _lose_bucket(own: Deployment) -> None:
    _lose(own, "storage-*/copies")


def _lose_storage(own: Deployment) -> None:
    _lose(own, "storage-*")


def _lose(own: Deployment, pattern: str) -> None:
    """From one moment to the next, also while somebody writes into it."""
    for folder in own.directory.glob(pattern):
        folder.rename(tempfile.mkdtemp(prefix=_LOST, dir=own.directory))


_FAULTS = [
    (_kill_replicator, "ended with code -9: it was killed"),
    (_kill_storage, "s3-server ended with code -9: it was killed"),
    (_lose_bucket, "s3-server: the bucket copies is gone"),
    (_lose_storage, "s3-server: the bucket copies is gone"),
]
_WHEN = ["window_start", "progress", "window_end", "afterwards"]
"""What the client has last said before the fault."""


@pytest.mark.parametrize("when", _WHEN)
@pytest.mark.parametrize(
    ("fault", "says"), _FAULTS, ids=["replicator killed", "storage killed", "bucket gone", "storage gone"]
)
def test_a_fault_refuses_the_trial_in_one_line_and_leaves_nothing(
    struck: ReplicatedStack,
    fault: Callable[[Deployment], None],
    says: str,
    when: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(replication, "_IDLE_S", 0.0)
    stack, own = struck, struck.deployment
    folders, processes = _folders(own), {*_children()}
    _begin(stack, patience_s=0)
    _write(stack, 10)
    for kind in _WHEN:
        if kind != "afterwards":
            stack.on_event(_at(1.0) if kind == "progress" else Event(kind))
        if kind == when:
            fault(own)
    with pytest.raises(StackError, match=says) as caught:
        stack.observe()
    assert "\n" not in str(caught.value)
    stack.stop()
    assert _folders(own) <= folders
    # What somebody else has started may end meanwhile: that is not looked at.
    assert {*_children()} <= processes
    stack.start()


def _folders(own: Deployment) -> set[str]:
    return {
        path.name for path in own.directory.iterdir() if path.is_dir() and not path.name.startswith(_LOST)
    }


@pytest.mark.parametrize("replicator", _KEEPS_ALL, ids=" ".join)
def test_a_trial_is_a_row_of_the_record_with_metrics_of_its_own(
    own: Deployment, started: Callable[[tuple[str, str | None]], ReplicatedStack], replicator: tuple[str, str]
) -> None:
    stack, (name, version) = started(replicator), replicator
    contestant = Contestant(
        "one", name, "sql", "in-process", "rust", 1, rate_per_s=100.0, version=version, workload=_WORKLOAD
    )
    scenario = Scenario(
        chapter="test",
        contestants=(contestant,),
        workload=WorkloadSettings(_WORKLOAD, _PARAMETERS),
        treatment=Treatment.of("databases", _WORKLOAD, [1, 3]),
        connections=1,
        window_s=1.0,
        warmup_s=0.2,
        durability=Durability("none"),
        seed=7,
    )
    trial = run_trial(
        PlannedTrial(0, 0, "one", 3.0, 11),
        scenario,
        stack,
        deployment=own,
        tables=own.directory,
        ceiling_per_s=None,
    )
    row = trial.columns()
    refused = row["refused_because"] or ""
    # Only another program on this machine may refuse it.
    assert row["valid"] or "quiet machine" in refused or "steal" in refused, refused
    assert row["acknowledged"] == pytest.approx(120, abs=40)
    assert row["mismatched_accounts"] == 0
    assert row["metrics"]["rows lost"]["value"] == 0
