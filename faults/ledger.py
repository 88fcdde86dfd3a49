"""The ledger: one line of JSON for each point that was played, in a file that is only added to."""

from __future__ import annotations

import fcntl
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from gapbook.errors import RecordError
from gapbook.record.fault_points import FaultPoint, counted, failed, read_fault_points

__all__ = ["Ledger", "table"]

_FAILINGS = ("leaks", "lost", "wrong")


class Ledger:
    """Points of one seed. Several processes may add to it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, outcome: Mapping[str, Any]) -> None:
        """Raises RecordError where the line cannot be written."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                if _is_cut(file):
                    file.write(b"\n")
                file.write(json.dumps(outcome).encode() + b"\n")
        except OSError as error:
            raise RecordError(
                f"{self.path} cannot be written ({error.strerror}); make room, or name another with --file"
            ) from error

    def points(self) -> list[FaultPoint]:
        """Every point so far; a line that was cut off, as by a full disk, is left out and played again."""
        return read_fault_points(self.path)


def _is_cut(file: IO[bytes]) -> bool:
    """Whether its last line was cut off, which must not take another with it."""
    if file.seek(0, os.SEEK_END) == 0:
        return False
    file.seek(-1, os.SEEK_END)
    return file.read(1) != b"\n"


def table(played: Sequence[FaultPoint]) -> list[str]:
    """The lines of the summary: for each kind of fault its points, the phases that they struck, and what failed."""
    rows = [["fault", "points", "leaks", "lost", "wrong", "struck in"]]
    points = counted(played)
    for kind, victim in sorted({(point.kind, point.victim) for point in points}):
        of_kind = [point for point in points if (point.kind, point.victim) == (kind, victim)]
        rows.append([f"{kind}: {victim}", *_row(of_kind)])
    rows.append(["all", *_row(points)])
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = [
        "  ".join(f"{word:<{width}}" for word, width in zip(row[:5], widths, strict=True)) for row in rows
    ]
    late = len(played) - len(points)
    return [
        *(f"{line}  {row[5]}" for line, row in zip(lines, rows, strict=True)),
        f"{late} more came when the run was over, or found nobody to strike, and do not count",
        *(f"point {point.point}: {_told(point)}" for point in failed(played)),
    ]


def _row(points: Sequence[FaultPoint]) -> list[str]:
    phases = Counter(point.struck for point in points)
    struck = ", ".join(f"{phase} {number}" for phase, number in phases.most_common())
    failings = (str(sum(bool(getattr(point, name)) for point in points)) for name in _FAILINGS)
    return [f"{len(points):,}", *failings, struck]


def _told(point: FaultPoint) -> str:
    found = "; ".join(
        f"{name}: {', '.join(failings)}" for name in _FAILINGS if (failings := getattr(point, name))
    )
    return f"{point.run}, {point.kind} {point.victim} in {point.struck}: {found}"
