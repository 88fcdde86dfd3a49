"""Kinds of values in a record, each with its range."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

__all__ = [
    "Amount",
    "Count",
    "Name",
    "Positive",
    "Seconds",
    "Sha256",
    "TreatmentValue",
    "UnixSeconds",
    "Window",
]

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Positive: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
Amount: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1e18)]
Seconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
Window: TypeAlias = Annotated[float, msgspec.Meta(gt=0, le=1e6)]
UnixSeconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=253_402_300_799)]
TreatmentValue: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
Name: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Sha256: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$")]
