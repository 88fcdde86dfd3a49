"""Which combinations of levels can be run: those that a contestant can be stated with, whether anybody measured it or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

from gapbook.deploy.module import load_module
from gapbook.errors import ParameterError
from gapbook.record.describe import SETTINGS_OF
from gapbook.trial.contestant import Contestant

__all__ = ["statable"]


def statable(stated: Sequence[Contestant]) -> Callable[[str, Mapping[str, str]], bool]:
    """Whether a contestant, by its name, could have other levels, by their dimensions.

    A level that none of them has cannot be asked for. What only a server can refuse, once it is started, counts as
    what can be run.
    """
    by_name = {one.name: one for one in stated}
    levels = {one.name: one.levels() for one in stated}

    @cache
    def can_run(name: str, changes: frozenset[tuple[str, str]]) -> bool:
        wanted = {**levels[name], **dict(changes)}
        return any(one.levels() == wanted for one in _candidates(by_name[name], wanted))

    def _candidates(like: Contestant, wanted: Mapping[str, str]) -> Iterator[Contestant]:
        """Contestants like one, with the settings that others have at these levels, as far as they can be stated."""
        options = [
            {
                tuple((field, getattr(one, field)) for field in fields)
                for one in stated
                if levels[one.name].get(dimension) == level
            }
            for dimension, level in wanted.items()
            if (fields := SETTINGS_OF.get(dimension)) and dimension != "access"
        ]
        for chosen in product(*options):
            settings: dict[str, Any] = {field: value for part in chosen for field, value in part}
            for access in _accesses(settings["system"], like.workload, wanted["access"]):
                try:
                    one = replace(like, **settings, access=access)
                except ParameterError:
                    continue
                # The server's own isolation under its name is what it has without: no combination of its own.
                if one.isolation != one.stack.facts.isolation:
                    yield one

    return lambda name, changes: name in by_name and can_run(name, frozenset(changes.items()))


def _accesses(system: str, workload: str, level: str) -> list[str]:
    """The access levels of a system that are called so; a defect is none that anybody would run."""
    known = load_module(system, workload).levels
    return [name for name, access in known.items() if (access.level or name) == level and not access.defect]
