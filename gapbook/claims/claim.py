"""The register of published claims, with their sources: ``book/claims.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from gapbook.errors import ParameterError
from gapbook.paths import CHECKOUT

__all__ = ["NOTE", "Claim", "claim", "claims"]

NOTE = "arithmetic-note"
_UNITS = {"transactions/s": "/s", "percent": " %"}


@dataclass(frozen=True)
class Claim:
    """One published statement; ``printed`` is the number, the range or nothing that was printed, in ``unit``.

    ``kind`` is as in the register: what is ``NOTE`` is our arithmetic on published figures.
    """

    identifier: str
    says: str
    printed: float | tuple[float, float] | None
    unit: str
    where: str
    source: Mapping[str, Any] = field(repr=False)
    kind: str = "figure"
    chapter: str = ""
    check: str = ""
    qualifier: str = ""

    @property
    def value(self) -> float:
        """The printed number; raises ParameterError where there is none, or a range."""
        if isinstance(self.printed, float):
            return self.printed
        raise ParameterError(f"claim {self.identifier!r}: without one printed number")

    @property
    def about(self) -> bool:
        """Whether the document itself says that the number is a round one."""
        return self.qualifier in {"about", "almost"}

    @property
    def published(self) -> str:
        """``about ×14``, ``73,123/s``, ``×2 to ×5``; a dash where no number was printed."""
        if self.printed is None:
            return "–"
        numbers = self.printed if isinstance(self.printed, tuple) else (self.printed,)
        text = " to ".join(self._with_unit(number) for number in numbers)
        return f"{self.qualifier} {text}".strip()

    def _with_unit(self, number: float) -> str:
        digits = f"{number:,g}" if abs(number) < 1000 else f"{number:,.0f}"
        text = f"×{digits}" if self.unit == "x" else f"{digits}{_UNITS.get(self.unit, f' {self.unit}')}"
        return text.replace("-", "−")

    @property
    def citation(self) -> str:
        """``clockworklabs/SpacetimeDB #4432, Results table, alpha=0.5, 2026-02-24``"""
        repository = self.source.get("repository", self.source["title"])
        number = f" #{self.source['number']}" if "number" in self.source else ""
        return f"{repository}{number}, {self.where}, {self.source.get('date', 'undated')}"

    @property
    def address(self) -> str:
        """Where the source can be read; empty where the register does not know."""
        if "repository" in self.source and "number" in self.source:
            return f"https://github.com/{self.source['repository']}/pull/{self.source['number']}"
        return str(self.source.get("url", ""))

    @property
    def place(self) -> str:
        """``#4432, Summary``: where it stands, for a reader who knows the repository."""
        named = f"#{self.source['number']}" if "number" in self.source else self.source["title"]
        return f"{named}, {self.where}"


@cache
def _register() -> Mapping[str, Claim]:
    raw = tomllib.loads((CHECKOUT / "book" / "claims.toml").read_text(encoding="utf-8"))
    return {row["id"]: _claim(row, raw["source"][row["source"]]) for row in raw["claim"]}


def _claim(row: Mapping[str, Any], source: Mapping[str, Any]) -> Claim:
    value = row.get("value")
    printed = (
        (float(value[0]), float(value[1]))
        if isinstance(value, list)
        else None
        if value is None
        else float(value)
    )
    return Claim(
        identifier=row["id"],
        says=row["says"],
        printed=printed,
        unit=row.get("unit", ""),
        where=row["where"],
        source=source,
        kind=row["kind"],
        chapter=row["chapter"],
        check=row["check"],
        qualifier=row.get("qualifier", ""),
    )


def claims(prefix: str) -> list[Claim]:
    """All claims of one document, in the order of the register: ``keynote`` for those of ``keynote-…``."""
    return [one for name, one in _register().items() if name.startswith(f"{prefix}-")]


def claim(identifier: str) -> Claim:
    """A claim by its id; raises ParameterError when there is none. Its ``value`` is there where it printed one."""
    found = _register().get(identifier)
    if found is None:
        raise ParameterError(f"claim {identifier!r}: not in book/claims.toml")
    return found
