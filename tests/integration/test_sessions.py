"""Sessions: blocks spread over fresh deployments, each block with its own ceilings; resumed by session.

Their server is a plant: what a session is does not hang on who answers. It commits every 10 ms, and needs little of a
busy machine.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from gapbook.errors import ParameterError, RecordError, SessionsLeftError, StackError
from gapbook.record.durability import Durability
from gapbook.record.journal import Journal
from gapbook.record.kind import kind_of
from gapbook.record.run import Run
from gapbook.trial.campaign import Measurement, SessionFiles, measurement_of
from gapbook.trial.ceilings import median_ceilings
from gapbook.trial.contestant import Contestant
from gapbook.trial.facts import machine
from gapbook.trial.scenario import Scenario
from tests.bank import alphas, bank

_BLOCKS, _SESSIONS = 3, 2
_MACHINE = "gapbook.trial.campaign.machine"
_SCENARIO = Scenario(
    chapter="sessions",
    contestants=(Contestant("plant-rust", "plant", "timer-10ms", "direct", "rust", 1),),
    workload=bank(1000),
    treatment=alphas(0.5),
    connections=4,
    window_s=0.5,
    warmup_s=0.2,
    durability=Durability("none"),
    seed=1,
)


class _StoppedError(Exception):
    """Stands for whatever ends a run between two trials."""


def _run(source: str, say: list[str], *, stop_at: str = "nowhere") -> Run:
    def told(line: str) -> None:
        say.append(line)
        if line.startswith(stop_at):
            raise _StoppedError

    return measurement_of(_SCENARIO, blocks=_BLOCKS, choices={}, sessions=_SESSIONS, say=told).run(source)


def test_a_run_of_two_sessions_deploys_twice_and_resumes_by_session(runs_folder: Path) -> None:
    first, second = list[str](), list[str]()
    with pytest.raises(_StoppedError):
        _run("live", first, stop_at="trial 1/")
    assert len(list(runs_folder.glob("*/incomplete-*/trial-*.json"))) == 1
    run = _run("resume", second)
    assert [line for line in first + second if line.startswith("starting")] == ["starting plant"] * 2
    assert run.trials["session"].to_list() == [0, 1, 1]
    assert [row.session for row in run.manifest.deployments] == [0, 1]
    assert run.manifest.sessions == _SESSIONS


def test_a_session_at_a_time_ends_as_the_whole_run_would(
    runs_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SessionsLeftError, match="session 1 of 2 is done and kept"):
        _run("session", [])
    here = machine()
    # Where the kernel is another, the machine may be of the same kind.
    moved = replace(here, kernel="another")
    monkeypatch.setattr(_MACHINE, lambda: moved)
    run = _run("session", [])
    assert run.trials["session"].to_list() == [0, 1, 1]
    assert [row.machine for row in run.manifest.deployments] == [here, moved]
    assert not list(runs_folder.glob("*/incomplete-*"))


def test_another_kind_of_machine_has_a_run_of_its_own_and_the_first_loses_nothing(
    runs_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SessionsLeftError):
        _run("session", [])
    (first,) = runs_folder.glob("*/incomplete-*")
    kept = {path.name: path.read_bytes() for path in first.iterdir()}
    here, there = machine(), replace(machine(), processor="another")
    monkeypatch.setattr(_MACHINE, lambda: there)
    with pytest.raises(
        RecordError, match=r"no interrupted run with these parameters in .* on this kind of machine"
    ):
        _run("resume", [])
    said = list[str]()
    # It is stopped half-way through its second session, and goes on.
    with pytest.raises(SessionsLeftError):
        _run("session", said)
    assert said[0].startswith(
        f"sessions: the run in {first.name} was begun on another kind of machine (processor another"
    )
    with pytest.raises(_StoppedError):
        _run("session", [], stop_at="trial 2/")
    whole_there = _run("session", [])
    assert {path.name: path.read_bytes() for path in first.iterdir()} == kept
    monkeypatch.setattr(_MACHINE, lambda: here)
    whole_here = _run("session", [])
    for run, on in ((whole_there, there), (whole_here, here)):
        assert run.manifest.machine == on
        assert [one.machine for one in run.manifest.deployments if one.machine != on] == []
        assert run.trials["session"].to_list() == [0, 1, 1]
    assert set(whole_there.trials["started_unix_s"]).isdisjoint(whole_here.trials["started_unix_s"])
    assert not list(runs_folder.glob("*/incomplete-*"))


def test_a_machine_that_becomes_another_kind_within_a_run_ends_it_in_a_line(
    runs_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = machine()

    def told(line: str) -> None:
        if line.startswith("trial 1/"):
            monkeypatch.setattr(_MACHINE, lambda: replace(here, processor="another"))

    with pytest.raises(RecordError, match=r"another kind of machine \(processor another, not ") as caught:
        measurement_of(_SCENARIO, blocks=_BLOCKS, choices={}, sessions=_SESSIONS, say=told).run("live")
    assert "\n" not in str(caught.value)
    assert len(list(runs_folder.glob("*/incomplete-*/trial-*.json"))) == 1


@pytest.mark.usefixtures("runs_folder")
def test_each_session_keeps_how_long_it_waited_for_a_quiet_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = iter((7.0, 3.0))
    monkeypatch.setattr(
        "gapbook.trial.campaign.Patience",
        lambda: SimpleNamespace(after=lambda row: 0.0, waited_s=next(waits)),
    )
    with pytest.raises(SessionsLeftError):
        _run("session", [])
    run = _run("session", [])
    assert [row.waited_s for row in run.manifest.deployments] == [7.0, 3.0]


def test_a_session_that_ends_half_way_goes_on_with_what_it_had(runs_folder: Path) -> None:
    with pytest.raises(SessionsLeftError):
        _run("session", [])
    with pytest.raises(_StoppedError):
        _run("session", [], stop_at="trial 2/")
    kept = [path.read_bytes() for path in sorted(runs_folder.glob("*/incomplete-*/trial-*.json"))]
    assert len(kept) == 2
    said = list[str]()
    run = _run("session", said)
    assert [line.split(",")[0] for line in said if line.startswith("trial")] == ["trial 3/3"]
    assert run.trials["session"].to_list() == [0, 1, 1]
    assert [row.session for row in run.manifest.deployments] == [0, 1, 1]
    before = [json.loads(data)["content"]["started_unix_s"] for data in kept]
    assert run.trials["started_unix_s"].to_list()[:2] == before


def _kind() -> str:
    return kind_of(machine())


def _measurement() -> Measurement:
    return measurement_of(_SCENARIO, blocks=_BLOCKS, choices={}, sessions=_SESSIONS, say=lambda line: None)


def test_sessions_of_other_machines_make_one_run_in_whatever_order_they_come(
    runs_folder: Path, tmp_path: Path
) -> None:
    came = {number: _measurement().session(number, tmp_path / str(number)) for number in range(_SESSIONS)}
    second = came[1]
    trial = max(second)
    spoiled: dict[str, SessionFiles] = {
        "without all of its trials": {name: data for name, data in second.items() if name != trial},
        "was cut or changed": second | {trial: second[trial][:-9]},
        "was changed since it was written": second | {trial: second[trial].replace(b'"plant', b'"plent', 1)},
        "plan.json of another machine is missing": {
            name: data for name, data in second.items() if name != "plan.json"
        },
        "holds trial": second | {"trial-00000.json": second[trial]},
    }
    for why, files in spoiled.items():
        with pytest.raises(RecordError, match=why):
            _measurement().take(1, files, _kind())
        assert not list(runs_folder.glob("*/incomplete-*"))
    _measurement().take(1, second, _kind())
    assert _measurement().sessions_left() == [0]
    _measurement().take(0, came[0], _kind())
    assert _measurement().sessions_left() == []
    run = _measurement().finish()
    assert run.trials["session"].to_list() == [0, 1, 1]
    assert sorted(row.session for row in run.manifest.deployments) == [0, 1]
    kept = {
        json.loads(data)["content"]["started_unix_s"] for name, data in second.items() if name != "plan.json"
    }
    assert set(run.trials["started_unix_s"].to_list()[1:]) == kept


def test_sessions_of_two_kinds_of_machines_make_two_runs_whichever_kind_keeps_them(
    runs_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = machine(), replace(machine(), processor="another")
    cut = list[str]()
    monkeypatch.setattr("gapbook.trial.campaign.cut_disks", lambda *_what, **_how: cut.append("cut"))
    came = {}
    for on in (here, there):
        monkeypatch.setattr(_MACHINE, lambda on=on: on)
        for number in range(_SESSIONS):
            came[on.processor, number] = _cut_measurement().session(
                number, tmp_path / f"{kind_of(on)}-{number}"
            )
    # The power is cut where the last session was measured, and nowhere else.
    assert cut == ["cut"] * 2
    monkeypatch.setattr(_MACHINE, lambda: here)
    with pytest.raises(RecordError, match="session 1 came from another kind of machine than its worker said"):
        _cut_measurement().on(kind_of(here)).take(0, came[there.processor, 0], kind_of(here))
    assert not list(runs_folder.glob("*/incomplete-*"))
    for number in range(_SESSIONS):
        for on in (here, there):
            of_kind = _cut_measurement().on(kind_of(on))
            assert of_kind.take(number, came[on.processor, number], kind_of(on)) == on
            # What came is taken once more, as where this program ended before it noted so.
            of_kind.take(number, came[on.processor, number], kind_of(on))
    for on in (there, here):
        run = _cut_measurement().on(kind_of(on)).finish()
        assert run.manifest.machine == on
        assert [one.machine for one in run.manifest.deployments] == [on] * _SESSIONS
        assert [one.block for one in run.manifest.ceilings] == [0, 1, 2]
        assert run.trials["session"].to_list() == [0, 1, 1]
    assert cut == ["cut"] * 2
    assert not list(runs_folder.glob("*/incomplete-*"))


def _cut_measurement() -> Measurement:
    return measurement_of(
        _SCENARIO, blocks=_BLOCKS, choices={}, sessions=_SESSIONS, cuts=1, say=lambda line: None
    )


@pytest.mark.parametrize("gone", ["trial-00000.json", "trial-*.json"])
def test_a_run_that_was_ended_while_its_journal_was_removed_is_finished(
    gone: str, runs_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def remove_a_part(journal: Journal) -> None:
        for path in journal.directory.glob(gone):
            path.unlink()
        raise _StoppedError

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "remove", remove_a_part)
        with pytest.raises(_StoppedError):
            _run("live", [])
    assert list(runs_folder.glob("*/incomplete-*/plan.json"))
    said = list[str]()
    run = _run("resume", said)
    assert said == [f"sessions: run {run.run_id} is finished, nothing to resume"]
    assert run.trials["trial"].to_list() == [0, 1, 2]
    assert [path.name for path in (runs_folder / "sessions").iterdir()] == [run.run_id]


def test_every_block_has_a_ceiling_of_its_own(runs_folder: Path) -> None:
    run = _run("live", [])
    ceilings = run.manifest.ceilings
    assert [row.block for row in ceilings] == [0, 1, 2]
    assert run.trials["ceiling_per_s"].to_list() == [row.rate_per_s for row in ceilings]
    assert run.manifest.ceilings_per_s == median_ceilings(ceilings)
    assert runs_folder.is_dir()


def test_a_null_server_that_does_not_start_costs_its_ceilings_and_no_trial(
    runs_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: Any, **_named: Any) -> float:
        raise StackError("null server postgres: not ready: (empty log)")

    monkeypatch.setattr("gapbook.load.maker.measure_ceiling", fail)
    said = list[str]()
    run = _run("live", said)
    reasons = [line for line in said if line.startswith("no ceiling of rust/postgres")]
    assert len(reasons) == 3
    assert all(line.endswith(": null server postgres: not ready: (empty log)") for line in reasons)
    assert run.trials["trial"].to_list() == [0, 1, 2]
    assert run.trials["ceiling_per_s"].to_list() == [None] * 3
    assert runs_folder.is_dir()


def test_more_sessions_than_blocks_are_refused_before_any_server_starts(runs_folder: Path) -> None:
    with pytest.raises(ParameterError, match=r"sessions: 3 of 2 blocks; allowed: at most one for each block"):
        measurement_of(_SCENARIO, blocks=2, choices={}, sessions=3, say=lambda _line: None).run("live")
    assert not runs_folder.exists()
