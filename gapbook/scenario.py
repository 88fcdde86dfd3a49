"""A scenario: the contestants that a chapter compares and the workload they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gapbook.clients import Client, find_client
from gapbook.errors import ParameterError
from gapbook.modules import Module, load_module_facts
from gapbook.stacks import Durability, Stack, stack_class

__all__ = ["Contestant", "Scenario", "Workload"]

_LANGUAGE_LABELS = {"rust": "Rust", "typescript": "TypeScript", "python": "Python"}


@dataclass(frozen=True)
class Contestant:
    """One system with one module, one client and its settings: a full set of levels."""

    name: str
    system: str
    access: str
    tier: str
    client: str
    in_flight: int

    def __post_init__(self) -> None:
        self.module.require(self.access, self.tier)
        find_client(self.client, self.protocol)

    @property
    def stack(self) -> type[Stack]:
        return stack_class(self.system)

    @property
    def module(self) -> Module:
        return load_module_facts(self.system)

    @property
    def protocol(self) -> str:
        """What the client speaks: the tier's protocol, else the stack's own."""
        return self.module.protocol(self.tier, self.stack.facts["protocol"])

    @property
    def load_client(self) -> Client:
        return find_client(self.client, self.protocol)

    def levels(self) -> dict[str, str]:
        """The level of each dimension, in words that are the same for all systems."""
        return {
            "system": self.system,
            "access": str(self.module.facts["access"][self.access].get("level", self.access)),
            "tier": self.tier,
            "client": self.client,
            "in flight": str(self.in_flight),
        }

    @property
    def system_label(self) -> str:
        return str(self.stack.facts["label"])

    @property
    def detail_label(self) -> str:
        """``Rust client · procedure · 64 in flight``"""
        tier = self.module.facts["tier"][self.tier].get("label", "")
        access = self.module.facts["access"][self.access].get("label", self.access)
        language = _LANGUAGE_LABELS.get(self.client, self.client)
        parts = (f"{language} client", tier, access, f"{self.in_flight} in flight")
        return " · ".join(part for part in parts if part)


@dataclass(frozen=True)
class Workload:
    """The bank transfer: one transfer moves an amount between two accounts drawn from Zipf(alpha)."""

    accounts: int
    initial_balance: int = 10_000_000
    amount_max: int = 1000
    name: str = "transfer"


@dataclass(frozen=True)
class Scenario:
    """What a chapter compares, and how each of its trials is loaded."""

    chapter: str
    contestants: tuple[Contestant, ...]
    workload: Workload
    alphas: tuple[float, ...]
    connections: int
    window_s: float
    warmup_s: float
    durability: Durability
    seed: int
    drain_s: float = 30.0
    request_timeout_s: float = 30.0

    def __post_init__(self) -> None:
        names = [contestant.name for contestant in self.contestants]
        if len(set(names)) != len(names):
            raise ParameterError(f"contestants: a name is given twice in {', '.join(names)}")
        if not names:
            raise ParameterError("contestants: none is left; name at least one")

    def select(self, names: Sequence[str]) -> Scenario:
        """The scenario with these contestants only; an empty list means all. Raises ParameterError."""
        known = {contestant.name: contestant for contestant in self.contestants}
        for name in names:
            if name not in known:
                raise ParameterError(f"contestants: {name!r} is unknown; allowed: {', '.join(known)}")
        kept = tuple(known[name] for name in known if name in names) if names else self.contestants
        return Scenario(**{**self.__dict__, "contestants": kept})

    def contestant(self, name: str) -> Contestant:
        return next(contestant for contestant in self.contestants if contestant.name == name)

    def as_dict(self) -> dict[str, Any]:
        described = asdict(self)
        described["durability"] = str(self.durability)
        return described

    @classmethod
    def from_dict(cls, described: dict[str, Any]) -> Scenario:
        """The scenario of a stored run."""
        return cls(
            **{
                **described,
                "contestants": tuple(Contestant(**row) for row in described["contestants"]),
                "workload": Workload(**described["workload"]),
                "alphas": tuple(described["alphas"]),
                "durability": Durability.parse(described["durability"]),
            }
        )
