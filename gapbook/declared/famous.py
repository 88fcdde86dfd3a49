"""``book/famous.toml``: the headlines that readers come with, in the order of their cards."""

from __future__ import annotations

from gapbook.declared.reading import Declared

__all__ = ["FamousDeclaration", "HeadlineDeclaration"]


class HeadlineDeclaration(Declared, frozen=True, kw_only=True):
    """One card: a claim, and the words of the document that people repeat, where it has such."""

    claim: str
    quote: str = ""


class FamousDeclaration(Declared, frozen=True, kw_only=True):
    """The headlines; the first is the first that a reader sees."""

    headline: tuple[HeadlineDeclaration, ...]
