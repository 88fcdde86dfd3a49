"""The newer version of a server that tests find here."""

from __future__ import annotations

from functools import cache

from gapbook.deploy.stack import stack_class

__all__ = ["newer_version"]


@cache
def newer_version(system: str) -> str | None:
    """The one that published runs measured, or where it is not here a version that stands in for it and is; None for
    a system that has one version."""
    stack = stack_class(system)
    native = stack.facts.native
    measured = native.newer_version if native else None
    stand_ins = stack.stand_ins()
    return (
        next(filter(stack.is_here, filter(None, [measured, *stand_ins])), measured) if stand_ins else measured
    )
