"""Formats 1 and 2 of the record, read as format 3; and what format 3 did not hold from its beginning.

They held the settings of each contestant and left its labels and levels to the code of their reader. What
that code said of the systems there were is kept in ``older.toml``; no stack and no module is asked. The
treatment was called alpha, and was always the Zipf exponent of bank transfers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import msgspec
import polars as pl

from gapbook.declared.older import OlderAccess, OlderClient, OlderDeclaration, OlderSystem, OlderTier
from gapbook.declared.reading import read
from gapbook.model.work import REDRAW_BOTH
from gapbook.record.describe import Said, described
from gapbook.record.fields import Amount, Count, Name, Positive, Window
from gapbook.record.scenario import (
    ContestantSettings,
    RecordedContestant,
    RecordedScenario,
    RecordedTreatment,
    RecordedWorkload,
    require_durability,
)

__all__ = ["LAST_OLDER_FORMAT", "has_threaded_client", "upgraded_manifest", "upgraded_trials"]

LAST_OLDER_FORMAT = 2
_Alpha = Annotated[float, msgspec.Meta(ge=0, le=100)]
_WORKLOAD_LABELS = {"transfer": "Bank transfers"}
_BALANCE = "initial_balance"


class _Workload(msgspec.Struct, forbid_unknown_fields=True):
    accounts: int
    initial_balance: Count = 0
    amount_max: Positive = 1
    name: Name = "transfer"
    redraw: str = REDRAW_BOTH


class _Scenario(msgspec.Struct, forbid_unknown_fields=True):
    chapter: Name
    contestants: list[ContestantSettings]
    workload: _Workload
    alphas: list[_Alpha]
    connections: Positive
    window_s: Window
    warmup_s: Amount
    durability: str
    seed: Count
    drain_s: Amount = 0.0
    request_timeout_s: Amount = 0.0
    varies: list[str] = msgspec.field(default_factory=list)

    def __post_init__(self) -> None:
        require_durability(self.durability)


class _Manifest(msgspec.Struct):
    scenario: _Scenario


def upgraded_manifest(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A manifest of format 1 or 2 with its scenario as format 3 has it; raises msgspec.ValidationError."""
    scenario = msgspec.convert(_with_parameters(manifest), _Manifest).scenario
    return {**manifest, "scenario": _recorded(scenario).as_dict()}


def _with_parameters(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """The manifest with the balance that a contestant had of its own among its parameters, as any other."""
    scenario = manifest.get("scenario")
    if not isinstance(scenario, Mapping):
        return manifest
    rows = scenario.get("contestants")
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        return manifest
    return {**manifest, "scenario": {**scenario, "contestants": list(map(_with_own_parameters, rows))}}


def _with_own_parameters(row: Mapping[str, Any]) -> dict[str, Any]:
    kept = dict(row)
    balance = kept.pop(_BALANCE, None)
    return kept if balance is None else {**kept, "parameters": {_BALANCE: balance}}


def upgraded_trials(table: pl.DataFrame) -> pl.DataFrame:
    """Trials of format 1 or 2 with the column of their treatment by the name that it has in format 3."""
    older = "alpha" in table.columns and "treatment" not in table.columns
    return table.rename({"alpha": "treatment"}) if older else table


def has_threaded_client(contestant: RecordedContestant) -> bool:
    """Whether the client of a contestant made its load on several threads: as its run recorded it, else as it is kept of
    that client. What the client says of itself today may not be what it was."""
    if contestant.client_threaded is None:
        return _kept().client.get(contestant.client, OlderClient()).threaded
    return contestant.client_threaded


def _recorded(scenario: _Scenario) -> RecordedScenario:
    workload = msgspec.structs.asdict(scenario.workload)
    name = workload.pop("name")
    return RecordedScenario(
        chapter=scenario.chapter,
        contestants=[
            described(given, _said(given), durability=scenario.durability, window_s=scenario.window_s)
            for given in scenario.contestants
        ],
        workload=RecordedWorkload(name, _WORKLOAD_LABELS.get(name, name), workload),
        treatment=RecordedTreatment("alpha", "α", "", scenario.alphas, words="Zipf exponent α"),
        connections=scenario.connections,
        window_s=scenario.window_s,
        warmup_s=scenario.warmup_s,
        durability=scenario.durability,
        seed=scenario.seed,
        drain_s=scenario.drain_s,
        request_timeout_s=scenario.request_timeout_s,
        varies=scenario.varies,
    )


def _said(given: ContestantSettings) -> Said:
    """What is kept of a contestant's system, access level and tier; raw names for what is not kept."""
    system = _kept().system.get(given.system, OlderSystem())
    access = system.access.get(given.access, OlderAccess())
    tier = system.tier.get(given.tier, OlderTier(label=given.tier))
    return Said(
        system=system.label or given.system,
        colour=given.system,
        access=access.label or given.access,
        level=access.level or given.access,
        tier=tier.label,
        protocol=tier.protocol,
        in_process=system.in_process,
        simulated=system.simulated,
        counts_commits=system.counts_commits,
        defect=access.defect,
        program=access.program,
        planted=access.planted,
        parameters=", ".join(f"{balance:,} in each account" for balance in given.parameters.values()),
    )


@cache
def _kept() -> OlderDeclaration:
    return read(Path(__file__).with_name("older.toml"), OlderDeclaration)
