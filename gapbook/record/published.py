"""Every published run there is, read once: a finished run never changes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from gapbook.paths import CHECKOUT, GIVEN_RUNS
from gapbook.record.run import MANIFEST, Run, load_run

__all__ = ["given_runs", "machine_of", "measurement_of", "published_runs"]


@cache
def published_runs() -> Sequence[Run]:
    """Every run under ``results/``, the one that began first before the others; raises RecordError for one that was
    changed."""
    return _runs_under(CHECKOUT / "results")


@cache
def given_runs() -> Sequence[Run]:
    """Every run that somebody gave, by the same order; raises as :func:`published_runs` does."""
    return _runs_under(GIVEN_RUNS)


def _runs_under(folder: Path) -> Sequence[Run]:
    runs = (load_run(manifest.parent) for manifest in sorted(folder.glob(f"*/*/{MANIFEST}")))
    return tuple(sorted(runs, key=lambda run: run.manifest.started_unix_s))


def machine_of(run: Run) -> tuple[str, ...]:
    """What tells the machine of a run from others, as far as its record does: processor, kernel and memory.

    Two machines alike in these count as one.
    """
    machine = run.manifest.machine
    return machine.processor, machine.kernel, str(machine.memory_bytes)


def measurement_of(run: Run) -> str:
    """The run that its trials were measured in: itself, or that of several chapters, from which each has its own.

    Wherever runs are counted, those of one measurement are one: they hold the same trials.
    """
    together = run.manifest.measured_with
    return run.run_id if together is None else together.run
