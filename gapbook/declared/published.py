"""What others printed: ``book/headline-history.toml`` and ``book/BENCHMARK-times.toml``, whose heads say what their
fields mean."""

from __future__ import annotations

import datetime

from gapbook.declared.reading import Declared

__all__ = ["ChangeDeclaration", "HistoryDeclaration", "PublishedTime", "Rate", "Row", "TimesDeclaration"]


class Rate(Declared, frozen=True, kw_only=True):
    """Transfers per second as printed; None where the table leaves the cell empty."""

    uncontended: float | None = None
    contended: float | None = None


class Row(Declared, frozen=True, kw_only=True):
    """A row of the table that is followed: its name, and the system that gives it its colour."""

    name: str
    system: str


class ChangeDeclaration(Declared, frozen=True, kw_only=True):
    """One commit: what it changed, and the table that it printed; absent: the one before."""

    date: datetime.date
    commit: str
    number: int
    what: str
    table: dict[str, Rate] | None = None


class HistoryDeclaration(Declared, frozen=True, kw_only=True):
    """The commits to a published table, in the order of their days."""

    repository: str
    file: str
    read_at: str
    read_until: datetime.date
    rows: dict[str, Row]
    change: tuple[ChangeDeclaration, ...]


class PublishedTime(Declared, frozen=True, kw_only=True):
    """A time that a benchmark's authors noted of a run of their own."""

    system: str
    client: str
    what: str
    operations: int
    seconds: float
    file: str

    @property
    def rate_per_s(self) -> float:
        return self.operations / self.seconds


class TimesDeclaration(Declared, frozen=True, kw_only=True):
    """The times that a repository keeps; ``absent`` says of systems why they are not measured here."""

    repository: str
    read_at: str
    time: tuple[PublishedTime, ...]
    absent: dict[str, str]
