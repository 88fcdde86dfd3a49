"""What a client reports of a load (clients/CONTRACT.md), as the harness reads it once it has been checked."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

__all__ = ["Connection", "Kind", "KindWindow", "Report", "Reporter", "Window"]

_Count = Annotated[int, msgspec.Meta(ge=0)]


class KindWindow(msgspec.Struct):
    """Operations of one kind that were acknowledged, and that were answered at all, inside the window."""

    acknowledged: int
    completed: int


class Window(KindWindow):
    """The window of all kinds: seconds of time and of CPU, operations a second."""

    goodput_per_s: float
    mean_in_flight: float
    mean_service_time_s: float | None
    cpu_user_s: float
    cpu_system_s: float


class Kind(msgspec.Struct):
    """What a report says of one kind, and of all together: ``failed`` by the name of the refusal, the times as
    histograms in base64."""

    attempted: int
    acknowledged: int
    in_doubt: int
    failed: dict[str, int]
    window: KindWindow
    service_time_ns: str
    response_time_ns: str


class Connection(msgspec.Struct):
    """A connection of a client that reports indices, or, with ``counts``, of one that counts only."""

    connection: int
    issued: int
    failed: list[tuple[_Count, str]] = []
    in_doubt: list[_Count] = []
    retried: list[_Count] = []
    counts: dict[str, int] | None = None

    def problem(self) -> str | None:
        """What cannot be of the operations that it lists, or None."""
        left_out = [index for index, _ in self.failed] + self.in_doubt
        if len(set(left_out)) != len(left_out) or len(set(self.retried)) != len(self.retried):
            return "lists an operation twice"
        if max(left_out + self.retried, default=-1) >= self.issued:
            return f"lists an operation that is none of the {self.issued} it issued"
        return None


class Reporter(msgspec.Struct):
    """The program that made a report; ``build_id`` is the sha256 of what it is made of."""

    name: str
    language: str
    version: str
    build_id: str | None


class Report(Kind, kw_only=True):
    """A whole report: what was done, how long it took, and what each connection issued.

    ``engine`` is what an engine inside the client says of itself, ``agreed`` what its connections agreed on with the
    server, ``flawed`` what it counted by the rule of each flaw that it was asked for.
    """

    client: Reporter
    warmup_s: float
    window_s: float
    drained_s: float
    retried: int
    first_error: str | None
    lost_connections: int
    window: Window
    kinds: dict[str, Kind]
    connections: list[Connection]
    per_second: list[int]
    per_100ms: list[int]
    cpu_user_s: float
    cpu_system_s: float
    peak_memory_bytes: int | None
    engine: dict[str, str] | None = None
    agreed: dict[str, str] | None = None
    flawed: dict[str, Any] = {}
