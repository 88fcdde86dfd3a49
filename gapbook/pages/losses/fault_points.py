"""What was left and what was lost when the harness itself was struck: tables of the published fault points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from gapbook.markup import Html, values_table
from gapbook.pages.glued import glue_facts
from gapbook.record.fault_points import PUBLISHED, FaultPoint, counted, failed_at_first, read_fault_points

__all__ = ["FaultPoints"]

_Key = TypeVar("_Key")

_COLUMNS = (
    "what was done",
    "to",
    "faults",
    "left something behind",
    "lost a finished trial",
    "ended wrongly",
)
_FAILINGS: tuple[Callable[[FaultPoint], list[str]], ...] = (
    lambda point: point.leaks,
    lambda point: point.lost,
    lambda point: point.wrong,
)
_DEEDS: Mapping[str, str] = {
    "answers": "its answers replaced",
    "full": "a disk that is full",
    "hang up": "hung up",
    "interrupt": "interrupted",
    "kill": "killed",
    "stop": "stopped without an end",
    "taken port": "its port taken by another",
    "terminate": "terminated",
}

_VICTIMS: Mapping[str, str] = {
    "closed": "a server: connections are closed",
    "garbage": "a server: garbage is answered",
    "half": "a server: answers break off",
    "mute": "a server: nothing is answered",
}


class FaultPoints:
    """The points of a file, by default the published ones."""

    def __init__(self, path: Path = PUBLISHED) -> None:
        self.played = read_fault_points(path)
        self.counted = counted(self.played)
        self.found = failed_at_first(path)

    def glue(self) -> None:
        """Make the counts available to the prose."""
        glue_facts(self.values())

    def values(self) -> dict[str, str]:
        """The counts as the prose says them."""
        leaks, lost, wrong = (_how_many(self.counted, failing) for failing in _FAILINGS)
        return {
            "faults": f"{len(self.counted):,}",
            "left_behind": f"{leaks:,}",
            "lost": f"{lost:,}",
            "wrong": f"{wrong:,}",
            "found": f"{sum(first.struck is not None for first, _ in self.found):,}",
            "by_itself": f"{sum(first.struck is None for first, _ in self.found):,}",
            "late": f"{len(self.played) - len(self.counted):,}",
            "revisions": str(len({point.revision for point in self.counted})),
        }

    def kinds_table(self) -> Html:
        """For each kind of fault and victim: how many, and how many of them failed."""
        groups = _grouped(self.counted, lambda point: (_deed(point), _victim(point)))
        rows = [[*names, *_counts(group)] for names, group in sorted(groups.items())]
        return values_table(_COLUMNS, [*rows, ["all", "", *_counts(self.counted)]])

    def phases_table(self) -> Html:
        """For each phase of a run: how many faults struck in it, and how many of them failed; the most first."""
        groups = _grouped(self.counted, lambda point: str(point.struck))
        most_first = sorted(groups.items(), key=lambda named: -len(named[1]))
        rows = [[phase, *_counts(group)] for phase, group in most_first]
        return values_table(("phase that was struck", *_COLUMNS[2:]), rows)

    def found_table(self) -> Html:
        """Each fault after which something was wrong when it was first played, what that was, and how it ended
        when it was last played."""
        rows: list[list[str | Html]] = [
            [
                f"{first.point:,}",
                f"{_deed(first)}: {_victim(first)}, "
                + (f"in {first.struck}" if first.struck else f"meant for {first.aimed}, had not struck"),
                "; ".join(told for failing in _FAILINGS for told in failing(first)),
                _since(first, last),
            ]
            for first, last in self.found
        ]
        return values_table(
            ("number", "fault", "what was wrong", "since then"), rows or [["none", "", "", ""]]
        )


def _deed(point: FaultPoint) -> str:
    return _DEEDS.get(point.kind, point.kind)


def _victim(point: FaultPoint) -> str:
    return _VICTIMS.get(point.victim, point.victim)


def _since(first: FaultPoint, last: FaultPoint) -> str:
    if last == first:
        return "not injected again"
    return f"{'still wrong' if last.failed else 'well'} at commit {last.revision}"


def _grouped(points: Sequence[FaultPoint], key: Callable[[FaultPoint], _Key]) -> dict[_Key, list[FaultPoint]]:
    groups: dict[_Key, list[FaultPoint]] = {}
    for point in points:
        groups.setdefault(key(point), []).append(point)
    return groups


def _counts(points: Sequence[FaultPoint]) -> list[str]:
    return [f"{len(points):,}", *(f"{_how_many(points, failing):,}" for failing in _FAILINGS)]


def _how_many(points: Sequence[FaultPoint], failing: Callable[[FaultPoint], list[str]]) -> int:
    return sum(bool(failing(point)) for point in points)
