"""CPU, memory and noise, read from /proc."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MachineCpu", "cpu_s", "machine_cpu", "process_tree", "proportional_memory_bytes"]

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_READING_ATTEMPTS = 20


def process_tree(roots: Iterable[int]) -> list[int]:
    """The given processes and all their descendants that live now."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    tree, pending = [], list(roots)
    while pending:
        pid = pending.pop()
        tree.append(pid)
        pending.extend(children.get(pid, ()))
    return tree


def cpu_s(roots: Sequence[int]) -> float:
    """User and system CPU of process trees so far, ended and reaped children included; 10 ms steps.

    A child that ends while it is read would be counted nowhere (gone before it was read, reaped after
    its parent was) or twice, so the tree must be the same before and after the reading.
    """
    for _ in range(_READING_ATTEMPTS):
        before = process_tree(roots)
        ticks = sum(map(_ticks, before))
        if process_tree(roots) == before:
            break
    return ticks / _TICKS_PER_S


def _ticks(pid: int) -> int:
    with contextlib.suppress(OSError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(int(fields[index]) for index in (11, 12, 13, 14))
    return 0


def proportional_memory_bytes(roots: Iterable[int]) -> int:
    """Proportional set size (PSS) of process trees: shared pages are counted once."""
    total_kib = 0
    for pid in process_tree(roots):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total_kib += int(line.split()[1])
    return total_kib * 1024


@dataclass(frozen=True)
class MachineCpu:
    """CPU time of the whole machine since boot: what ran, and what the hypervisor took away."""

    busy_s: float
    steal_s: float


def machine_cpu() -> MachineCpu:
    """See /proc/stat in proc(5): user, nice, system, idle, iowait, irq, softirq, steal."""
    first = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    user, nice, system, _idle, _iowait, irq, softirq, steal = (int(word) for word in first[:8])
    return MachineCpu((user + nice + system + irq + softirq) / _TICKS_PER_S, steal / _TICKS_PER_S)
