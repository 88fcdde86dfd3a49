"""The register of published claims, with their sources: ``book/claims.toml``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

from gapbook.claims.search import slug
from gapbook.declared.claims import ClaimDeclaration, ClaimKind, ClaimsDeclaration, SourceDeclaration
from gapbook.declared.reading import read
from gapbook.errors import ParameterError
from gapbook.paths import CHECKOUT

__all__ = [
    "NOTE",
    "Claim",
    "claim",
    "claims",
    "document_pages",
    "documents",
    "system_labels",
]

NOTE: Final = "arithmetic-note"
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
    kind: ClaimKind = "figure"
    chapter: str = ""
    check: str = ""
    qualifier: str = ""
    systems: tuple[str, ...] = ()
    """What it speaks of, as :func:`system_labels` names it."""
    names_systems: bool = False
    """Whether it names them itself, and is not only checked with them."""
    fragments: tuple[str, ...] = ()
    """What the document prints, verbatim."""

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
        text = " to ".join(self.with_unit(_digits(number)) for number in numbers)
        return f"{self.qualifier} {text}".strip()

    @property
    def at_a_glance(self) -> str:
        """The printed number to three digits, a ratio without its sign: ``about 14``, ``73,100/s``; empty without one
        number."""
        if not isinstance(self.printed, float):
            return ""
        rounded = replace(self, printed=float(f"{self.printed:.3g}"))
        return rounded.published.replace("×", "")

    def with_unit(self, digits: str) -> str:
        """A number of the same kind as the printed one: ``×14``, ``100/s``."""
        text = (
            f"×{digits}" if self.unit == "x" else f"{digits}{_UNITS.get(self.unit, f' {self.unit}').rstrip()}"
        )
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
    def judged_at(self) -> str:
        """Where the book says why it is judged as it is, from a page of ``notebooks`` on."""
        return f"{_document_page(self.source)}.html#claim-{self.identifier}"

    @property
    def place(self) -> str:
        """``#4432, Summary``: where it stands, for a reader who knows the repository."""
        named = self.source.title if self.source.number is None else f"#{self.source.number}"
        return f"{named}, {self.where}"


def _digits(number: float) -> str:
    return f"{number:,g}" if abs(number) < 1000 else f"{number:,.0f}"


@cache
def _declared() -> ClaimsDeclaration:
    return read(CHECKOUT / "book" / "claims.toml", ClaimsDeclaration)


@cache
def _register() -> Mapping[str, Claim]:
    declared = _declared()
    return {one.id: _claim(one, declared.source[one.source]) for one in declared.claim}


def _document_page(source: SourceDeclaration) -> str:
    """The name of the page that goes through a document claim by claim: ``claims-pr-4432``."""
    return f"claims-{slug(source.short)}"


def document_pages() -> Mapping[str, SourceDeclaration]:
    """The documents of the register by the names of their pages."""
    return {_document_page(source): source for source in _declared().source.values()}


def documents() -> Sequence[str]:
    """What the ids of claims begin with, a word for each document or two that say the same."""
    return tuple(dict.fromkeys(name.partition("-")[0] for name in _register()))


@cache
def system_labels() -> Mapping[str, str]:
    """Every system, program or service that claims speak of, as they write it most often: ``node`` is ``Node.js``."""
    declared = _declared().claim
    names = {name for one in declared for name in (*one.needs, *(one.conditions.system or "").split("-"))}
    labels = {}
    for name in sorted(names - {""}):
        written = Counter(found for one in declared for found in _word(name).findall(one.says))
        label = min(written, key=lambda word: (-written[word], word), default="")
        # What is never written with a capital is no name.
        if label != label.lower():
            labels[name] = label
    return labels


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){re.escape(name)}(?:\.\w+)?(?![\w-])", re.IGNORECASE)


def _named_systems(says: str) -> tuple[str, ...]:
    return tuple(label for name, label in system_labels().items() if _word(name).search(says))


def _claim(declared: ClaimDeclaration, source: SourceDeclaration) -> Claim:
    value = declared.value
    printed = (
        (float(value[0]), float(value[1]))
        if isinstance(value, tuple)
        else None
        if value is None
        else float(value)
    )
    named, labels = _named_systems(declared.says), system_labels()
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
        systems=named or tuple(labels[name] for name in declared.needs if name in labels),
        names_systems=bool(named),
        fragments=declared.as_printed,
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
