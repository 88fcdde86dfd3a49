"""What a user of k6 counted, as ``script/tally.js`` tells it when the user has ended."""

from __future__ import annotations

from typing import TypedDict


class FirstError(TypedDict):
    text: str
    at_ms: float


class KindTally(TypedDict):
    """``failed`` counts by the name of the failure; of times there are pairs, each with how often it was seen."""

    acknowledged: int
    failed: dict[str, int]
    in_doubt: int
    window_completed: int
    window_service_ms: float
    service_times: list[tuple[int, int]]
    response_times: list[tuple[int, int]]


class Tally(TypedDict):
    """``failed``, ``in_doubt`` and ``retried`` hold indices of operations; ``lost`` says why a connection was."""

    connection: int
    issued: int
    failed: list[tuple[int, str]]
    in_doubt: list[int]
    retried: list[int]
    retried_times: int
    lost: str | None
    first_error: FirstError | None
    out_ms: float
    last_end_ms: float
    per_100ms: list[int]
    kinds: dict[str, KindTally]
