"""``clients/**/client.toml`` and ``null.toml``: load clients, and servers that answer them at once."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from gapbook.declared.module import PartialRequest
from gapbook.declared.reading import Declared

__all__ = ["ClientDeclaration", "NullEndpoint", "NullServerDeclaration"]


class ClientDeclaration(Declared, frozen=True, kw_only=True):
    """One load client: what it speaks and how it is started.

    ``workloads`` are those that it can draw, ``*`` alone is any. ``access`` has for a protocol the levels that it can
    express, any where a protocol is not named. ``sequential`` are the protocols in which it has one request out on
    each connection. ``reports`` says whether it lists which operations were not acknowledged, or counts them.
    ``programs`` must be installed besides. ``starts_at_moment``: it can start at a moment that it is told
    (``start_unix_s``), as one of several that make one load together. ``lingers``: it can keep its connections open for
    a while after the window (``linger_s``). ``threaded``: it makes its load on several threads at once, so that no single
    core is its limit.
    """

    language: str
    protocols: tuple[str, ...]
    workloads: tuple[str, ...]
    command: tuple[str, ...]
    access: dict[str, tuple[str, ...]] = {}
    sequential: tuple[str, ...] = ()
    reports: Literal["indices", "counts"] = "indices"
    programs: tuple[str, ...] = ()
    starts_at_moment: bool = False
    lingers: bool = False
    threaded: bool = False


class NullEndpoint(Declared, frozen=True, kw_only=True):
    """What a client must be told of a null server besides host and port."""

    user: str | UnsetType = UNSET
    password: str | UnsetType = UNSET
    database: str | UnsetType = UNSET
    token: str | UnsetType = UNSET
    requests: dict[str, PartialRequest] | UnsetType = UNSET


class NullServerDeclaration(Declared, frozen=True, kw_only=True):
    """A server of several protocols that does nothing; ``{protocol}`` in its command is the one that is meant."""

    protocols: tuple[str, ...]
    command: tuple[str, ...]
    endpoint: dict[str, NullEndpoint] = {}
