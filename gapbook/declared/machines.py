"""``results/machines.toml``: who gave the runs under ``results/given``, and on what they were measured."""

from __future__ import annotations

from gapbook.declared.reading import Declared

__all__ = ["GivenDeclaration", "MachinesDeclaration"]


class GivenDeclaration(Declared, frozen=True, kw_only=True):
    """A run that somebody gave. ``machine`` says in their words on what it was measured; ``by`` is their name, where they
    wish to be named."""

    run: str
    machine: str
    by: str = ""


class MachinesDeclaration(Declared, frozen=True, kw_only=True):
    """The runs that were given, the first that came first."""

    given: tuple[GivenDeclaration, ...] = ()
