"""A scenario: the contestants that a chapter compares and the workload they share, on equal promises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from gapbook.errors import ParameterError, cut, nearest
from gapbook.model.declaration import declaration_of
from gapbook.model.workload import Workload
from gapbook.record.describe import described
from gapbook.record.durability import Durability
from gapbook.record.scenario import (
    RecordedContestant,
    RecordedScenario,
    RecordedWorkload,
)
from gapbook.trial.contestant import Contestant
from gapbook.trial.treatment import Treatment
from gapbook.trial.workloads import find_workload

__all__ = ["PROMISES", "Scenario", "WorkloadSettings"]

PROMISES = ("durability", "isolation")
_ADDED: Mapping[str, Any] = {
    "backend": None,
    "watched": False,
    "probed": False,
    "environment": {},
    "client_apart": False,
}
"""Settings of a contestant that could not be asked for when runs were first stored, with what each is where nobody
asks: that leaves the key of a run as it was."""


@dataclass(frozen=True)
class WorkloadSettings:
    """A workload by name and the parameters that are not its defaults. Raises ParameterError."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        declaration_of(self.name).checked(self.parameters)

    def at(self, **own: Any) -> Workload:
        """The workload itself, with what a trial or a contestant has of its own."""
        return find_workload(self.name, {**self.parameters, **own})


@dataclass(frozen=True)
class Scenario:
    """What a chapter compares, and how each of its trials is loaded.

    ``connections`` is the most of any trial: where the treatment is the connections, each of its values is that
    of some, and where it is the databases, those of each database.
    ``varies`` names the promises (``durability``, ``isolation``) that are a factor of the chapter. What
    is not named must be equal in all contestants. Raises ParameterError.
    """

    chapter: str
    contestants: tuple[Contestant, ...]
    workload: WorkloadSettings
    treatment: Treatment
    connections: int
    window_s: float
    warmup_s: float
    durability: Durability
    seed: int
    drain_s: float = 30.0
    request_timeout_s: float = 30.0
    varies: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = [contestant.name for contestant in self.contestants]
        if len(set(names)) != len(names):
            raise ParameterError(f"contestants: a name is given twice in {', '.join(names)}")
        if not names:
            raise ParameterError("contestants: none is left; name at least one")
        for contestant in self.contestants:
            if contestant.workload != self.workload.name:
                raise ParameterError(
                    f"workload: {contestant.name} has {contestant.workload}, the scenario {self.workload.name}; "
                    "name one for all"
                )
            self.workload_of(contestant, self.treatment.values[0])
        if self.treatment.is_connections and self.connections != max(self.treatment.values):
            raise ParameterError(
                f"connections: {self.connections} are not the most of {self.treatment.name} that vary; leave it out"
            )
        for promise in PROMISES:
            self._require_equal(promise)
        self._require_versions()

    def _require_versions(self) -> None:
        """Where a system runs in several versions, each contestant must say which: no label leaves it open."""
        for contestant in self.contestants:
            others = {c.version for c in self.contestants if c.system == contestant.system and c.version}
            if contestant.version is None and others:
                raise ParameterError(
                    f"version: {contestant.name} names none, while others run {contestant.system} "
                    f"{' and '.join(sorted(others))}; name its version too, "
                    f"e.g. {contestant.stack.own_version() or 'that of its server'}"
                )

    def _require_equal(self, promise: str) -> None:
        """Nothing is compared that is not equal, unless the difference is the factor under study."""
        if promise in self.varies:
            return
        kept: dict[str, str] = {}
        for contestant in self.contestants:
            level = (
                contestant.isolation_in_effect
                if promise == "isolation"
                else contestant.durability or str(self.durability)
            )
            kept.setdefault(level, contestant.name)
        if len(kept) > 1:
            unequal = ", ".join(f"{name} has {level}" for level, name in kept.items())
            raise ParameterError(
                f"{promise}: unequal ({unequal}) and no factor of chapter {self.chapter}; "
                f"make it equal, or declare it with varies=[{promise!r}]"
            )

    def workload_of(self, contestant: Contestant, value: float) -> Workload:
        """The workload of a contestant's trial at one value of the treatment."""
        return self.workload.at(**self.treatment.parameters(value), **contestant.parameters)

    def connections_at(self, value: float) -> int:
        """How many connections a trial has at one value of the treatment."""
        if self.treatment.is_connections:
            return int(value)
        return self.connections * self.databases_at(value)

    def databases_at(self, value: float) -> int:
        """Over how many database files the load of a trial is spread at one value of the treatment."""
        return int(value) if self.treatment.is_databases else 1

    def window_of(self, contestant: Contestant) -> float:
        """For how many seconds this contestant is measured in each of its trials."""
        return self.window_s if contestant.window_s is None else contestant.window_s

    def durability_of(self, contestant: Contestant) -> Durability:
        """The class that this contestant must prove."""
        return Durability.parse(contestant.durability) if contestant.durability else self.durability

    def select(self, names: Sequence[str]) -> Scenario:
        """The scenario with these contestants only; an empty list means all. Raises ParameterError."""
        known = {contestant.name: contestant for contestant in self.contestants}
        for name in names:
            if name not in known:
                raise ParameterError(
                    f"contestants: {cut(repr(name))} is unknown; allowed: {', '.join(known)}{nearest(name, known)}"
                )
        kept = tuple(known[name] for name in known if name in names) if names else self.contestants
        return Scenario(**{**self.__dict__, "contestants": kept})

    def contestant(self, name: str) -> Contestant:
        return next(contestant for contestant in self.contestants if contestant.name == name)

    def as_dict(self) -> dict[str, Any]:
        """All that tells this scenario from another."""
        described = {**asdict(self), "durability": str(self.durability)}
        for contestant in described["contestants"]:
            for name, unasked in _ADDED.items():
                if contestant[name] == unasked:
                    del contestant[name]
        return described

    def recorded(self) -> RecordedScenario:
        """The scenario as a run records it: complete, so that no reader asks a stack or a module again."""
        declaration = declaration_of(self.workload.name)
        parameters = declaration.checked(self.workload.parameters)
        parameters.pop(self.treatment.name, None)
        return RecordedScenario(
            chapter=self.chapter,
            contestants=[self.recorded_of(contestant) for contestant in self.contestants],
            workload=RecordedWorkload(
                self.workload.name, declaration.label, {**parameters}, stores=bool(declaration.state)
            ),
            treatment=self.treatment.recorded(),
            connections=self.connections,
            window_s=self.window_s,
            warmup_s=self.warmup_s,
            durability=str(self.durability),
            seed=self.seed,
            drain_s=self.drain_s,
            request_timeout_s=self.request_timeout_s,
            varies=list(self.varies),
        )

    def recorded_of(self, contestant: Contestant) -> RecordedContestant:
        """One contestant as a run of this scenario records it."""
        return described(
            contestant.settings,
            contestant.said,
            durability=str(self.durability),
            window_s=self.window_s,
            environments=any(one.environment for one in self.contestants),
            places=any(
                one.placement.in_container and not one.stack.only_in_containers() for one in self.contestants
            ),
        )
