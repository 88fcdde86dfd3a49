"""What a client says while it runs: one JSON line for each event (clients/CONTRACT.md)."""

from __future__ import annotations

import json

import msgspec

from gapbook.errors import ClientError
from gapbook.model.event import Event, Progress
from gapbook.record.schema import one_line

__all__ = ["checked_event"]

_MOST_CHARACTERS = 300


def checked_event(line: bytes) -> Event:
    """One line of a client's standard error; what is no JSON is told as an error of the client.

    Raises ClientError for a progress line without its counts.
    """
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return Event("error", line.decode(errors="replace").strip()[:_MOST_CHARACTERS])
    if not isinstance(told, dict):
        return Event()
    name, message = (str(told.get(key, "")) for key in ("event", "message"))
    if name != "progress":
        return Event(name, message)
    try:
        return msgspec.convert(told, Progress)
    except (msgspec.ValidationError, OverflowError) as error:
        raise ClientError(f"its progress is not as the contract has it: {one_line(error)}") from error
