"""Every published run there is, read once: a finished run never changes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from gapbook.paths import CHECKOUT
from gapbook.record.run import MANIFEST, Run, load_run

__all__ = ["machine_of", "published_runs"]


@cache
def published_runs() -> Sequence[Run]:
    """Every run under ``results/``, the one that began first before the others; raises RecordError for one that was
    changed."""
    manifests = sorted((CHECKOUT / "results").glob(f"*/*/{MANIFEST}"))
    runs = (load_run(manifest.parent) for manifest in manifests)
    return tuple(sorted(runs, key=lambda run: run.manifest.started_unix_s))


def machine_of(run: Run) -> tuple[str, ...]:
    """What tells the machine of a run from others, as far as its record does: processor, kernel and memory.

    Two machines alike in these count as one.
    """
    machine = run.manifest.machine
    return machine.processor, machine.kernel, str(machine.memory_bytes)
