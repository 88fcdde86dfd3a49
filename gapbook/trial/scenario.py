"""A scenario: the contestants that a chapter compares and the workload they share, on equal promises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gapbook.errors import ParameterError, cut
from gapbook.model import workload
from gapbook.model.work import EXPONENT, REDRAW_BOTH, REDRAWS
from gapbook.record.describe import described
from gapbook.record.durability import Durability
from gapbook.record.scenario import (
    RecordedContestant,
    RecordedScenario,
    RecordedTreatment,
    RecordedWorkload,
)
from gapbook.trial.contestant import Contestant
from gapbook.trial.workloads import declaration_of, find_workload

__all__ = ["PROMISES", "Scenario", "Workload"]

PROMISES = ("durability", "isolation")


@dataclass(frozen=True)
class Workload:
    """The bank transfer: one transfer moves an amount between two accounts drawn from Zipf(alpha).

    ``amount_max`` 1 moves always one unit. ``redraw`` says what is drawn again when both accounts are the
    same: ``both``, or the ``destination`` alone, as the published benchmark does. Raises ParameterError.
    """

    accounts: int
    initial_balance: int = 10_000_000
    amount_max: int = 1000
    name: str = "transfer"
    redraw: str = REDRAW_BOTH

    def __post_init__(self) -> None:
        if self.redraw not in REDRAWS:
            raise ParameterError(f"redraw: {self.redraw!r} is unknown; allowed: {', '.join(REDRAWS)}")

    def at(self, alpha: float, initial_balance: int | None = None) -> workload.Workload:
        """The workload itself, for one exponent and, where a contestant has its own, another balance.

        Raises ParameterError for what it does not allow.
        """
        parameters = {
            "accounts": self.accounts,
            "alpha": alpha,
            "amount_max": self.amount_max,
            "redraw": self.redraw,
            "initial_balance": self.initial_balance if initial_balance is None else initial_balance,
        }
        return find_workload(self.name, parameters)


@dataclass(frozen=True)
class Scenario:
    """What a chapter compares, and how each of its trials is loaded.

    ``varies`` names the promises (``durability``, ``isolation``) that are a factor of the chapter. What
    is not named must be equal in all contestants. Raises ParameterError.
    """

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

    def initial_balance_of(self, contestant: Contestant) -> int:
        """What each account of this contestant's bank starts with."""
        own = contestant.initial_balance
        return self.workload.initial_balance if own is None else own

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
                    f"contestants: {cut(repr(name))} is unknown; allowed: {', '.join(known)}"
                )
        kept = tuple(known[name] for name in known if name in names) if names else self.contestants
        return Scenario(**{**self.__dict__, "contestants": kept})

    def contestant(self, name: str) -> Contestant:
        return next(contestant for contestant in self.contestants if contestant.name == name)

    def as_dict(self) -> dict[str, Any]:
        planned = asdict(self)
        planned["durability"] = str(self.durability)
        # Left out where it is what it always was, so that a plan of then and one of now are the same.
        if self.workload.redraw == REDRAW_BOTH:
            del planned["workload"]["redraw"]
        for contestant in planned["contestants"]:
            # Said once, of the scenario.
            del contestant["workload"]
        return planned

    def recorded(self) -> RecordedScenario:
        """The scenario as a run records it: complete, so that no reader asks a stack or a module again."""
        parameters = asdict(self.workload)
        name = parameters.pop("name")
        return RecordedScenario(
            chapter=self.chapter,
            contestants=[self.recorded_of(contestant) for contestant in self.contestants],
            workload=RecordedWorkload(name, declaration_of(name).label, parameters),
            treatment=RecordedTreatment(EXPONENT, "α", "", list(self.alphas), words="Zipf exponent α"),
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
        )
