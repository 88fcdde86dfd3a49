"""What a client says while it runs: one JSON line for each event (clients/CONTRACT.md)."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from gapbook.errors import ClientError
from gapbook.record.fields import Amount, Count
from gapbook.record.schema import one_line

__all__ = ["checked_event"]

_MOST_CHARACTERS = 300


class _Progress(msgspec.Struct):
    elapsed_s: Amount
    acknowledged: Count


def checked_event(line: bytes) -> dict[str, Any]:
    """One line of a client's standard error; what is no JSON is told as an error of the client.

    Raises ClientError for a progress line without its counts.
    """
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return {"event": "error", "message": line.decode(errors="replace").strip()[:_MOST_CHARACTERS]}
    if not isinstance(event, dict):
        return {}
    if event.get("event") == "progress":
        try:
            msgspec.convert(event, _Progress)
        except (msgspec.ValidationError, OverflowError) as error:
            raise ClientError(f"its progress is not as the contract has it: {one_line(error)}") from error
    return event
