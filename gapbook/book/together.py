"""Which chapters of a campaign are measured together: those that load their contestants alike, on the same servers.

Chapters that share their settings share their cells: a session measures the union, each cell once, and each chapter's
run is a view of it. A chapter whose settings nobody shares is measured alone, by its own notebook.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from gapbook.book.expected import seconds_of
from gapbook.book.plans import PublishedPlan
from gapbook.book.stated import stated
from gapbook.errors import ParameterError
from gapbook.trial.asked import Asked, Together

__all__ = ["Unit", "units_of"]


@dataclass(frozen=True)
class Unit:
    """Plans that a session measures as one. ``together`` is None for a plan alone, ``asked`` for one that its chapter
    refuses."""

    plans: tuple[PublishedPlan, ...]
    asked: Asked | None
    together: Together | None = None

    @property
    def chapters(self) -> list[str]:
        return [plan.chapter for plan in self.plans]

    @property
    def name(self) -> str:
        """``original + fair``"""
        return " + ".join(self.chapters)

    @property
    def measured_as(self) -> str:
        """The chapter in whose folder its run is kept until it is finished."""
        return self.chapters[0] if self.asked is None else self.asked.chapter

    @property
    def sessions(self) -> int:
        return self.plans[0].sessions

    @cached_property
    def measuring_parameters(self) -> Mapping[str, object]:
        """What a run of it is measured with, whether a plan or its notebook says so; but for where."""
        if self.together is None:
            return measuring_parameters(self.plans[0])
        return {plan.chapter: measuring_parameters(plan) for plan in self.plans}

    def expected_s(self) -> float | None:
        """Seconds that all sessions take, told from the published runs; None where one of them is missing."""
        told = [seconds_of(plan) for plan in self.plans]
        known = [seconds for seconds in told if seconds is not None]
        if len(known) < len(told):
            return None
        if self.together is None:
            return known[0]
        # A cell that several chapters ask for is measured once.
        return (
            sum(known) * len(self.together.whole.plan()) / sum(len(one.plan()) for one in self.together.asked)
        )


def units_of(plans: Sequence[PublishedPlan]) -> list[Unit]:
    """The plans, those that can be measured together as one; each where its first chapter stands."""
    groups: list[list[tuple[PublishedPlan, Asked | None]]] = []
    for plan in plans:
        asked = _asked(plan)
        for group in groups:
            first = group[0][1]
            if asked and first and asked.can_share(first):
                group.append((plan, asked))
                break
        else:
            groups.append([(plan, asked)])
    return [_unit(group) for group in groups]


def _unit(group: Sequence[tuple[PublishedPlan, Asked | None]]) -> Unit:
    plans = tuple(plan for plan, _ in group)
    asked = [one for _, one in group if one]
    if len(group) == 1:
        return Unit(plans, asked[0] if asked else None)
    together = Together(asked)
    return Unit(plans, together.whole, together)


def _asked(plan: PublishedPlan) -> Asked | None:
    """What the chapter of a plan states; None for one that refuses its plan, of which its session tells."""
    try:
        return stated(plan.chapter, {**plan.given, "source": "session"})
    except ParameterError:
        return None


def measuring_parameters(plan: PublishedPlan) -> Mapping[str, object]:
    """What a run of a plan is measured with, whether the plan or the notebook says so; but for where."""
    return {name: value for name, value in plan.parameters.items() if name not in {"source", "servers"}}
