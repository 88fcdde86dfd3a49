"""Published plans: what the published run of a chapter is given, beside its notebook.

``notebooks/NAME.plan.toml`` holds the parameters of the published run that are not those of the notebook's
own cell; a chapter that has such a file is a part of every campaign.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gapbook.book.chapters import notebook_path, own_parameters, require_executable
from gapbook.errors import ParameterError, cut

__all__ = ["PublishedPlan", "plan_path", "planned_chapters", "published_plans"]

_SUFFIX = ".plan.toml"


@dataclass(frozen=True)
class PublishedPlan:
    """A chapter, what its published run is given, and the parameters with the notebook's own among them."""

    chapter: str
    given: Mapping[str, Any]
    parameters: Mapping[str, Any]

    @property
    def sessions(self) -> int:
        """Over how many fresh deployments the run is spread; one, where a notebook has no such parameter."""
        return int(self.parameters.get("sessions", 1))


def plan_path(chapter: str) -> Path:
    return notebook_path(chapter).with_suffix(_SUFFIX)


def planned_chapters() -> list[str]:
    """The chapters that have a published plan."""
    folder = notebook_path("any").parent
    return sorted(path.name.removesuffix(_SUFFIX) for path in folder.glob(f"*{_SUFFIX}"))


def published_plans(chosen: Sequence[str] = ()) -> list[PublishedPlan]:
    """The plans of the chosen chapters, or of all that have one.

    Raises ParameterError for a chapter without a plan, and for a plan that its notebook does not take.
    """
    there_are = planned_chapters()
    for chapter in chosen:
        if chapter not in there_are:
            raise ParameterError(
                f"campaign: {cut(repr(chapter))} has no published plan; allowed: {', '.join(there_are)}"
            )
    return [_read(chapter) for chapter in dict.fromkeys(chosen or there_are)]


def _read(chapter: str) -> PublishedPlan:
    path = plan_path(chapter)
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
        if "source" in given:
            raise ParameterError("parameter source: no part of a plan; leave it out")
        require_executable(chapter, given)
        plan = PublishedPlan(chapter, given, {**own_parameters(chapter), **given})
        if plan.sessions > plan.parameters["blocks"]:
            raise ParameterError(
                f"sessions: {plan.sessions} of {plan.parameters['blocks']} blocks; allowed: at most one for each block"
            )
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, ParameterError) as error:
        raise ParameterError(f"notebooks/{path.name}: {error}") from error
    return plan
