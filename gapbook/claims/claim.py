"""The register of published claims, with their sources: ``book/claims.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from gapbook.declared.claims import ClaimDeclaration, ClaimsDeclaration, SourceDeclaration
from gapbook.declared.reading import read
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
    source: SourceDeclaration = field(repr=False)
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

    @property
    def at_a_glance(self) -> str:
        """The printed number to three digits, a ratio without its sign: ``about 14``, ``73,100/s``; empty without one
        number."""
        if not isinstance(self.printed, float):
            return ""
        rounded = replace(self, printed=float(f"{self.printed:.3g}"))
        return rounded.published.replace("×", "")

    def _with_unit(self, number: float) -> str:
        digits = f"{number:,g}" if abs(number) < 1000 else f"{number:,.0f}"
        text = f"×{digits}" if self.unit == "x" else f"{digits}{_UNITS.get(self.unit, f' {self.unit}')}"
        return text.replace("-", "−")

    @property
    def citation(self) -> str:
        """``clockworklabs/SpacetimeDB #4432, Results table, alpha=0.5, 2026-02-24``"""
        repository = self.source.repository or self.source.title
        number = "" if self.source.number is None else f" #{self.source.number}"
        return f"{repository}{number}, {self.where}, {self.source.date}"

    @property
    def published_by(self) -> str:
        """``Clockwork Labs, makers of SpacetimeDB, 2026-05-14``: who said so, and when."""
        return f"{self.source.by}, {self.source.date}"

    @property
    def address(self) -> str:
        """Where the source can be read; empty where the register does not know."""
        if self.source.repository is not None and self.source.number is not None:
            return f"https://github.com/{self.source.repository}/pull/{self.source.number}"
        return self.source.url

    @property
    def place(self) -> str:
        """``#4432, Summary``: where it stands, for a reader who knows the repository."""
        named = self.source.title if self.source.number is None else f"#{self.source.number}"
        return f"{named}, {self.where}"


@cache
def _register() -> Mapping[str, Claim]:
    declared = read(CHECKOUT / "book" / "claims.toml", ClaimsDeclaration)
    return {one.id: _claim(one, declared.source[one.source]) for one in declared.claim}


def _claim(declared: ClaimDeclaration, source: SourceDeclaration) -> Claim:
    value = declared.value
    printed = (
        (float(value[0]), float(value[1]))
        if isinstance(value, tuple)
        else None
        if value is None
        else float(value)
    )
    return Claim(
        identifier=declared.id,
        says=declared.says,
        printed=printed,
        unit=declared.unit,
        where=declared.where,
        source=source,
        kind=declared.kind,
        chapter=declared.chapter,
        check=declared.check,
        qualifier=declared.qualifier,
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
