"""The key of a cell: a short hash of all that was set, the same in whatever run and chapter the cell was measured.

A cell is a contestant with all its levels, a workload with its parameters, a value of the treatment, a warm-up and a
window. :mod:`gapbook.method.same` asks less of two cells whose rates are laid beside each other: there the lengths of
warm-up and window are free, and a promise is known by its kind alone.
"""

from __future__ import annotations

import hashlib

import msgspec

from gapbook.method.same import load_of, setup_of
from gapbook.record.run import Run
from gapbook.record.scenario import RecordedContestant

__all__ = ["cell_key"]

_LETTERS = 10
"""Of a hash in hexadecimal: among a thousand cells, two would share so many once in two million."""
_RESOLVED_LEVEL = "window"
"""The level that says "the scenario's" of a time that is resolved here."""


def cell_key(run: Run, contestant: RecordedContestant, treatment: float) -> str:
    """The key of what a run asked of one of its contestants at one value of its treatment."""
    setup = (one for one in setup_of(run, contestant) if one[0] != _RESOLVED_LEVEL)
    content = {
        "contestant": sorted(setup),
        "load": sorted(load_of(run.scenario, contestant, treatment)),
        "durability": contestant.durability,
        "warmup_s": float(run.scenario.warmup_s),
        "window_s": float(contestant.window_s),
    }
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:_LETTERS]
