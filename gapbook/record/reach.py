"""How far an interval reaches: on how many machines and over which time its trials were made.

Sessions that follow each other on one machine hold what changes there within those hours, and nothing of another
machine or another day. A reader must be told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from gapbook.record.machine import Machine, cores_words, processor_words
from gapbook.record.run import Run

__all__ = ["Reach", "reach"]

_MINUTE_S, _HOUR_S, _DAY_S = 60.0, 3600.0, 86400.0
_HOURS_TOLD = 48


@dataclass(frozen=True)
class Reach:
    """The machines and the time that the trials of one or several runs hold."""

    kinds: tuple[str, ...]
    """Each kind of machine in words, once: ``2 cores of an AMD EPYC``."""
    machines: int | None
    """How many machines, one that was restarted counted again; None where nobody recorded that."""
    runs: int
    duration_s: float
    """From the first trial's begin to the last one's end."""

    @property
    def machine_words(self) -> str:
        """``one machine, 2 cores of an AMD EPYC``; ``one kind of machine, ...`` where which one was not recorded."""
        if len(self.kinds) > 1:
            return f"{self.counted}: {', '.join(self.kinds[:-1])} and {self.kinds[-1]}"
        each = " each with" if self.machines is not None and self.machines > 1 else ""
        return f"{self.counted},{each} {self.kinds[0]}"

    @property
    def counted(self) -> str:
        """How many machines, without what they are: ``one machine``."""
        if len(self.kinds) > 1:
            return f"{len(self.kinds)} kinds of machine"
        if self.machines is None:
            return "one kind of machine"
        return "one machine" if self.machines == 1 else f"{self.machines} machines or restarts of them"

    @property
    def time_words(self) -> str:
        """``within 1.6 hours``, ``over 11 days``."""
        if self.duration_s < _HOUR_S:
            minutes = max(1, round(self.duration_s / _MINUTE_S))
            return f"within {minutes} minute{'' if minutes == 1 else 's'}"
        if self.duration_s < _HOURS_TOLD * _HOUR_S:
            hours = f"{self.duration_s / _HOUR_S:.2g}"
            return "within an hour" if hours == "1" else f"within {hours} hours"
        return f"over {self.duration_s / _DAY_S:.0f} days"

    @property
    def text(self) -> str:
        """``one machine, 2 cores of an AMD EPYC, within 1.6 hours``, and how many runs, where there are several."""
        runs = f"{self.runs} runs " if self.runs > 1 else ""
        return f"{self.machine_words}, {runs}{self.time_words}"


def reach(*runs: Run) -> Reach:
    """What the trials of these runs hold together, pooled or one run alone."""
    machines = [machine for run in runs for machine in _machines(run)]
    began_s, ended_s = zip(*(_span(run) for run in runs), strict=True)
    return Reach(
        kinds=tuple(dict.fromkeys(f"{cores_words(one)} of {processor_words(one)}" for one in machines)),
        machines=_many(machines, in_one_go=len(runs) == 1 and not runs[0].manifest.resumed_unix_s),
        runs=len(runs),
        duration_s=max(ended_s) - min(began_s),
    )


def _machines(run: Run) -> Iterator[Machine]:
    """That of each session, or that of the run where sessions do not say it."""
    of_sessions = [one.machine for one in run.manifest.deployments if one.machine is not None]
    yield from of_sessions or [run.manifest.machine]


def _many(machines: list[Machine], *, in_one_go: bool) -> int | None:
    """One process measures on one machine; of several it is known where each recorded its boot."""
    if in_one_go:
        return 1
    boots = {one.boot_sha256 for one in machines}
    return None if None in boots else len(boots)


def _span(run: Run) -> tuple[float, float]:
    times = run.trials.select(
        began_s=pl.col("started_unix_s").min(), ended_s=(pl.col("started_unix_s") + pl.col("took_s")).max()
    )
    began_s, ended_s = times.row(0)
    return began_s, ended_s
