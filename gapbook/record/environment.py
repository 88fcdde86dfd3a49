"""The environment of a session's servers and clients, as a manifest holds it."""

from __future__ import annotations

from typing import Annotated

import msgspec

from gapbook.record.fields import Name

__all__ = ["Environment"]


class Environment(msgspec.Struct):
    """The variables that all servers, tiers and clients were started with, besides what a system or a contestant
    declares, and the names of those of the reader's shell that are known to change servers and were not passed on."""

    variables: dict[Name, str]
    ignored: Annotated[list[Name], msgspec.Meta(max_length=1_000)]
