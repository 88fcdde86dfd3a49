"""Which systems are installed for the chapters that name them only, by their facts alone: no stack is loaded."""

from __future__ import annotations

from collections.abc import Collection

from gapbook.declared.reading import read
from gapbook.declared.stack import StackDeclaration
from gapbook.paths import CHECKOUT

__all__ = ["systems_here", "systems_of", "systems_on_demand"]


def systems_here() -> frozenset[str]:
    """Every system of the checkout."""
    return frozenset(_systems())


def systems_on_demand() -> frozenset[str]:
    """The systems that are installed only for chapters that name them: their stack.toml says ``on_demand``."""
    return frozenset(name for name, on_demand in _systems().items() if on_demand)


def systems_of(named: Collection[str] | None) -> list[str]:
    """The systems among these words; of None, which names no chapter, those that are not installed on demand."""
    return [
        name for name, on_demand in _systems().items() if (not on_demand if named is None else name in named)
    ]


def _systems() -> dict[str, bool]:
    """Every system, and whether it is installed on demand."""
    return {
        path.parent.name: read(path, StackDeclaration).on_demand
        for path in sorted((CHECKOUT / "stacks").glob("*/stack.toml"))
    }
