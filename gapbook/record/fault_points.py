"""Fault points that were played: one line of JSON each, in a file that is only added to.

A point is a run of the harness, one fault at one moment of it, and what was left and lost afterwards.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from gapbook.errors import RecordError
from gapbook.paths import CHECKOUT

__all__ = ["PUBLISHED", "FaultPoint", "counted", "failed", "failed_at_first", "read_fault_points"]

PUBLISHED = CHECKOUT / "results" / "fault-points.jsonl"
"""The points that the book shows."""


class FaultPoint(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one point."""

    point: int
    """Its number: with the seed, it says what strikes, whom and when."""
    run: str
    kind: str
    victim: str
    aimed: str
    """The phase that the fault was meant for."""
    struck: str | None
    """The phase that it struck; None when the run was over before, or nobody was there to strike."""
    counts: bool
    leaks: list[str]
    lost: list[str]
    wrong: list[str]
    took_s: float
    revision: str = "unknown"

    @property
    def failed(self) -> bool:
        """Whether it left something, lost something, or ended otherwise than with one line."""
        return bool(self.leaks or self.lost or self.wrong)


def read_fault_points(path: Path) -> list[FaultPoint]:
    """Every point of a file, by number; of one that was played twice, the later. Raises RecordError when the file
    cannot be read."""
    last = {point.point: point for point in _lines(path)}
    return [last[number] for number in sorted(last)]


def failed_at_first(path: Path) -> list[tuple[FaultPoint, FaultPoint]]:
    """The points of a file that failed when they were played first, each with how it was played last."""
    last: dict[int, FaultPoint] = {}
    first: dict[int, FaultPoint] = {}
    for point in _lines(path):
        first.setdefault(point.point, point)
        last[point.point] = point
    return [(first[number], last[number]) for number in sorted(first) if first[number].failed]


def _lines(path: Path) -> Iterator[FaultPoint]:
    """As they were written; one that was cut off, as by a full disk, is left out."""
    try:
        lines = path.read_bytes().splitlines() if path.exists() else []
    except OSError as error:
        raise RecordError(f"{path} cannot be read ({error.strerror}); name another file of points") from error
    for line in lines:
        with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
            yield msgspec.json.decode(line, type=FaultPoint)


def counted(points: Iterable[FaultPoint]) -> list[FaultPoint]:
    """The points whose fault came before the run was over."""
    return [point for point in points if point.counts]


def failed(points: Iterable[FaultPoint]) -> list[FaultPoint]:
    return [point for point in points if point.failed]
