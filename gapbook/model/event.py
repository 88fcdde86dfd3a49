"""What a client says while it runs (clients/CONTRACT.md), as the harness reads it once it has been checked."""

from __future__ import annotations

from typing import Annotated

import msgspec

__all__ = ["Event", "Progress"]


class Event(msgspec.Struct, frozen=True):
    """One line of a client: ``ready``, ``window_start``, ``error`` with its message; no name where it said none."""

    name: str = msgspec.field(default="", name="event")
    message: str = ""


class Progress(Event, frozen=True, kw_only=True):
    """What a client says once a second: seconds since its clock started, and acknowledgements so far."""

    name: str = msgspec.field(default="progress", name="event")
    phase: str = ""
    elapsed_s: Annotated[float, msgspec.Meta(ge=0, le=1e18)]
    acknowledged: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
