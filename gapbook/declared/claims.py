"""``book/claims.toml``: the register of published claims; the head of that file says what its fields mean."""

from __future__ import annotations

from typing import Literal, TypeAlias

from gapbook.declared.reading import Declared

__all__ = [
    "ClaimDeclaration",
    "ClaimKind",
    "ClaimsDeclaration",
    "Conditions",
    "HypothesisDeclaration",
    "SourceDeclaration",
]

ClaimKind: TypeAlias = Literal["figure", "ratio", "cause", "qualitative", "arithmetic-note"]


class SourceDeclaration(Declared, frozen=True, kw_only=True):
    """A published document."""

    title: str
    what: str
    by: str
    short: str
    date: str = "undated"
    date_note: str | None = None
    setting: str | None = None
    repository: str | None = None
    number: int | None = None
    commit: str | None = None
    url: str = ""
    unrevised: str = ""
    links: tuple[str, ...] = ()
    links_note: str | None = None
    sessions: tuple[str, ...] = ()


class HypothesisDeclaration(Declared, frozen=True, kw_only=True):
    """What may be behind several claims, and what speaks for it."""

    says: str
    basis: str


class Conditions(Declared, frozen=True, kw_only=True):
    """What a document, or its command lines, say about how a number was made."""

    accounts: int | float | None = None
    alpha: int | float | None = None
    alpha_from: int | float | None = None
    alpha_to: int | float | None = None
    build: str | None = None
    client: str | None = None
    clients: int | float | None = None
    confirmed_reads: bool | None = None
    connections: int | float | None = None
    databases: int | float | None = None
    databases_from: int | float | None = None
    databases_to: int | float | None = None
    db_size_kb: int | float | None = None
    db_size_mb: int | float | None = None
    duration_s: int | float | None = None
    engine: str | None = None
    factor: str | None = None
    in_flight: int | float | None = None
    in_flight_per_connection: int | float | None = None
    inserts: int | float | None = None
    isolation: str | None = None
    journal_mode: str | None = None
    loop: str | None = None
    machine: str | None = None
    mode: str | None = None
    module: str | None = None
    n: int | float | None = None
    operation: str | None = None
    outage_s: int | float | None = None
    path: str | None = None
    payload: str | None = None
    per: str | None = None
    pocketbase: str | None = None
    processes: int | float | None = None
    protocol: str | None = None
    row_level_access_checks: bool | None = None
    service: str | None = None
    session: str | None = None
    state: str | None = None
    statistic: str | None = None
    stddev_per_s: int | float | None = None
    storage: str | None = None
    synchronous: str | None = None
    synchronous_commit: str | None = None
    system: str | None = None
    transport: str | None = None
    version: str | None = None
    versus: str | None = None
    vus: int | float | str | None = None
    vus_above: int | float | None = None
    vus_from: int | float | None = None
    vus_to: int | float | None = None
    wal_size_mb: int | float | None = None
    warmup_s: int | float | None = None
    window_s: int | float | None = None
    workload: str | None = None


class ClaimDeclaration(Declared, frozen=True, kw_only=True):
    """One published figure, ratio, explanation or statement, or our arithmetic on published figures."""

    id: str
    source: str
    where: str
    says: str
    kind: ClaimKind
    chapter: str
    check: str
    needs: tuple[str, ...]
    verifiable: Literal["native", "docker-only", "arithmetic"]
    also_in: tuple[str, ...] = ()
    as_printed: tuple[str, ...] = ()
    value: int | float | tuple[int | float, int | float] | None = None
    unit: str = ""
    qualifier: Literal["", "about", "almost", "below", "above"] = ""
    of: str | None = None
    over: str | None = None
    arithmetic: str | None = None
    conditions: Conditions = Conditions()
    hypotheses: tuple[str, ...] = ()


class ClaimsDeclaration(Declared, frozen=True, kw_only=True):
    """The register: documents, hypotheses and claims."""

    source: dict[str, SourceDeclaration]
    hypothesis: dict[str, HypothesisDeclaration]
    claim: tuple[ClaimDeclaration, ...]
