"""The kind of a machine: what must be equal for sessions of one run.

Kernels may differ, and a little memory that the kernel keeps for itself: the record has both.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

from gapbook.record.machine import Machine, cores_words

__all__ = ["kind_of", "kind_words", "other_kind"]

_DIGITS = 12
_STEPS = 4
_USABLE = {
    "processors": "allowed processors",
    "quota_cores": "quota in cores",
    "memory_bytes": "memory limit in bytes",
}


def kind_of(machine: Machine) -> str:
    """Names a kind: equal for machines of one kind, another for each other one; it says nothing of the machine."""
    told = "\n".join(f"{name}: {value}" for name, value in _told(machine).items())
    return hashlib.sha256(told.encode()).hexdigest()[:_DIGITS]


def kind_words(machine: Machine) -> str:
    """``2 cores of AMD EPYC (family 25, model 1), 8 GiB, ext4``"""
    return f"{cores_words(machine)} of {machine.processor}, {_memory(machine)}, {machine.file_system}"


def other_kind(before: Machine, here: Machine) -> str:
    """``processor AMD EPYC, not Intel Xeon; ...``; empty where both are of one kind."""
    then, now = _told(before), _told(here)
    return "; ".join(f"{name} {now[name]}, not {then[name]}" for name in now if now[name] != then[name])


def _told(machine: Machine) -> dict[str, str]:
    usable = {words: getattr(machine.usable, name, None) for name, words in _USABLE.items()}
    return {
        "processor": machine.processor,
        "processors": str(machine.processors),
        "file system": machine.file_system,
        "virtual": str(machine.virtual),
        "memory": _memory(machine),
        **{words: _as_words(limit) for words, limit in usable.items()},
    }


def _memory(machine: Machine) -> str:
    """``8 GiB``: as it is sold, a quarter, a half, three quarters or the whole of a power of two more than one."""
    seen_bytes = max(machine.memory_bytes, 1)
    step_bytes = 2.0 ** math.floor(math.log2(seen_bytes)) / _STEPS
    return f"{math.ceil(seen_bytes / step_bytes) * step_bytes / 2**30:g} GiB"


def _as_words(limit: Any) -> str:
    if isinstance(limit, tuple):
        return ", ".join(map(str, limit))
    return "none" if limit is None else f"{limit:,g}" if isinstance(limit, float) else f"{limit:,}"
