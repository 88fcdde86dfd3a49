"""``gapbook/record/older.toml``: what systems and clients said of themselves when records left it out."""

from __future__ import annotations

from gapbook.declared.reading import Declared

__all__ = ["OlderAccess", "OlderClient", "OlderDeclaration", "OlderSystem", "OlderTier"]


class OlderTier(Declared, frozen=True, kw_only=True):
    """A tier as it was called."""

    protocol: str = ""
    label: str = ""


class OlderAccess(Declared, frozen=True, kw_only=True):
    """An access level as it was called; absent: by its key."""

    label: str | None = None
    level: str | None = None
    defect: bool = False
    program: str | None = None
    planted: str | None = None


class OlderSystem(Declared, frozen=True, kw_only=True):
    """A system as it was called; absent: by its key."""

    label: str | None = None
    in_process: bool = False
    simulated: bool = False
    counts_commits: bool = True
    tier: dict[str, OlderTier] = {}
    access: dict[str, OlderAccess] = {}


class OlderClient(Declared, frozen=True, kw_only=True):
    """A client as it was, by its language; absent: it made its load on one thread."""

    threaded: bool = False


class OlderDeclaration(Declared, frozen=True, kw_only=True):
    """All systems of those formats, and the clients of runs that do not say of them what runs of today do."""

    system: dict[str, OlderSystem]
    client: dict[str, OlderClient] = {}
