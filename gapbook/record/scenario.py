"""What a stored run says of its scenario: all that pages, claims and charts need, from the manifest alone.

Labels and levels were resolved when the run was made. So a run reads the same after a system was renamed,
or is gone, and a run from somebody else is data, never code.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from gapbook.errors import ParameterError
from gapbook.model.work import REDRAW_BOTH, REDRAWS
from gapbook.record.durability import Durability
from gapbook.record.fields import Amount, Count, Name, Positive, TreatmentValue, Window
from gapbook.record.placement import Placement
from gapbook.record.printed import detail_in_words

__all__ = [
    "CONNECTIONS",
    "DATABASES",
    "ContestantSettings",
    "RecordedContestant",
    "RecordedScenario",
    "RecordedTreatment",
    "RecordedWorkload",
    "require_durability",
]

CONNECTIONS = "connections"
"""The treatment that is a setting of the load, and so one of every workload."""
DATABASES = "databases"
"""The treatment that is the number of database files over which a load is spread, each with connections of its own."""
_MOST_ACCOUNTS = 2**21
_Plain: TypeAlias = str | int | float | bool | None


class ContestantSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a contestant was asked to be, as its chapter stated it.

    None is what the scenario has (``durability``, ``window_s``) or the server by itself (``isolation``,
    ``server_cores``: all, ``version``). ``client_apart``: the load client ran on the processors that those of the
    server leave, and what stands between them on those of the server. ``rate_per_s`` None is a closed loop. ``parameters`` are those of the
    workload that are not as the scenario has them. ``watched``: its server was read each second of the load.
    ``probed``: the machine was probed while the load ran.
    ``backend`` None is a process of the machine. ``environment`` are the variables that its server, tier and client
    were started with besides those of all.
    """

    name: Name
    system: Name
    access: Name
    tier: Name
    client: Name
    in_flight: Positive
    durability: str | None = None
    isolation: str | None = None
    server_cores: Positive | None = None
    client_apart: bool = False
    round_trip_ms: Amount | None = None
    max_retries: Count = 0
    flaws: list[dict[str, _Plain]] = msgspec.field(default_factory=list)
    server_killed: bool = False
    parameters: dict[Name, _Plain] = msgspec.field(default_factory=dict)
    rate_per_s: Amount | None = None
    window_s: Window | None = None
    version: str | None = None
    watched: bool = False
    probed: bool = False
    backend: str | None = None
    environment: dict[Name, str] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.durability is not None:
            require_durability(self.durability)
        if self.backend is not None:
            _require_place(self.backend)
        if not all(isinstance(flaw.get("name"), str) for flaw in self.flaws):
            raise ValueError("a flaw has no name")

    @property
    def flaw_names(self) -> tuple[str, ...]:
        return tuple(str(flaw["name"]) for flaw in self.flaws)


class RecordedContestant(msgspec.Struct, frozen=True):
    """One contestant with everything that is said of it, resolved.

    ``levels`` names its level in each dimension, in words that are the same for all systems. ``server`` is
    the key of its server among the ``systems`` of the manifest. ``colour`` is the role that its system has
    in charts. ``protocol`` is what its client speaks. ``in_process``: the engine runs inside its caller. ``counts_commits``: the engine keeps a count
    of commits. ``sound``: nothing is meant to be wrong with it. ``planted`` is what a simulated server was
    told to be; None for a real one. ``client_threaded``: its client makes the load on several threads; None in a run from
    before that was recorded (:func:`gapbook.record.older.has_threaded_client`).
    """

    name: Name
    system: Name
    system_label: str
    detail_label: str
    server: str
    colour: str
    levels: dict[str, str]
    durability: str
    loop: Literal["closed", "open"]
    in_flight: Positive
    protocol: str
    window_s: Window
    settings: ContestantSettings
    version: str | None = None
    in_process: bool = False
    simulated: bool = False
    counts_commits: bool = True
    sound: bool = True
    planted: str | None = None
    client_threaded: bool | None = None

    def __post_init__(self) -> None:
        require_durability(self.durability)
        if (self.name, self.system) != (self.settings.name, self.settings.system):
            raise ValueError("a contestant and its settings have two names")

    @property
    def access(self) -> str:
        return self.settings.access

    @property
    def tier(self) -> str:
        return self.settings.tier

    @property
    def client(self) -> str:
        return self.settings.client

    @property
    def detail(self) -> str:
        """What is said of it besides its system, in the words of readers."""
        return detail_in_words(self.detail_label)

    @property
    def full_label(self) -> str:
        """``Postgres (Rust client · stored procedure · 64 in flight)``"""
        return f"{self.system_label} ({self.detail})"

    def level(self, dimension: str) -> str:
        """Its level in a dimension; empty in one that its run does not know."""
        return self.levels.get(dimension, "")

    def differs_in(self, other: RecordedContestant) -> set[str]:
        """The dimensions of its own in which another has another level, or none."""
        return {dimension for dimension, level in self.levels.items() if other.level(dimension) != level}


