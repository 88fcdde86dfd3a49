"""A metric that a trial tells under a name of its own, apart from the tables that keep it: who tells one loads no table."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["PROBE_ARITHMETIC", "PROBE_MEMORY", "OwnMetric"]

PROBE_ARITHMETIC, PROBE_MEMORY = "probe-arithmetic", "probe-memory"
"""What a trial calls the processor time of either piece of work of a probe of the machine, in microseconds: the mean
over the window."""


class OwnMetric(msgspec.Struct, forbid_unknown_fields=True):
    """A metric that a trial tells under a name of its own: its value in that unit, and which way is better."""

    value: float
    unit: str
    better: Literal["higher", "lower"]
