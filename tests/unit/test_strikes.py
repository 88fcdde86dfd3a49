"""What a kill or a cut showed is kept, whatever becomes of the server afterwards; and a server that does not come back
has shown something."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import cast

import polars as pl
import pytest

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.power_cut import CutReport, DiskState, DiskTotals
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import Stack
from gapbook.errors import ClientError, SetupError, StackError
from gapbook.model.report import Report
from gapbook.record.cuts import CutCheck
from gapbook.record.durability import Durability
from gapbook.record.losses import BROKEN, KillCheck
from gapbook.trial.contestant import Contestant
from gapbook.trial.cut_check import cut_check
from gapbook.trial.cuts import cut_disks
from gapbook.trial.kill_check import kill_check
from tests.bank import one_contestant
from tests.reports import report_of

_DELAYED = Durability("delayed", 500.0)
_CONTESTANT = Contestant("postgres-rust", "postgres", "procedure", "direct", "rust", 4)
_SCENARIO = one_contestant(_CONTESTANT, _DELAYED, accounts=100, seed=1)
_CUT_OFF = report_of(acknowledged=900, in_doubt=4, failed={"error": 0})
_NOT_CUT_OFF = report_of(acknowledged=900, in_doubt=0, failed={"error": 0})
_UNUSED = cast(Deployment, None)
_GONE = StackError("made-up: gone")


class _Server:
    """As much of a stack as a check asks for. It notes its verbs; those that are named with an error raise it."""

    name = "made-up"

    def __init__(self, errors: Mapping[str, Exception], durability: Durability = _DELAYED) -> None:
        self.context = SimpleNamespace(durability=durability, choice=ServerChoice())
        self.errors, self.verbs = errors, list[str]()

    def _do(self, verb: str) -> None:
        self.verbs.append(verb)
        if verb in self.errors:
            raise self.errors[verb]

    def seed(self, _workload: object) -> None:
        self._do("seed")

    def start(self) -> None:
        self._do("start")

    def stop(self) -> None:
        self._do("stop")

    def kill(self) -> None:
        self._do("kill")

    def recover(self) -> None:
        self._do("recover")

    def state(self) -> None:
        self._do("state")

    def processes(self) -> list[str]:
        return ["a server"]

    def log_bytes(self) -> int:
        return 0


# --- kills ------------------------------------------------------------------------------------
def _killed(server: _Server, rounds: Collection[int] = (0,)) -> Iterator[KillCheck]:
    return kill_check(_CONTESTANT, _SCENARIO, cast(Stack, server), _UNUSED, rounds=rounds)


def _load_ends(monkeypatch: pytest.MonkeyPatch, load: Callable[[], Report]) -> None:
    monkeypatch.setattr("gapbook.trial.kill_check._Check._load_until_killed", lambda _check: load())


@pytest.mark.parametrize(
    ("errors", "why", "is_recovered"),
    [
        ({"recover": StackError("made-up: ended with code 1: bad page")}, "bad page", False),
        ({"state": StackError("made-up: read accounts: no such table")}, "no such table", True),
        ({"state": pl.exceptions.SchemaError("a balance is no number")}, "no number", True),
    ],
)
def test_a_server_that_a_kill_left_unreadable_has_broken_its_class(
    monkeypatch: pytest.MonkeyPatch, errors: dict[str, Exception], why: str, *, is_recovered: bool
) -> None:
    _load_ends(monkeypatch, lambda: _CUT_OFF)
    server = _Server(errors)
    rows = list(_killed(server, (0, 1)))
    assert [row.round for row in rows] == [0, 1]
    for row in rows:
        assert (row.resolved, row.unreadable, row.verdict) == (True, True, BROKEN)
        assert (row.acknowledged, row.lost, row.lost_s) == (900, None, None)
        assert (row.recovered_in_s is not None) is is_recovered
        assert why in str(row.note)
    seeds = [at for at, verb in enumerate(server.verbs) if verb == "seed"]
    assert server.verbs[seeds[1] - 2 : seeds[1]] == ["stop", "start"]


def test_a_class_that_promises_nothing_allows_that_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    _load_ends(monkeypatch, lambda: _CUT_OFF)
    (row,) = _killed(_Server({"recover": _GONE}, Durability("none")))
    assert (row.resolved, row.verdict) == (True, "unreadable (within its class)")


def test_a_server_that_nobody_killed_and_that_is_gone_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    _load_ends(monkeypatch, lambda: _NOT_CUT_OFF)
    (row,) = _killed(_Server({"recover": _GONE}))
    assert (row.resolved, row.unreadable, row.verdict) == (False, False, "not resolved")
    assert (row.acknowledged, row.note) == (900, "made-up: gone")


def test_a_load_that_broke_is_not_held_against_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Report:
        raise ClientError("client: ended with code 4")

    _load_ends(monkeypatch, broken)
    (row,) = _killed(_Server({"recover": _GONE}))
    assert (row.resolved, row.unreadable, row.note) == (False, False, "client: ended with code 4")


def test_a_kill_is_told_before_its_server_is_brought_back(monkeypatch: pytest.MonkeyPatch) -> None:
    _load_ends(monkeypatch, lambda: _CUT_OFF)
    checks = _killed(_Server({"recover": _GONE, "start": _GONE}))
    assert next(checks).unreadable
    with pytest.raises(StackError, match="gone"):
        next(checks)


# --- cuts -------------------------------------------------------------------------------------
class _Disk:
    """As much of a disk as a check asks for; ``mounted`` while it is there."""

    mounted = False

    def stats(self) -> DiskState:
        return DiskState(DiskTotals(0, 0, 0), 0)

    def sync(self) -> None:
        """All is durable."""

    def restore(self) -> None:
        """There was power all the time."""


@pytest.fixture(name="disks")
def _disks(monkeypatch: pytest.MonkeyPatch) -> list[_Disk]:
    """Every disk that a check has mounted, and loads that are cut off on them."""
    mounted = list[_Disk]()

    @contextmanager
    def mount(_deployment: object) -> Iterator[_Disk]:
        disk = _Disk()
        mounted.append(disk)
        disk.mounted = True
        try:
            yield disk
        finally:
            disk.mounted = False

    def cut_load(check: SimpleNamespace) -> Report:
        check.at_cut, check.report_of_cut = check.disk.stats(), CutReport(0, 0, 0)
        return _CUT_OFF

    monkeypatch.setattr("gapbook.trial.cut_check.power_cut_disk", mount)
    monkeypatch.setattr("gapbook.trial.cut_check._Cut._load_until_cut", cut_load)
    monkeypatch.setattr("gapbook.trial.cut_check._POLL_S", 0.0)
    return mounted


def _cut(server: _Server, rounds: Collection[int] = (0, 1)) -> Iterator[CutCheck]:
    return cut_check(_CONTESTANT, _SCENARIO, _UNUSED, lambda _disk: cast(Stack, server), rounds=rounds)


@pytest.mark.parametrize("error", [StackError("made-up: no place"), SetupError("made-up: no program")])
@pytest.mark.parametrize("verb", ["kill", "start"])
def test_a_cut_that_left_nothing_readable_is_told_though_the_server_stays_away(
    disks: list[_Disk], verb: str, error: Exception
) -> None:
    server = _Server({"recover": _GONE, verb: error})
    (row,) = _cut(server)
    assert (row.round, row.left, row.verdict, row.note) == (0, "unreadable", BROKEN, "made-up: gone")
    assert row.acknowledged == 900
    assert server.verbs[-1] == "stop"
    assert [disk.mounted for disk in disks] == [False]


def test_after_a_cut_that_left_nothing_readable_the_next_has_a_fresh_server(disks: list[_Disk]) -> None:
    server = _Server({"recover": _GONE})
    assert [(row.round, row.left) for row in _cut(server)] == [(0, "unreadable"), (1, "unreadable")]
    second = server.verbs.index("seed", 1)
    assert server.verbs[second - 3 : second] == ["kill", "stop", "start"]
    assert len(disks) == 1


def test_who_stops_after_a_row_leaves_no_server_and_no_disk(disks: list[_Disk]) -> None:
    server = _Server({"recover": _GONE})
    checks = cast("Generator[CutCheck, None, None]", _cut(server))
    assert next(checks).left == "unreadable"
    checks.close()
    assert server.verbs[-1] == "stop"
    assert [disk.mounted for disk in disks] == [False]


def test_rounds_that_are_left_get_another_disk_where_a_server_stays_away(
    disks: list[_Disk], monkeypatch: pytest.MonkeyPatch
) -> None:
    def started(*_about: object) -> _Server:
        return _Server({"recover": _GONE, "start": StackError("made-up: no place")})

    monkeypatch.setattr("gapbook.trial.cuts.require_power_cuts", lambda: None)
    monkeypatch.setattr("gapbook.trial.cuts._started", started)
    rows = list[CutCheck]()
    cut_disks(_SCENARIO, {}, 3, rows, keep=lambda: None, say=lambda _line: None)
    assert [(row.round, row.left) for row in rows] == [(number, "unreadable") for number in range(3)]
    assert len(disks) == 3


def test_a_program_that_is_missing_is_no_finding(disks: list[_Disk]) -> None:
    (row,) = _cut(_Server({"recover": SetupError("made-up: its program is missing")}))
    assert (row.left, row.verdict, row.note) == ("unknown", "not resolved", "made-up: its program is missing")
    assert [disk.mounted for disk in disks] == [False]
