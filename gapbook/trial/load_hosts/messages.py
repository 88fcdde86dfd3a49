"""What travels on a line between who measures and a load host, as bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

__all__ = [
    "Answered",
    "Asked",
    "Call",
    "Ceiling",
    "Clock",
    "Failed",
    "Hello",
    "MakeLoad",
    "MeasureCeiling",
    "ReadClock",
    "Reported",
    "Saying",
    "answered",
    "asked",
    "packed",
]


class Call(msgspec.Struct, forbid_unknown_fields=True):
    """Where a load host calls, and the words by which it is known there: ``token`` is a secret of that one load."""

    address: str
    port: int
    host: int
    token: str


class ReadClock(msgspec.Struct, tag=True, forbid_unknown_fields=True):
    """Say what time it is there."""


class MakeLoad(msgspec.Struct, tag=True, forbid_unknown_fields=True):
    """Run a client, named by its folder in the checkout, with this configuration; its workload's files are those that
    the host makes itself. ``environment`` are variables that the client gets besides."""

    client: str
    configuration: Mapping[str, Any]
    environment: Mapping[str, str]


class MeasureCeiling(msgspec.Struct, tag=True, forbid_unknown_fields=True):
    """Run a client against a server of the host's own that does nothing
    (:func:`gapbook.load.null_server.measure_ceiling`)."""

    client: str
    protocol: str
    endpoint: Mapping[str, Any]
    workload: str
    parameters: Mapping[str, Any]
    connections: int
    in_flight: int
    warmup_s: float
    window_s: float
    environment: Mapping[str, str]


class Hello(msgspec.Struct, tag=True, forbid_unknown_fields=True):
    """The first word of a load host."""

    host: int
    token: str


class Clock(msgspec.Struct, tag=True, forbid_unknown_fields=True):
    """Seconds since 1970 by the host's clock."""

    unix_s: float


class Saying(msgspec.Struct, tag=True, forbid_unknown_fields=True):
    """An event of the client (clients/CONTRACT.md); ``elapsed_s`` and ``acknowledged`` are those of its progress."""

    event: str
    phase: str = ""
    elapsed_s: float | None = None
    acknowledged: int = 0


class Reported(msgspec.Struct, tag=True, forbid_unknown_fields=True):
    """The client ended of itself: its report as it was written."""

    output: bytes


class Ceiling(msgspec.Struct, tag=True, forbid_unknown_fields=True):
    """Requests a second; None where nothing can stand in for the server."""

    rate_per_s: float | None


class Failed(msgspec.Struct, tag=True, forbid_unknown_fields=True):
    """What was asked for did not come about, in one line."""

    message: str


Asked: TypeAlias = ReadClock | MakeLoad | MeasureCeiling
Answered: TypeAlias = Hello | Clock | Saying | Reported | Ceiling | Failed
_asked, _answered = msgspec.msgpack.Decoder(Asked), msgspec.msgpack.Decoder(Answered)


def packed(message: Asked | Answered | Call) -> bytes:
    return msgspec.msgpack.encode(message)


def asked(message: bytes) -> Asked:
    """Raises ValueError for what is no such message."""
    found: Asked = _asked.decode(message)
    return found


def answered(message: bytes) -> Answered:
    """Raises ValueError for what is no such message."""
    found: Answered = _answered.decode(message)
    return found
