"""How a contestant is described: its levels and labels, from its settings and what its system says of itself.

One place for the run that is made now and for stored ones of formats that left this to their readers.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gapbook.record.durability import Durability
from gapbook.record.scenario import ContestantSettings, RecordedContestant

__all__ = [
    "ENGINE_SETTING",
    "SETTINGS_OF",
    "TIER_SETTING",
    "USUAL_DURABILITY",
    "Said",
    "described",
    "detail_of",
    "levels_of",
    "server_of",
    "versioned",
]

USUAL_DURABILITY = "as the scenario"
"""The level of a contestant that has the promise of its scenario."""
SETTINGS_OF: Mapping[str, tuple[str, ...]] = {
    "system": ("system", "version"),
    "access": ("access",),
    "tier": ("tier",),
    "client": ("client",),
    "in flight": ("in_flight",),
    "durability": ("durability",),
    "isolation": ("isolation",),
    "server cores": ("server_cores", "client_apart"),
    "round trip": ("round_trip_ms",),
}
"""The settings of a contestant that make its level in a dimension which a chapter may vary."""
TIER_SETTING = "tier: "
"""Begins the name of a setting that a server between client and database said of itself, among those of a trial."""
ENGINE_SETTING = "engine: "
"""Begins the name of a setting that an engine inside the client said of itself, among those of a trial."""
_LANGUAGE_LABELS = {"rust": "Rust", "typescript": "TypeScript", "python": "Python"}


class Said(msgspec.Struct, frozen=True):
    """What a stack, its module and a client say of themselves, where a contestant has this access level and tier.

    ``access`` is a label, ``level`` the words that all systems share for such an access level; ``tier`` is
    empty where nothing stands between client and system. ``protocol`` is what the client speaks. ``program``
    is what the server runs in place of the module's own program, ``server_settings`` which settings of it
    are not the stack's own. ``defect``: the module is wrong on purpose.
    ``parameters`` says in words what the contestant has of the workload that others have not. ``client_threaded``: the
    client makes its load on several threads; None where nobody said.
    """

    system: str
    colour: str
    access: str
    level: str
    tier: str
    protocol: str
    in_process: bool = False
    simulated: bool = False
    counts_commits: bool = True
    defect: bool = False
    program: str | None = None
    planted: str | None = None
    parameters: str = ""
    server_settings: dict[str, str] = {}
    client_threaded: bool | None = None


def described(
    given: ContestantSettings,
    said: Said,
    *,
    durability: str,
    window_s: float,
    places: bool = False,
    environments: bool = False,
) -> RecordedContestant:
    """The contestant as a run records it; ``durability`` and ``window_s`` are those of the scenario, ``places``
    says whether systems run in several places there, ``environments`` whether any has variables of its own."""
    return RecordedContestant(
        name=given.name,
        system=given.system,
        system_label=versioned(said.system, given.version),
        detail_label=detail_of(given, said),
        server=server_of(
            given.system,
            given.version,
            durability=given.durability,
            isolation=given.isolation,
            server_cores=given.server_cores,
            program=said.program,
            settings=said.server_settings,
            backend=given.backend,
            environment=given.environment,
            usual_durability=durability,
        ),
        colour=said.colour,
        levels=levels_of(given, said.level, places=places, environments=environments),
        durability=str(Durability.parse(given.durability or durability)),
        loop="closed" if given.rate_per_s is None else "open",
        in_flight=given.in_flight,
        protocol=said.protocol,
        window_s=window_s if given.window_s is None else given.window_s,
        settings=given,
        version=given.version,
        in_process=said.in_process,
        simulated=said.simulated,
        counts_commits=said.counts_commits,
        sound=not (given.flaws or given.server_killed or said.defect),
        planted=said.planted,
        client_threaded=said.client_threaded,
    )


def versioned(system: str, version: str | None) -> str:
    """``spacetimedb 2.8.3``; the system alone where no version is asked for."""
    return f"{system} {version}" if version else system


def levels_of(
    given: ContestantSettings, access_level: str, *, places: bool = False, environments: bool = False
) -> dict[str, str]:
    """The level of each dimension, in words that are the same for all systems.

    A version belongs to its system, so both are one dimension: ``spacetimedb`` and ``spacetimedb 2.8.3``
    are two levels of it, and the step between them is a factor like any other. Where a server runs is a dimension
    for who runs in a container, and for all where ``places`` says that it varies: else there is none, as in runs
    from before there were containers. ``environments`` says the same of variables of the environment.
    """
    variables = (
        {"environment": _variables(given.environment) or "none declared"}
        if environments or given.environment
        else {}
    )
    place = {"backend": given.backend or "native"} if places or given.backend else {}
    return {
        **place,
        **variables,
        "system": versioned(given.system, given.version),
        "access": access_level,
        "tier": given.tier,
        "client": given.client,
        "in flight": str(given.in_flight),
        "durability": given.durability or USUAL_DURABILITY,
        "isolation": given.isolation or "the server's own",
        "server cores": _cores(given) or "all",
        "round trip": "none added" if given.round_trip_ms is None else f"{given.round_trip_ms:g} ms",
        "workload": ", ".join(f"{name} {value}" for name, value in given.parameters.items())
        or "the scenario's",
        "server": "killed" if given.server_killed else "left alone",
        "loop": "closed" if given.rate_per_s is None else f"open, {given.rate_per_s:g}/s",
        "window": "the scenario's" if given.window_s is None else f"{given.window_s:g} s",
        "counting": ", ".join(given.flaw_names) or "honest",
    }


def detail_of(given: ContestantSettings, said: Said) -> str:
    """``Rust client · procedure · 64 in flight``: all but the system, and only what was set."""
    parts = (
        f"{_LANGUAGE_LABELS.get(given.client, given.client)} client",
        said.tier,
        said.access,
        f"{given.in_flight} in flight",
        f"durability {given.durability}" if given.durability else "",
        given.isolation or "",
        "" if given.server_cores is None else f"server on {given.server_cores} of all cores",
        "client on the others" if given.client_apart else "",
        "" if given.rate_per_s is None else f"open loop, {given.rate_per_s:,.0f}/s",
        "" if given.round_trip_ms is None else f"round trip + {given.round_trip_ms:g} ms",
        said.parameters,
        "server killed" if given.server_killed else "",
        "" if given.window_s is None else f"{given.window_s:g} s window",
        "" if given.backend is None else f"in a container ({given.backend})",
        _variables(given.environment),
        *given.flaw_names,
    )
    return " · ".join(part for part in parts if part)


def server_of(
    system: str,
    version: str | None,
    *,
    durability: str | None,
    isolation: str | None,
    server_cores: int | None,
    program: str | None,
    settings: Mapping[str, str],
    backend: str | None,
    environment: Mapping[str, str],
    usual_durability: str,
) -> str:
    """``spacetimedb 2.8.3 (1 core)``: system and version of a server, and what is not as the scenario has it."""
    cores = f"{server_cores} core{'s' if server_cores != 1 else ''}"
    differs = [
        durability if durability != usual_durability else "",
        isolation,
        cores if server_cores is not None else "",
        program,
        *(f"{setting} {value}" for setting, value in settings.items()),
        backend,
        _variables(environment),
    ]
    parts = ", ".join(part for part in differs if part)
    name = versioned(system, version)
    return f"{name} ({parts})" if parts else name


def _cores(given: ContestantSettings) -> str:
    """On how many processors the server runs, and where its client; empty where both run on all."""
    if given.server_cores is None:
        return ""
    return f"{given.server_cores}{', the client on the others' if given.client_apart else ''}"


def _variables(environment: Mapping[str, str]) -> str:
    """``PGOPTIONS=-c jit=off, UV_THREADPOOL_SIZE=1``"""
    return ", ".join(f"{name}={value}" for name, value in sorted(environment.items()))
