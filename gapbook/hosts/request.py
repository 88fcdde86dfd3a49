"""What a worker is asked for, and what it answers, as bytes that travel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

__all__ = ["Answer", "Request"]


class Request(msgspec.Struct, forbid_unknown_fields=True):
    """One session, from 0, of the chapters that are measured as one, each with what its published run is given."""

    given: Mapping[str, Mapping[str, Any]]
    session: int
    plan_key: str


class Answer(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The files of the session's journal and how long it took, or why there are none, in one line."""

    files: Mapping[str, bytes] = {}
    took_s: float = 0.0
    error: str = ""
