"""Published plans: what the published run of a chapter is given, beside its notebook.

``notebooks/NAME.plan.toml`` holds the parameters of the published run that are not those of the notebook's
own cell; a chapter that has such a file is a part of every campaign.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

import msgspec

from gapbook.book.chapters import own_parameters, require_executable
from gapbook.declared.lines import line_of, offsets
from gapbook.declared.reading import Declared, converted, named, parsed, text_of
from gapbook.errors import DeclarationError, ParameterError, cut, nearest
from gapbook.notebook_text import notebook_path
from gapbook.parameters import chapter_parameters

__all__ = ["PublishedPlan", "plan_kind", "plan_path", "planned_chapters", "published_plans"]

_SUFFIX = ".plan.toml"


@dataclass(frozen=True)
class PublishedPlan:
    """A chapter, what its published run is given, and the parameters with the notebook's own among them."""

    chapter: str
    given: Mapping[str, Any]
    parameters: Mapping[str, Any]

    @classmethod
    def of(cls, chapter: str, given: Mapping[str, Any]) -> Self:
        """The plan of a chapter that is given this beside its notebook."""
        return cls(chapter, given, {**own_parameters(chapter), **given})

    @property
    def headline(self) -> Self:
        """The same plan of those contestants alone that the notebook names by itself: what the first screen compares,
        and what the chart of the gap takes it apart with. The plan itself, where a notebook needs all."""
        return self.of(
            self.chapter, {name: value for name, value in self.given.items() if name != "contestants"}
        )

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

    Raises ParameterError for a chapter without a plan, DeclarationError for a plan that its notebook does not take.
    """
    there_are = planned_chapters()
    for chapter in chosen:
        if chapter not in there_are:
            raise ParameterError(
                f"campaign: {cut(repr(chapter))} has no published plan; allowed: {', '.join(there_are)}"
                f"{nearest(chapter, there_are)}"
            )
    return [_read(chapter) for chapter in dict.fromkeys(chosen or there_are)]


def plan_kind() -> type[Declared]:
    """What a plan may say, as a struct: the parameters of every chapter, each of which its notebook checks."""
    value: Any = int | float | str | list[int | float | str] | msgspec.UnsetType
    names = [name for name in chapter_parameters() if name != "source"]
    fields = [(name, value, msgspec.UNSET) for name in names]
    kind = msgspec.defstruct(
        "PlanDeclaration",
        fields,
        bases=(Declared,),
        frozen=True,
        kw_only=True,
        namespace={"__doc__": "The parameters of a published run that its notebook does not set by itself."},
    )
    return cast("type[Declared]", kind)


def _read(chapter: str) -> PublishedPlan:
    path = plan_path(chapter)
    text, where = text_of(path), named(path)
    given = parsed(text, where)
    converted(given, plan_kind(), where, text)
    try:
        require_executable(chapter, given)
    except ParameterError as error:
        raise DeclarationError(_told(error, chapter, given, where, text)) from error
    plan = PublishedPlan.of(chapter, given)
    if plan.sessions > plan.parameters["blocks"]:
        raise DeclarationError(
            f"{where}: sessions: {plan.sessions} of {plan.parameters['blocks']} blocks; "
            "allowed: at most one for each block"
        )
    return plan


def _told(error: ParameterError, chapter: str, given: Mapping[str, Any], where: str, text: str) -> str:
    """What a notebook does not take of its plan, with the line of the key where one alone is refused."""
    for name, value in given.items():
        try:
            require_executable(chapter, {name: value})
        except ParameterError as alone:
            line = line_of(text, (name,), offsets(text))
            return f"{where}:{line}: {str(alone).removeprefix('parameter ')}"
    return f"{where}: {error}"
