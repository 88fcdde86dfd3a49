"""JSON into typed values; what does not fit is refused in one line that names it.

Ranges are the schema's (``clients/contract.schema.json``), which the harness has held the configuration to.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from gap_python.failure import EXIT_CONFIGURATION, ClientError

T = TypeVar("T")


class Decoded(msgspec.Struct, forbid_unknown_fields=True):
    """What is read from JSON, key by key."""


def decode_json(text: str) -> Any:
    """Raises ClientError."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise ClientError(
            EXIT_CONFIGURATION, f"configuration: standard input is not JSON ({error})"
        ) from error


def decode(value: Any, kind: type[T], path: str = "") -> T:
    """The value at ``path`` of the configuration; raises ClientError."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        name = f"{path}{where.rstrip('`')}".lstrip(".")
        raise ClientError(EXIT_CONFIGURATION, f"{name or 'configuration'}: {what}") from error


def choose(path: str, given: str, allowed: Iterable[str]) -> str:
    """The given word, if it is allowed; raises ClientError."""
    words = tuple(allowed)
    if given not in words:
        raise refused(path, given, ", ".join(f'"{word}"' for word in words))
    return given


def refused(path: str, given: object, allowed: str) -> ClientError:
    """What refuses a value that can be decoded, and that this client cannot do."""
    return ClientError(
        EXIT_CONFIGURATION, f"{path}: {json.dumps(given)} is refused; allowed: {allowed} for this client"
    )
