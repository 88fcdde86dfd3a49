"""What the manifest of a stored run may hold: its keys, their types and ranges.

It is checked once, where a run is read, so that no reader of a run meets a key that is not there or a
value of another type. Text stays text: pages escape it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from gapbook.record.cuts import CutCheck
from gapbook.record.environment import Environment
from gapbook.record.fields import (
    Amount,
    Count,
    Name,
    Sha256,
    TreatmentValue,
    UnixSeconds,
)
from gapbook.record.fsync import FsyncTest
from gapbook.record.losses import KillCheck
from gapbook.record.machine import Machine
from gapbook.record.older import LAST_OLDER_FORMAT, upgraded_manifest
from gapbook.record.scenario import RecordedScenario

__all__ = [
    "FILES",
    "FORMAT_VERSION",
    "HISTOGRAMS",
    "METRICS",
    "TRIALS",
    "UNKNOWN_REVISION",
    "Batches",
    "CeilingOfBlock",
    "Code",
    "Deployed",
    "Environment",
    "Facts",
    "Flawed",
    "LoadHost",
    "Manifest",
    "MeasuredWith",
    "Percentiles",
    "Replayed",
    "System",
    "Transactions",
    "checked_manifest",
    "manifest_schema",
    "one_line",
]

FORMAT_VERSION = 3
TRIALS, HISTOGRAMS, METRICS = "trials.parquet", "histograms.parquet", "metrics.parquet"
FILES = (TRIALS, HISTOGRAMS, METRICS)
UNKNOWN_REVISION = "unknown"
_MOST_CHARACTERS = 200


class System(msgspec.Struct, omit_defaults=True):
    version: str
    sha256: str
    settings: dict[str, str]
    built: str | None = None
    """How the binary was built otherwise than its vendor builds it."""
    backend: str = "native"
    """Where it ran (:class:`gapbook.record.placement.Placement`)."""
    container: dict[str, str] | None = None
    """What is known of its containers: engine, images with their hashes, network, place of the data."""


class Code(msgspec.Struct):
    revision: str
    """The commit of the checkout that measured; :data:`UNKNOWN_REVISION` where git could not tell."""
    changed: bool


class Deployed(msgspec.Struct):
    session: Count
    started_unix_s: UnixSeconds
    machine: Machine | None = None
    """None in a run that did not say it of each session; then it is that of the run."""
    waited_s: Amount = 0.0
    """How long the session waited, in all, for the machine to be quiet."""
    environment: Environment | None = None
    """None in a run from when everything was started with all variables of the shell."""
    clock_mhz: Amount | None = None
    """The present clock of the first processor, as the kernel says it."""
    fsync: FsyncTest | None = None
    """How fast the disk under the servers' data was before they started."""
    tier_programs: dict[Name, str] | None = None
    """What each program that runs a server between client and system says of its version; None where nobody asked."""


class MeasuredWith(msgspec.Struct):
    """The run that a campaign measured for several chapters together: a chapter's own is cut from it."""

    run: str
    chapters: list[Name]


class CeilingOfBlock(msgspec.Struct, omit_defaults=True):
    block: Count
    key: str
    rate_per_s: Amount | None
    by_host: list[Amount | None] = msgspec.field(default_factory=list)
    """That of the client of each load host, with its share of the connections; ``rate_per_s`` is then the rate of all at
    which the first of them is at its own."""


class LoadHost(msgspec.Struct, omit_defaults=True):
    """A host from which a part of each load came; a trial says what, by its place in the list."""

    machine: Machine
    clock_bound_s: Amount | None = None
    """Within how many seconds its clock was known, at the trial for which that was worst; None before any."""


class Files(msgspec.Struct, forbid_unknown_fields=True):
    """sha256 of each file of a run. The names are these and no others, so that none leads elsewhere."""

    trials: Sha256 = msgspec.field(name=TRIALS)
    histograms: Sha256 = msgspec.field(name=HISTOGRAMS)
    metrics: Sha256 | None = msgspec.field(default=None, name=METRICS)
    """None in a run of an older format, whose metrics follow from its trials."""

    def by_name(self) -> dict[str, str]:
        """The hashes of the files that there are."""
        hashes = zip(self.__struct_encode_fields__, msgspec.structs.astuple(self), strict=True)
        return {name: sha256 for name, sha256 in hashes if sha256 is not None}


