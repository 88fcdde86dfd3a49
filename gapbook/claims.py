"""The register of published claims, with their sources: ``book/claims.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from gapbook.errors import ParameterError
from gapbook.paths import CHECKOUT

__all__ = ["Claim", "claim"]


@dataclass(frozen=True)
class Claim:
    """One published statement; ``value`` is what was printed, in ``unit``."""

    identifier: str
    says: str
    value: float
    unit: str
    where: str
    source: Mapping[str, Any]

    @property
    def citation(self) -> str:
        """``clockworklabs/SpacetimeDB #4432, Results table, alpha=0.5, 2026-02-24``"""
        repository = self.source.get("repository", self.source["title"])
        number = f" #{self.source['number']}" if "number" in self.source else ""
        return f"{repository}{number}, {self.where}, {self.source.get('date', 'undated')}"


@cache
def _register() -> dict[str, Any]:
    return tomllib.loads((CHECKOUT / "book" / "claims.toml").read_text())


@cache
def claim(identifier: str) -> Claim:
    """A claim with one printed number, by its id; raises ParameterError when there is none."""
    for row in _register()["claim"]:
        if row["id"] == identifier and isinstance(row.get("value"), int | float):
            source = _register()["source"][row["source"]]
            return Claim(identifier, row["says"], float(row["value"]), row["unit"], row["where"], source)
    raise ParameterError(f"claim {identifier!r}: not in book/claims.toml, or without one printed number")
