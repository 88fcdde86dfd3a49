"""CPU, memory and noise, read from /proc."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from gapbook.deploy.limits import allowed_processors

__all__ = [
    "LivingCpu",
    "MachineCpu",
    "Memory",
    "cpu_s",
    "living_cpu",
    "machine_cpu",
    "memory_of",
    "process_tree",
    "proportional_memory_bytes",
    "used_s",
]

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_READING_ATTEMPTS = 20
# A kernel thread is told by its flag: in a container, process 2 can be anybody's.
_KERNEL_THREAD = 0x0020_0000  # PF_KTHREAD
_LAST_PROCESSOR = 36
"""Where in what follows the name stands on which processor it ran last."""
_RUNS_INTERRUPTS = "ksoftirqd/"
_Identity: TypeAlias = tuple[int, int]


def process_tree(roots: Iterable[int]) -> list[int]:
    """The given processes and all their descendants that live now."""
    children: dict[int, list[int]] = {}
    for pid, _, fields in _stats():
        children.setdefault(int(fields[1]), []).append(pid)
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
    with contextlib.suppress(OSError):
        _, fields = _stat(pid)
        return sum(int(fields[index]) for index in (11, 12, 13, 14))
    return 0


def _stats() -> Iterator[tuple[int, str, list[str]]]:
    """Process id, name, and what follows the name in its ``stat`` (proc(5)), of every process that lives."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                yield int(entry.name), *_stat(int(entry.name))


def _stat(pid: int) -> tuple[str, list[str]]:
    """Raises OSError when the process is gone."""
    # A path object and a buffer would double what a look at all processes costs.
    file = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    try:
        text = os.read(file, 4096).decode(errors="replace")
    finally:
        os.close(file)
    name, _, after = text.partition("(")[2].rpartition(")")
    return name, after.split()


@dataclass(frozen=True)
class Memory:
    """Resident bytes of process trees, counted in three ways (proc(5), smaps_rollup).

    ``rss`` counts a page in each process that has it, ``pss`` once in all, shared evenly among all processes of
    the machine that have it, and ``private`` only what a single process has.
    """

    rss: int
    pss: int
    private: int


def memory_of(roots: Iterable[int]) -> Memory:
    """What the trees have now; who ends while it is read counts nothing."""
    sums = {"Rss": 0, "Pss": 0, "Private": 0}
    for pid in process_tree(roots):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()[1:]:
                name, _, size = line.partition(":")
                # Private_Clean, Private_Dirty and Private_Hugetlb are parts of one sum.
                kind = "Private" if name.startswith("Private_") else name
                if kind in sums:
                    sums[kind] += 1024 * int(size.split()[0])
    return Memory(sums["Rss"], sums["Pss"], sums["Private"])


def proportional_memory_bytes(roots: Iterable[int]) -> int:
    """Proportional set size (PSS) of process trees: shared pages are counted once."""
    return memory_of(roots).pss


@dataclass(frozen=True)
class MachineCpu:
    """CPU seconds since boot of the processors on which this process may run, by who was charged.

    ``charged_s`` is that of programs and kernel threads, ``interrupts_s`` that of interrupts, soft ones
    included, and ``steal_s`` what the hypervisor took away.
    """

    charged_s: float
    interrupts_s: float
    steal_s: float


def machine_cpu() -> MachineCpu:
    """See /proc/stat in proc(5): user, nice, system, idle, iowait, irq, softirq, steal."""
    lines = (line.split() for line in Path("/proc/stat").read_text(encoding="utf-8").splitlines())
    whole, *each = ([name, *map(int, ticks[:8])] for name, *ticks in lines if name.startswith("cpu"))
    allowed = {f"cpu{number}" for number in allowed_processors()}
    ours = [ticks for name, *ticks in each if name in allowed]
    # The line of the whole machine is rounded once, those of its processors one by one.
    counted = [whole[1:]] if len(ours) == len(each) else ours
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(sum, zip(*counted, strict=True))
    ticks = (user + nice + system, irq + softirq, steal)
    return MachineCpu(*(each / _TICKS_PER_S for each in ticks))


@dataclass(frozen=True)
class LivingCpu:
    """CPU ticks so far of all that lives at one moment, by identity: process id and start.

    ``programs`` are the processes of users, ``kernel_threads`` those of the kernel but the ones that serve
    interrupts, whose time the machine counts as such. ``elsewhere`` are those of both that ran last on a processor
    that is not allowed to this process: nothing of ours, and in nobody's way here.
    """

    programs: Mapping[_Identity, int]
    kernel_threads: Mapping[_Identity, int]
    elsewhere: Collection[_Identity] = frozenset()

    def here(self) -> LivingCpu:
        """Those that ran last where this process may run."""
        programs, threads = (
            {one: ticks for one, ticks in some.items() if one not in self.elsewhere}
            for some in (self.programs, self.kernel_threads)
        )
        return LivingCpu(programs, threads)


def living_cpu() -> LivingCpu:
    """What ended children used is left out: it was theirs while they lived."""
    programs: dict[_Identity, int] = {}
    kernel_threads: dict[_Identity, int] = {}
    elsewhere: set[_Identity] = set()
    allowed = frozenset(map(str, allowed_processors()))
    for pid, name, fields in _stats():
        ticks, identity = int(fields[11]) + int(fields[12]), (pid, int(fields[19]))
        if fields[_LAST_PROCESSOR] not in allowed:
            elsewhere.add(identity)
        if not int(fields[6]) & _KERNEL_THREAD:
            programs[identity] = ticks
        elif not name.startswith(_RUNS_INTERRUPTS):
            kernel_threads[identity] = ticks
    return LivingCpu(programs, kernel_threads, elsewhere)


def used_s(before: Mapping[_Identity, int], after: Mapping[_Identity, int]) -> float:
    """CPU seconds between two moments of all that lives at the second, what started in between included."""
    ticks = sum(now - before.get(identity, 0) for identity, now in after.items())
    return ticks / _TICKS_PER_S