class RecordedWorkload(msgspec.Struct, frozen=True):
    """What all contestants were asked to do: the name and label of the workload, and its parameters.

    ``stores`` is false of a workload that leaves nothing in a server: there is nothing to be durable.
    """

    name: Name
    label: str
    parameters: dict[str, _Plain]
    stores: bool = True

    def __post_init__(self) -> None:
        accounts = self.parameters.get("accounts", 2)
        if type(accounts) is not int or not 2 <= accounts <= _MOST_ACCOUNTS:
            raise ValueError(f"accounts is no whole number from 2 to {_MOST_ACCOUNTS}")
        if self.redraw not in REDRAWS:
            raise ValueError(f"redraw is none of {', '.join(REDRAWS)}")

    @property
    def accounts(self) -> int:
        """How many accounts a bank has; 0 for a workload without a bank."""
        return int(self.parameters.get("accounts") or 0)

    @property
    def redraw(self) -> str:
        """What is drawn again when both accounts of a transfer are the same."""
        return str(self.parameters.get("redraw", REDRAW_BOTH))


class RecordedTreatment(msgspec.Struct, frozen=True):
    """What varies inside a scenario besides the contestant: its name, how it is printed, and its values.

    ``words`` say what it is, for an axis: ``Zipf exponent α``.
    """

    name: Name
    label: str
    unit: str
    values: list[TreatmentValue]
    words: str = ""

    def __post_init__(self) -> None:
        if not self.values:
            raise ValueError("a treatment has no value")
        if len(set(self.values)) != len(self.values):
            raise ValueError(f"a value of {self.name} stands twice")

    @property
    def is_connections(self) -> bool:
        """Whether it is the number of the load's connections, not a parameter of the workload."""
        return self.name == CONNECTIONS

    @property
    def is_databases(self) -> bool:
        """Whether it is over how many database files the load is spread, each with connections of its own."""
        return self.name == DATABASES

    def at(self, value: float) -> str:
        """``α = 0.5``, ``50 users``: one value as it is printed."""
        if self.is_connections or self.is_databases:
            return f"{value:,g} {self.label.removesuffix('s') if value == 1 else self.label}"
        return f"{self.label} = {value:g}{f' {self.unit}' if self.unit else ''}"


class RecordedScenario(msgspec.Struct, frozen=True):
    """What a run compares, and how each of its trials was loaded. Times are in seconds."""

    chapter: Name
    contestants: list[RecordedContestant]
    workload: RecordedWorkload
    treatment: RecordedTreatment
    connections: Positive
    window_s: Window
    warmup_s: Amount
    durability: str
    seed: Count
    drain_s: Amount = 0.0
    request_timeout_s: Amount = 0.0
    varies: list[str] = msgspec.field(default_factory=list)

    def __post_init__(self) -> None:
        names = [contestant.name for contestant in self.contestants]
        if not names:
            raise ValueError("a scenario has no contestant")
        if len(set(names)) != len(names):
            raise ValueError("two contestants have one name")
        require_durability(self.durability)

    def find(self, name: str) -> RecordedContestant | None:
        """The contestant of that name; None when the run does not have it."""
        return next((one for one in self.contestants if one.name == name), None)

    def as_dict(self) -> dict[str, Any]:
        """As a manifest holds it."""
        described: dict[str, Any] = msgspec.to_builtins(self)
        return described


def _require_place(text: str) -> None:
    """Raises ValueError for what is no place to run."""
    try:
        Placement.parse(text)
    except ParameterError as error:
        raise ValueError(str(error)) from error


def require_durability(text: str) -> None:
    """Raises ValueError for what is no durability class."""
    try:
        Durability.parse(text)
    except ParameterError as error:
        raise ValueError(str(error)) from error
