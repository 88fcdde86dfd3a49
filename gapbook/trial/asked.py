"""What a chapter asks to be measured, before anybody measures it; and what several chapters ask for, as one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gapbook.deploy.server import ServerChoice
from gapbook.errors import ParameterError
from gapbook.model.plan import PlannedTrial, make_plan
from gapbook.record.run import Run
from gapbook.record.view import View
from gapbook.trial.contestant import Contestant
from gapbook.trial.scenario import Scenario

__all__ = ["Asked", "Together"]


@dataclass(frozen=True)
class Asked:
    """The contestants that a chapter states, how they are loaded, how often, and on which servers.

    ``trials_per_block`` and ``only_at`` are those of :func:`gapbook.model.plan.make_plan`, ``parameters`` those of the
    chapter as a manifest keeps them.
    """

    scenario: Scenario
    choices: Mapping[str, ServerChoice]
    blocks: int
    sessions: int
    attempts: int
    kills: int
    cuts: int
    parameters: Mapping[str, Any]
    trials_per_block: Mapping[str, float] = field(default_factory=dict)
    only_at: Mapping[str, Collection[float]] = field(default_factory=dict)

    @property
    def chapter(self) -> str:
        return self.scenario.chapter

    def can_share(self, other: Asked) -> bool:
        """Whether both load all contestants alike, equally often and on the same servers, so that equal contestants
        of the two are one cell at a value of the treatment that both have."""
        return self._shared() == other._shared()

    def _shared(self) -> tuple[Any, ...]:
        recorded = self.scenario.recorded().as_dict()
        load = {
            name: told for name, told in recorded.items() if name not in {"chapter", "contestants", "varies"}
        }
        if not (self.scenario.treatment.is_connections or self.scenario.treatment.is_databases):
            load["treatment"] = {**load["treatment"], "values": None}
        return load, self.choices, self.blocks, self.sessions, self.attempts, self.kills, self.cuts

    def plan(self) -> tuple[PlannedTrial, ...]:
        """All trials that it asks for."""
        return make_plan(
            [contestant.name for contestant in self.scenario.contestants],
            self.scenario.treatment.values,
            blocks=self.blocks,
            seed=self.scenario.seed,
            trials_per_block=self.trials_per_block,
            only_at=self.only_at,
        )

    def values_of(self, name: str) -> list[float]:
        """At which values of the treatment a contestant is asked for."""
        values = self.scenario.treatment.values
        return [value for value in values if value in self.only_at.get(name, values)] or list(values)

    def here(self, absent: Collection[str]) -> Scenario:
        """Its scenario without those who cannot be measured; raises ParameterError where nobody is left."""
        left = tuple(one for one in self.scenario.contestants if one.name not in absent)
        return replace(self.scenario, contestants=left)


class Together:
    """The union of what chapters ask for: each cell once, as often as the chapter that wants it most.

    ``asked`` can share one measurement (:meth:`Asked.can_share`). ``whole`` is what is measured, ``names`` the
    name that each contestant of each chapter has in it. Two contestants of one chapter that differ in name alone stay
    two. Raises ParameterError when the contestants of all cannot be one scenario.
    """

    def __init__(self, asked: Sequence[Asked]) -> None:
        if not all(one.can_share(asked[0]) for one in asked):
            raise ParameterError(
                f"{', '.join(one.chapter for one in asked)}: they load their contestants differently and cannot be "
                "measured together; name chapters of one load"
            )
        self.asked = asked
        self.names: dict[str, dict[str, str]] = {}
        contestants: dict[str, Contestant] = {}
        known: list[tuple[Contestant, int, str]] = []
        rates: dict[str, float] = {}
        values: dict[str, set[float]] = {}
        for one in asked:
            before: list[Contestant] = []
            own = self.names.setdefault(one.chapter, {})
            for contestant in one.scenario.contestants:
                unnamed = replace(contestant, name="")
                copy = before.count(unnamed)
                before.append(unnamed)
                name = next((name for other, nth, name in known if (other, nth) == (unnamed, copy)), None)
                if name is None:
                    taken = contestant.name in contestants
                    name = f"{one.chapter}: {contestant.name}" if taken else contestant.name
                    contestants[name] = replace(contestant, name=name)
                    known.append((unnamed, copy, name))
                own[contestant.name] = name
                rate = one.trials_per_block.get(contestant.name, 1)
                rates[name] = max(rate, rates.get(name, 0))
                values.setdefault(name, set()).update(one.values_of(contestant.name))
        first = asked[0]
        self.whole = replace(
            first,
            scenario=replace(
                first.scenario,
                chapter="+".join(one.chapter for one in asked),
                contestants=tuple(contestants.values()),
                treatment=replace(
                    first.scenario.treatment,
                    values=tuple(sorted({value for one in asked for value in one.scenario.treatment.values})),
                ),
                varies=tuple(sorted({promise for one in asked for promise in one.scenario.varies})),
            ),
            parameters={one.chapter: dict(one.parameters) for one in asked},
            trials_per_block=rates,
            only_at={name: sorted(at) for name, at in values.items()},
        )

    def views(self, run: Run) -> list[View]:
        """What each chapter has of the run of all; raises ParameterError for one whose contestants are all absent."""
        return [self._view(one, run.manifest.absent) for one in self.asked]

    def _view(self, one: Asked, missing: Mapping[str, str]) -> View:
        own = self.names[one.chapter]
        absent = {name: missing[of_all] for name, of_all in own.items() if of_all in missing}
        scenario = one.here(absent)
        contestants = scenario.contestants
        return View(
            scenario=scenario.recorded(),
            names={own[contestant.name]: contestant.name for contestant in contestants},
            at={own[contestant.name]: one.values_of(contestant.name) for contestant in contestants},
            systems={
                contestant.variant(scenario.durability).label(scenario.durability)
                for contestant in contestants
            },
            modules={contestant.system for contestant in contestants},
            parameters=one.parameters,
            absent=absent,
        )
