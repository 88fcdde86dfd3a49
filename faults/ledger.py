"""The ledger: one line of JSON for each point that was played, in a file that is only added to."""

from __future__ import annotations

import fcntl
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from gapbook.errors import RecordError

__all__ = ["Ledger", "counted", "failed", "table"]

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

    def outcomes(self) -> list[dict[str, Any]]:
        """Every point so far; a line that was cut off, as by a full disk, is left out and played again."""
        found: dict[int, dict[str, Any]] = {}
        for line in self.path.read_text().splitlines() if self.path.is_file() else ():
            try:
                outcome = json.loads(line)
                found[int(outcome["point"])] = outcome
            except (KeyError, TypeError, ValueError):
                continue
        return [found[number] for number in sorted(found)]


def _is_cut(file: IO[bytes]) -> bool:
    """Whether its last line was cut off, which must not take another with it."""
    if file.seek(0, os.SEEK_END) == 0:
        return False
    file.seek(-1, os.SEEK_END)
    return file.read(1) != b"\n"


def counted(outcomes: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The points whose fault came before the run was over."""
    return [outcome for outcome in outcomes if outcome["counts"]]


def failed(outcomes: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The points that left or lost something, or ended otherwise than with one line."""
    return [outcome for outcome in outcomes if any(outcome[name] for name in _FAILINGS)]


def table(outcomes: Sequence[Mapping[str, Any]]) -> list[str]:
    """The lines of the summary: for each kind of fault its points, the phases that they struck, and what failed."""
    rows = [["fault", "points", "leaks", "lost", "wrong", "struck in"]]
    points = counted(outcomes)
    kinds = dict.fromkeys((outcome["kind"], outcome["victim"]) for outcome in points)
    for kind, victim in sorted(kinds):
        of_kind = [one for one in points if (one["kind"], one["victim"]) == (kind, victim)]
        rows.append([f"{kind}: {victim}", *_row(of_kind)])
    rows.append(["all", *_row(points)])
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = [
        "  ".join(f"{word:<{width}}" for word, width in zip(row[:5], widths, strict=True)) for row in rows
    ]
    late = len(outcomes) - len(points)
    return [
        *(f"{line}  {row[5]}" for line, row in zip(lines, rows, strict=True)),
        f"{late} more came when the run was over, or found nobody to strike, and do not count",
        *(f"point {one['point']}: {_told(one)}" for one in failed(outcomes)),
    ]


def _row(points: Sequence[Mapping[str, Any]]) -> list[str]:
    phases = Counter(one["struck"] for one in points)
    struck = ", ".join(f"{phase} {number}" for phase, number in phases.most_common())
    return [f"{len(points):,}", *(str(sum(bool(one[name]) for one in points)) for name in _FAILINGS), struck]


def _told(one: Mapping[str, Any]) -> str:
    found = "; ".join(f"{name}: {', '.join(one[name])}" for name in _FAILINGS if one[name])
    return f"{one['run']}, {one['kind']} {one['victim']} in {one['struck']}: {found}"
