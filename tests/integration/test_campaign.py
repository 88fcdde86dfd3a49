"""A campaign over all contestants of the chapter on real servers: audited, recorded, resumed."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

import psutil
import pytest

from gapbook.errors import RecordError
from gapbook.model.plan import make_plan
from gapbook.record.durability import Durability
from gapbook.record.histograms import decode_histogram
from gapbook.record.journal import Journal
from gapbook.record.run import Run, stored_run
from gapbook.trial.campaign import measurement_of
from gapbook.trial.contestant import Contestant
from gapbook.trial.scenario import Scenario
from tests.bank import alphas, bank

_IN_FLIGHT = 16
_ROUND_TRIP_MS = 5.0
_CONTESTANTS = (
    Contestant("drizzle-rpc", "postgres", "drizzle", "rpc", "typescript", 1),
    Contestant("procedure-rpc", "postgres", "procedure", "rpc", "typescript", 1),
    Contestant("procedure-rpc-rust", "postgres", "procedure", "rpc", "rust", 1),
    Contestant("postgres-rust", "postgres", "procedure", "direct", "rust", 1),
    Contestant("postgres-rust-deep", "postgres", "procedure", "direct", "rust", _IN_FLIGHT),
    Contestant("postgres-batch", "postgres", "batch", "direct", "rust", 64),
    Contestant("sql-far", "postgres", "sql", "direct", "rust", 1, round_trip_ms=_ROUND_TRIP_MS),
    Contestant(
        "postgres-serializable",
        "postgres",
        "procedure",
        "direct",
        "rust",
        1,
        isolation="serializable",
        max_retries=1000,
    ),
    Contestant("postgres-one-core", "postgres", "procedure", "direct", "rust", 1, server_cores=1),
    Contestant("spacetimedb-rust", "spacetimedb", "reducer", "direct", "rust", 1),
    Contestant("spacetimedb-rust-deep", "spacetimedb", "reducer", "direct", "rust", _IN_FLIGHT),
)
_ALPHA = 1.5
_SERIALIZABLE, _ONE_CORE = "postgres (serializable)", "postgres (1 core)"
_SCENARIO = Scenario(
    chapter="campaign",
    contestants=_CONTESTANTS,
    workload=bank(1000),
    treatment=alphas(_ALPHA),
    connections=8,
    window_s=0.5,
    warmup_s=0.2,
    durability=Durability("delayed", 500.0),
    seed=4432,
)


class _StoppedError(Exception):
    """Stands for whatever ends a run between two trials."""


@pytest.fixture(name="finished", scope="module")
def _finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, dict[str, bytes], list[str]]:
    """A run stopped after its third trial and resumed: it, what was kept then, what was said after."""
    runs, said = tmp_path_factory.mktemp("campaign"), list[str]()

    cores = set[tuple[int, ...]]()

    def stop(line: str) -> None:
        if line.startswith("trial 3/"):
            cores.update(_cores_of_servers())
            raise _StoppedError

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GAPBOOK_RUNS", str(runs))
        with pytest.raises(_StoppedError):
            measurement_of(_SCENARIO, blocks=1, choices={}, say=stop).run("live")
        # One server has one core to itself, the others have all of them.
        allowed = tuple(sorted(os.sched_getaffinity(0)))
        assert cores == {allowed[:1], allowed}
        kept = {path.name: path.read_bytes() for path in runs.glob("*/incomplete-*/trial-*.json")}
        with pytest.raises(RecordError, match="use source=resume to finish it"):
            measurement_of(_SCENARIO, blocks=1, choices={}, say=said.append).run("live")
        with pytest.raises(RecordError, match="no interrupted run with these parameters"):
            measurement_of(_SCENARIO, blocks=2, choices={}, say=said.append).run("resume")
        assert said == []
        _resume_with_another_server(runs)
        run = measurement_of(_SCENARIO, blocks=1, choices={}, say=said.append).run("resume")
        again = measurement_of(_SCENARIO, blocks=1, choices={}, say=said.append).run("resume")
        read_back = stored_run(_SCENARIO.chapter, run.run_id)
    assert said[-1] == f"campaign: run {run.run_id} is finished, nothing to resume"
    assert again.run_id == run.run_id
    assert read_back.manifest == run.manifest
    assert read_back.trials.equals(run.trials)
    assert read_back.histograms.equals(run.histograms)
    return run, kept, said


def _cores_of_servers() -> set[tuple[int, ...]]:
    """On which cores each Postgres process of this test may run."""
    found = set()
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if process.name() == "postgres":
                found.add(tuple(sorted(process.cpu_affinity())))
    return found


def _resume_with_another_server(runs: Path) -> None:
    """A run begun with one server must not be finished with another; what was measured is kept."""
    (path,) = runs.glob("*/incomplete-*/plan.json")
    original = path.read_bytes()
    plan = json.loads(original)["content"]
    plan["facts"]["systems"][_SERIALIZABLE]["sha256"] = "0" * 64
    Journal(path.parent.parent, path.parent.name.removeprefix("incomplete-"), ()).write_plan(plan)
    with pytest.raises(RecordError) as caught:
        measurement_of(_SCENARIO, blocks=1, choices={}, say=lambda _line: None).run("resume")
    assert f"systems changed since the run was interrupted ({_SERIALIZABLE})" in str(caught.value)
    assert "use source=live" in str(caught.value)
    assert len(list(path.parent.glob("trial-*.json"))) == 3
    path.write_bytes(original)


def _rows(run: Run) -> list[dict[str, Any]]:
    return list(run.trials.iter_rows(named=True))


def test_every_trial_is_reconciled_to_the_unit(finished: tuple[Run, dict[str, bytes], list[str]]) -> None:
    run, _, _ = finished
    assert {row["contestant"] for row in _rows(run)} == {one.name for one in _CONTESTANTS}
    for row in _rows(run):
        gates = {gate["name"]: gate for gate in json.loads(row["gates"])}
        assert gates["reconciled"]["passed"], (row["contestant"], gates["reconciled"]["text"])
        assert gates["settings"]["passed"], (row["contestant"], gates["settings"]["text"])
        # Where collisions were rolled back, the engine's count holds those too: the balances decide alone.
        uncounted = row["contestant"] == "postgres-serializable" and row["retried"] > 0
        assert row["committed"] == (None if uncounted else row["acknowledged"])
        assert row["acknowledged"] > 0
        assert (row["in_doubt"], row["mismatched_accounts"]) == (0, 0)
        # Every trial is judged by all gates, whatever they find.
        assert len(gates) >= 6


def test_trials_are_those_of_the_plan_in_its_order(finished: tuple[Run, dict[str, bytes], list[str]]) -> None:
    run, _, _ = finished
    names = [contestant.name for contestant in _CONTESTANTS]
    plan = make_plan(names, [_ALPHA], blocks=1, seed=4432)
    columns = ("trial", "block", "contestant", "treatment", "work_seed")
    assert [tuple(row[name] for name in columns) for row in _rows(run)] == [
        tuple(vars(planned).values()) for planned in plan
    ]
    began = run.trials["started_unix_s"].to_list()
    assert began == sorted(began)


def test_resume_measures_only_what_was_missing(finished: tuple[Run, dict[str, bytes], list[str]]) -> None:
    run, kept, said = finished
    assert sorted(kept) == ["trial-00000.json", "trial-00001.json", "trial-00002.json"]
    for content in kept.values():
        before = json.loads(content)["content"]
        after = run.trials.row(before["trial"], named=True)
        assert (after["started_unix_s"], after["acknowledged"]) == (
            before["started_unix_s"],
            before["acknowledged"],
        )
    trials = [line.split(",")[0] for line in said if line.startswith("trial")]
    total = len(_CONTESTANTS)
    assert trials == [f"trial {number}/{total}" for number in range(4, total + 1)]
    assert len(run.manifest.resumed_unix_s) == 1


def test_histograms_hold_the_goodput_of_their_trial(
    finished: tuple[Run, dict[str, bytes], list[str]],
) -> None:
    run, _, _ = finished
    for row, histograms in zip(_rows(run), run.histograms.iter_rows(named=True), strict=True):
        counted = decode_histogram(histograms["service_time_histogram"]).get_total_count()
        assert counted == round(row["goodput_per_s"] * _SCENARIO.window_s)
        latency_ms = [entry["latency_ms"] for entry in json.loads(row["latency_ms"])]
        assert latency_ms == sorted(latency_ms)
        assert latency_ms[0] > 0


def test_a_trial_carries_the_cost_of_its_parts(finished: tuple[Run, dict[str, bytes], list[str]]) -> None:
    run, _, _ = finished
    for row in _rows(run):
        has_tier = "-rpc" in row["contestant"]
        # On a busy machine a part may get less than a tick of the kernel's clock, as the relay of a distance may on any.
        assert row["tier_cpu_s"] is not None
        if row["contestant"] != "sql-far" and (row["valid"] or not has_tier):
            assert (row["tier_cpu_s"] > 0) == has_tier
        assert any(key.startswith("tier: ") for key in json.loads(row["settings"])) == has_tier
        assert row["server_memory_bytes"] > 2**20
        assert row["client_cpu_s"] > 0
        assert row["ceiling_per_s"] > 0


def test_each_transfer_waits_for_the_added_round_trip(
    finished: tuple[Run, dict[str, bytes], list[str]],
) -> None:
    """Five statements are five round trips, however fast the server is."""
    run, _, _ = finished
    (row,) = (row for row in _rows(run) if row["contestant"] == "sql-far")
    (number,) = (number for number, other in enumerate(_rows(run)) if other == row)
    encoded = run.histograms.row(number, named=True)["service_time_histogram"]
    assert decode_histogram(encoded).get_min_value() / 1e6 >= 5 * _ROUND_TRIP_MS * 0.99


def test_collisions_of_the_serializable_level_are_sent_again(
    finished: tuple[Run, dict[str, bytes], list[str]],
) -> None:
    run, _, _ = finished
    again = {row["contestant"]: row["retried"] for row in _rows(run)}
    assert again["postgres-serializable"] > 0
    assert again["postgres-rust"] == again["spacetimedb-rust"] == 0


def test_manifest_says_what_ran(finished: tuple[Run, dict[str, bytes], list[str]]) -> None:
    run, _, _ = finished
    systems = run.manifest.systems
    assert systems.keys() == {"postgres", _SERIALIZABLE, _ONE_CORE, "spacetimedb"}
    isolation = "default_transaction_isolation"
    assert systems[_SERIALIZABLE].settings[isolation] == "serializable"
    assert systems["postgres"].settings[isolation] == "read committed"
    assert systems["postgres"].version.startswith("18.")
    assert systems["spacetimedb"].version == "1.2.0"
    assert all(len(system.sha256) == 64 for system in systems.values())
    assert run.scenario == _SCENARIO.recorded()
    written = (run.folder / "manifest.json").read_text(encoding="utf-8")
    assert Path("/proc/sys/kernel/hostname").read_text(encoding="utf-8").strip() not in written
