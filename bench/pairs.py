"""Alternating pairs: ours, theirs, ours, theirs ..., and the ratio of each pair."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

__all__ = ["Load", "Ratio", "alternate", "run_accounted"]


@dataclass(frozen=True)
class Load:
    """What one run of a load generator did: operations a second, and its own CPU for each."""

    rate_per_s: float
    cpu_us_per_operation: float


@dataclass(frozen=True)
class Ratio:
    """Ratios ours / theirs, one a pair."""

    name: str
    values: tuple[float, ...]
    bar: str

    def __str__(self) -> str:
        low, high = min(self.values), max(self.values)
        return f"{self.name:<58} {median(self.values):5.2f}  [{low:.2f}–{high:.2f}]  n={len(self.values)}  bar {self.bar}"


def alternate(
    name: str,
    ours: Callable[[], Load],
    theirs: Callable[[], Load],
    *,
    pairs: int,
    goodput_bar: str,
    cpu_bar: str,
) -> list[Ratio]:
    """Run both in turn and return the ratios of rate and of CPU for each operation."""
    rates, costs = [], []
    for pair in range(pairs):
        first, second = (ours, theirs) if pair % 2 == 0 else (theirs, ours)
        loads = {first: first(), second: second()}
        rates.append(loads[ours].rate_per_s / loads[theirs].rate_per_s)
        costs.append(loads[ours].cpu_us_per_operation / loads[theirs].cpu_us_per_operation)
    found = [Ratio(f"{name}: CPU an operation", tuple(costs), cpu_bar)]
    if goodput_bar:
        found.insert(0, Ratio(f"{name}: goodput", tuple(rates), goodput_bar))
    return found


def run_accounted(command: Sequence[str], *, environment: dict[str, str] | None = None) -> tuple[str, float]:
    """Run a program to its end; its standard output and the CPU seconds that the kernel accounts to it."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            env={**os.environ, **(environment or {})},
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        text = output.read().decode(errors="replace")
        if process.returncode != 0:
            last = errors.read().decode(errors="replace").strip().splitlines()[-1:]
            raise RuntimeError(f"{command[0]}: ended with code {process.returncode}: {' '.join(last)}")
    time.sleep(0.2)
    return text, usage.ru_utime + usage.ru_stime
