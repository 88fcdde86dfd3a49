"""Synthetic runs, stored and read back as a measured one is, in the shapes that trouble can give them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
from hdrh.histogram import HdrHistogram

from gapbook.method.cell_key import cell_key
from gapbook.method.cells import Named
from gapbook.method.findings import Findings
from gapbook.method.same import Cell
from gapbook.model.plan import PlannedTrial, make_plan
from gapbook.pages.answer import answer
from gapbook.pages.page import Answer
from gapbook.record.durability import Durability
from gapbook.record.journal import Journal
from gapbook.record.run import MANIFEST, Run
from gapbook.record.scenario import RecordedScenario
from gapbook.trial.contestant import Contestant
from gapbook.trial.scenario import Scenario
from tests.bank import alphas, bank

CHAPTER = "synthetic"
DRIZZLE = Contestant("drizzle", "postgres", "drizzle", "direct", "typescript", 1)
SQL = Contestant("sql", "postgres", "sql", "direct", "typescript", 1)
PROCEDURE = Contestant("procedure", "postgres", "procedure", "direct", "typescript", 1)
PROCEDURE_RUST = Contestant("procedure-rust", "postgres", "procedure", "direct", "rust", 1)
SPACETIMEDB = Contestant("spacetimedb", "spacetimedb", "reducer", "direct", "typescript", 1)
SPACETIMEDB_RUST = Contestant("spacetimedb-rust", "spacetimedb", "reducer", "direct", "rust", 1)
REPLAYED = Contestant(
    "replayed",
    "spacetimedb",
    "reducer",
    "direct",
    "rust",
    8,
    flaws=({"name": "replayed-pairs", "batch": 100}, {"name": "clock-between-batches", "batch": 100}),
)
CONTESTANTS = (DRIZZLE, SQL, PROCEDURE, PROCEDURE_RUST, SPACETIMEDB, SPACETIMEDB_RUST, REPLAYED)
MACHINE = {
    "processor": "Zen 2",
    "processors": 2,
    "memory_bytes": 2**33,
    "kernel": "Linux 6.1",
    "file_system": "ext4",
    "virtual": True,
}
GOODPUT_PER_S = dict(
    zip((one.name for one in CONTESTANTS), (1e3, 2e3, 8e3, 16e3, 16e3, 48e3, 90e3), strict=True)
)
SCENARIO = Scenario(
    chapter=CHAPTER,
    contestants=CONTESTANTS,
    workload=bank(100),
    treatment=alphas(0.0, 1.5),
    connections=8,
    window_s=2.0,
    warmup_s=0.5,
    durability=Durability("delayed", 500.0),
    seed=7,
)


def broken(planned: PlannedTrial) -> dict[str, Any]:
    """A trial whose client or server broke: it has no number."""
    return _head(planned) | {
        "valid": False,
        "refused_because": "client gap-postgres: ended with code 4",
        "labels": [],
        "gates": [],
        "took_s": 1.0,
    }


def refused(planned: PlannedTrial) -> dict[str, Any]:
    """A trial that was measured and then refused by a gate."""
    row = valid(planned)
    gates = [{**gate, "passed": False, "value": 0.4} for gate in row["gates"]]
    return row | {"valid": False, "refused_because": "quiet machine: 40 % by others", "gates": gates}


def valid(planned: PlannedTrial, goodput_per_s: float | None = None, **changed: Any) -> dict[str, Any]:
    """A trial without a fault, a little faster in each block than in the one before."""
    if goodput_per_s is None:
        goodput_per_s = GOODPUT_PER_S[planned.contestant] * 1.01**planned.block / (1 + planned.treatment)
    histogram = HdrHistogram(1_000, 60_000_000_000, 3)
    for latency_ns in (1_000_000, 2_000_000, 9_000_000):
        histogram.record_value(latency_ns, 1000)
    encoded = histogram.encode().decode()
    gate = {"name": "quiet machine", "passed": True, "value": 0.01, "limit": 0.05, "text": "1 %"}
    return _head(planned) | {
        "valid": True,
        "refused_because": None,
        "labels": ["client-bound: 93 % of one core"],
        "gates": [gate],
        "ceiling_per_s": 1e6,
        "goodput_per_s": goodput_per_s,
        "completed_in_window": round(goodput_per_s * 2) + 8,
        "mean_in_flight": 8.0,
        "mean_service_time_s": 8 / goodput_per_s,
        "attempted": round(goodput_per_s * 2.5) + 2,
        "in_doubt": 0,
        "client_cpu_s": 0.5,
        "acknowledged": round(goodput_per_s * 2.5),
        "committed": round(goodput_per_s * 2.5),
        "metric_transactions": None,
        "mismatched_accounts": 0,
        "failed": {"insufficient": 2},
        "per_second": [round(goodput_per_s)] * 3,
        "retried": 3 if planned.contestant == "procedure-rust" else 0,
        "flawed": {},
        "latency_ms": [
            {"percentile": percentile, "latency_ms": percentile / 10, "operations_above": above}
            for percentile, above in ((50.0, 5000), (99.0, 100), (99.9, 10))
        ],
        "service_time_histogram": encoded,
        "response_time_histogram": encoded,
        "server_memory_bytes": 2**28,
        "log_bytes": 1000,
        "catch_up_s": 0.5,
        "catch_up_cpu_s": 0.1,
        "took_s": 4.0,
        **changed,
    }


def _head(planned: PlannedTrial) -> dict[str, Any]:
    return {
        "trial": planned.number,
        "block": planned.block,
        "contestant": planned.contestant,
        "treatment": planned.treatment,
        "work_seed": planned.work_seed,
        "started_unix_s": 1.0 + planned.number,
    }


def planned_trials(
    blocks: int, scenario: Scenario = SCENARIO, trials_per_block: Mapping[str, float] | None = None
) -> list[PlannedTrial]:
    names = [contestant.name for contestant in scenario.contestants]
    return list(
        make_plan(
            names,
            scenario.treatment.values,
            blocks=blocks,
            seed=scenario.seed,
            trials_per_block=trials_per_block,
        )
    )


def whole(blocks: int = 3) -> list[dict[str, Any]]:
    return [valid(planned) for planned in planned_trials(blocks)]


def patchy() -> list[dict[str, Any]]:
    """One cell broke in every trial, one was refused in every trial, and the last block was cut short."""
    rows = []
    for planned in planned_trials(3)[:-6]:
        cell = planned.contestant, planned.treatment
        make = {("procedure", 1.5): broken, ("drizzle", 1.5): refused, ("replayed", 0.0): refused}
        rows.append(make.get(cell, valid)(planned))
    return rows


def nothing_came_through() -> list[dict[str, Any]]:
    return [broken(planned) for planned in planned_trials(2)]


def nothing_valid() -> list[dict[str, Any]]:
    return [refused(planned) for planned in planned_trials(2)]


def store(
    folder: Path,
    rows: Sequence[Mapping[str, Any]],
    *,
    scenario: Scenario = SCENARIO,
    recorded: RecordedScenario | None = None,
    planned: Sequence[PlannedTrial] | None = None,
    **facts: Any,
) -> Run:
    """A finished run of these rows; ``recorded`` is what it says of its scenario, where that is another, and
    ``planned`` its plan, where that is not one trial of each cell in each block."""
    system = {"version": "1.0", "sha256": "a" * 64, "settings": {"fsync": "on"}}
    manifest: dict[str, Any] = {
        "chapter": scenario.chapter,
        "scenario": (recorded or scenario.recorded()).as_dict(),
        "blocks": 1 + max(int(row["block"]) for row in rows),
        "sessions": 1 + max(int(row.get("session", 0)) for row in rows),
        "machine": MACHINE,
        "systems": {"postgres": system, "spacetimedb": system},
        "code": {"revision": "0" * 40, "changed": False},
        "started_unix_s": 1_760_000_000.0,
        "plan_key": "key",
        "trials": [
            [row["trial"], row["block"], row["contestant"], row["treatment"], row["work_seed"]]
            for row in rows
        ],
        **facts,
    }
    journal = Journal(folder, "key", planned or planned_trials(manifest["blocks"], scenario))
    with journal.locked(resume=False):
        journal.write_plan({"facts": {}})
        for row in rows:
            journal.add(row)
        assert not journal.left_out()
        return journal.finish(manifest)


def without(run: Run, name: str, folder: Path, *, why: str = "") -> Run:
    """The run of a reader whose machine lacks a contestant, as ``why`` says, or who did not ask for it. Of its files there
    is the manifest alone."""
    whole = run.manifest
    left = [one for one in whole.scenario.contestants if one.name != name]
    servers = {one.server for one in left}
    manifest = msgspec.structs.replace(
        whole,
        scenario=msgspec.structs.replace(whole.scenario, contestants=left),
        systems={server: system for server, system in whole.systems.items() if server in servers},
        trials=[row for row in whole.trials if row[2] != name],
        kill_checks=[row for row in whole.kill_checks if row.contestant != name],
        cut_checks=[row for row in whole.cut_checks if row.contestant != name],
        absent={name: why} if why else {},
    )
    written = {**msgspec.to_builtins(manifest), "run_id": run.run_id}
    (folder / MANIFEST).write_bytes(msgspec.json.encode(written))
    trials = run.trials.filter(pl.col("contestant") != name)
    histograms, metrics = (
        table.join(trials.select("trial"), on="trial", how="semi") for table in (run.histograms, run.metrics)
    )
    return dataclasses.replace(
        run, folder=folder, manifest=manifest, trials=trials, histograms=histograms, metrics=metrics
    )


def cells_by_key(run: Run) -> dict[str, Cell]:
    """Every cell that the run's scenario can have, by its key; of two that are the same, the one stated first."""
    found: dict[str, Cell] = {}
    for contestant in run.scenario.contestants:
        for treatment in run.scenario.treatment.values:
            found.setdefault(cell_key(run, contestant, treatment), Cell(contestant.name, treatment))
    return found


def kills(contestant: str, lost: int, verdict: str) -> dict[str, Any]:
    """The row of a kill that took so many transfers, at a thousand a second."""
    return {
        "contestant": contestant,
        "durability": "delayed(500 ms)",
        "acknowledged": 9000,
        "lost": lost,
        "lost_s": lost / 1000,
        "load_s": 2.0,
        "recovered_in_s": 0.3,
        "resolved": True,
        "note": None,
        "verdict": verdict,
    }


def answer_ratio(
    found: Findings,
    over: Named,
    under: Named,
    sentence: str = "{over} committed {ratios} as many {operations} per second as {under}.",
) -> Answer:
    """The answer to one comparison."""
    return answer(found, (sentence, over, under))