class Manifest(msgspec.Struct):
    """What ``manifest.json`` holds. Keys that are not named here are kept and read by nobody.

    ``trials`` is the plan: number, block, contestant, value of the treatment and seed of the work of each.
    """

    format: int
    files: Files
    chapter: Name
    scenario: RecordedScenario
    blocks: Annotated[int, msgspec.Meta(ge=1, le=100_000)]
    machine: Machine
    systems: dict[str, System]
    code: Code
    started_unix_s: UnixSeconds
    trials: list[tuple[Count, Count, str, TreatmentValue, Count]]
    attempts: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 1
    kills: Count = 0
    kill_checks: list[KillCheck] = msgspec.field(default_factory=list)
    cuts: Count = 0
    cut_checks: list[CutCheck] = msgspec.field(default_factory=list)
    plan_key: str | None = None
    finished_unix_s: UnixSeconds | None = None
    resumed_unix_s: list[UnixSeconds] = msgspec.field(default_factory=list)
    modules: dict[str, str] = msgspec.field(default_factory=dict)
    servers: dict[str, str] = msgspec.field(default_factory=dict)
    ceilings_per_s: dict[str, Amount | None] = msgspec.field(default_factory=dict)
    parameters: dict[str, Any] | None = None
    """The parameters of the chapter as they were given; None for a run that did not keep them."""
    sessions: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 1
    deployments: list[Deployed] = msgspec.field(default_factory=list)
    ceilings: list[CeilingOfBlock] = msgspec.field(default_factory=list)
    absent: dict[str, str] = msgspec.field(default_factory=dict)
    """Contestants that could not be measured, each with the reason."""
    measured_with: MeasuredWith | None = None
    """None for a run that was measured for its chapter alone."""
    load_hosts: list[LoadHost] = msgspec.field(default_factory=list)
    """The hosts from which the load came; none where clients ran beside the server."""

    def __post_init__(self) -> None:
        numbers = Counter(trial[0] for trial in self.trials)
        if twice := [number for number, count in numbers.items() if count > 1]:
            raise ValueError(f"trials: number {twice[0]} stands twice in the plan")
        if self.format > LAST_OLDER_FORMAT and self.files.metrics is None:
            raise ValueError(f"files: {METRICS} is not among them")


class Facts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What a run under way has written down besides its trials; each field is that of its manifest."""

    started_unix_s: UnixSeconds
    machine: Machine
    code: Code
    parameters: dict[str, Any] | None = None
    resumed_unix_s: list[UnixSeconds] = msgspec.field(default_factory=list)
    deployments: list[Deployed] = msgspec.field(default_factory=list)
    systems: dict[str, System] = msgspec.field(default_factory=dict)
    modules: dict[str, str] = msgspec.field(default_factory=dict)
    ceilings: list[CeilingOfBlock] = msgspec.field(default_factory=list)
    kill_checks: list[KillCheck] = msgspec.field(default_factory=list)
    cut_checks: list[CutCheck] = msgspec.field(default_factory=list)
    load_hosts: list[LoadHost] = msgspec.field(default_factory=list)

    def finished(self, ceilings_per_s: Mapping[str, float | None], finished_unix_s: float) -> dict[str, Any]:
        """What a manifest says of them once the run is over: also that there was no kill, and no ceiling."""
        always = {"ceilings": [], "kill_checks": [], "ceilings_per_s": ceilings_per_s}
        return {**always, **msgspec.to_builtins(self), "finished_unix_s": finished_unix_s}


class Replayed(msgspec.Struct):
    """What was counted as transfers, and of how many different pairs of accounts these were."""

    transfers: Count
    distinct_pairs: Count


class Batches(msgspec.Struct):
    """A clock that was read between rounds of ``batch`` operations, and how long a round took."""

    batch: Count
    batches: Count
    transactions_per_s: Amount | None
    mean_batch_latency_s: Amount | None
    max_batch_latency_s: Amount


class Transactions(msgspec.Struct):
    """A rate by another rule; None where its client could not tell one."""

    transactions_per_s: Amount | None


class Percentiles(msgspec.Struct):
    """The 99th percentile of the window, and those of its seconds with their median."""

    p99_ns: Amount | None
    median_of_per_second_p99_ns: Amount | None
    per_second_p99_ns: list[Amount | None]


class Flawed(msgspec.Struct, rename="kebab", forbid_unknown_fields=True):
    """What a client counted by the rule of each flaw that it was asked for (clients/CONTRACT.md)."""

    replayed_pairs: Replayed | None = None
    clock_between_batches: Batches | None = None
    status_unread: Transactions | None = None
    counts_finished_tasks: Transactions | None = None
    median_of_per_second_p99: Percentiles | None = None

    def names(self) -> list[str]:
        """The flaws that it holds."""
        stored = zip(self.__struct_fields__, self.__struct_encode_fields__, strict=True)
        return [name for field, name in stored if getattr(self, field) is not None]

    def of(self, flaw: str) -> Replayed | Batches | Transactions | Percentiles | None:
        """What was counted by the rule of that flaw; None where that was not asked for, or is counted by none."""
        found: Replayed | Batches | Transactions | Percentiles | None = getattr(
            self, flaw.replace("-", "_"), None
        )
        return found


def checked_manifest(manifest: Mapping[str, Any]) -> Manifest:
    """The manifest in today's format, with everything that may be left out at its default.

    Raises ValueError in one line. ``format`` stays that in which the run is stored.
    """
    try:
        older = manifest["format"] <= LAST_OLDER_FORMAT
        current = upgraded_manifest(manifest) if older else manifest
        return msgspec.convert(current, Manifest)
    except (msgspec.ValidationError, ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"manifest.json: {one_line(error)}") from error


def manifest_schema() -> str:
    """What a manifest of today's format holds, as JSON Schema 2020-12."""
    described = {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(Manifest)}
    return json.dumps(described, indent=1, ensure_ascii=False) + "\n"


def one_line(error: BaseException | str) -> str:
    """The first line of an error, cut where it is long."""
    text = " ".join(str(error).split("\n", 1)[0].split())
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]} …"
