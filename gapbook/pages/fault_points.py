"""What was left and what was lost when the harness itself was struck: tables of the published fault points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gapbook.markup import Html, values_table
from gapbook.record.fault_points import PUBLISHED, FaultPoint, counted, failed, read_fault_points

__all__ = ["FaultPoints"]

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
    "answers": "answers that are none",
    "full": "a disk that is full",
    "hang up": "hung up",
    "interrupt": "interrupted",
    "kill": "killed",
    "stop": "stopped without an end",
    "taken port": "its port taken by another",
    "terminate": "terminated",
}


class FaultPoints:
    """The points of a file, by default the published ones."""

    def __init__(self, path: Path = PUBLISHED) -> None:
        self.played = read_fault_points(path)
        self.counted = counted(self.played)
        self.failed = failed(self.counted)

    def glue(self) -> None:
        """Make the counts available to the prose."""
        # Imported here: it takes seconds that command line and tests need not wait for.
        from myst_nb import glue  # noqa: PLC0415

        for key, text in self.values().items():
            glue(key, text, display=False)

    def values(self) -> dict[str, str]:
        """The counts as the prose says them."""
        leaks, lost, wrong = (_how_many(self.counted, failing) for failing in _FAILINGS)
        return {
            "faults": f"{len(self.counted):,}",
            "left_behind": f"{leaks:,}",
            "lost": f"{lost:,}",
            "wrong": f"{wrong:,}",
            "late": f"{len(self.played) - len(self.counted):,}",
            "kinds": str(len({(point.kind, point.victim) for point in self.counted})),
            "phases": str(len({point.struck for point in self.counted})),
            "revisions": str(len({point.revision for point in self.counted})),
        }

    def kinds_table(self) -> Html:
        """For each kind of fault and victim: how many, and how many of them failed."""
        kinds = sorted({(point.kind, point.victim) for point in self.counted})
        rows: list[list[str | Html]] = [
            [
                _DEEDS.get(kind, kind),
                victim,
                *self._counts(lambda p, k=kind, v=victim: (p.kind, p.victim) == (k, v)),
            ]
            for kind, victim in kinds
        ]
        return values_table(_COLUMNS, [*rows, ["all", "", *self._counts(lambda _: True)]])

    def phases_table(self) -> Html:
        """For each phase of a run: how many faults struck in it, and how many of them failed."""
        phases = Counter(str(point.struck) for point in self.counted)
        rows: list[list[str | Html]] = [
            [phase, *self._counts(lambda point, phase=phase: point.struck == phase)]
            for phase, _ in phases.most_common()
        ]
        return values_table(("phase that was struck", *_COLUMNS[2:]), rows)

    def failed_table(self) -> Html:
        """Each fault after which something was wrong, and what."""
        rows: list[list[str | Html]] = [
            [
                f"{point.point:,}",
                f"{_DEEDS.get(point.kind, point.kind)}: {point.victim}, in {point.struck}",
                "; ".join(told for failing in _FAILINGS for told in failing(point)),
                point.revision,
            ]
            for point in self.failed
        ]
        return values_table(("point", "fault", "what was wrong", "commit"), rows or [["none", "", "", ""]])

    def _counts(self, chosen: Callable[[FaultPoint], bool]) -> list[str | Html]:
        points = [point for point in self.counted if chosen(point)]
        return [f"{len(points):,}", *(f"{_how_many(points, failing):,}" for failing in _FAILINGS)]


def _how_many(points: Sequence[FaultPoint], failing: Callable[[FaultPoint], list[str]]) -> int:
    return sum(bool(failing(point)) for point in points)
