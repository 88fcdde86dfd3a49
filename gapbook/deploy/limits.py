"""What this process, and all that it starts, may use of its machine: allowed processors, quota, memory limit and open
files.

A quota or limit of a control group holds for all groups beneath it, so that the smallest on the way up counts. Groups
above what a container can see are told by no one.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import TypeVar

from gapbook.record.machine import Usable

__all__ = ["allow_most_open_files", "allowed_processors", "most_open_files", "throttled_s", "usable"]

_Value = TypeVar("_Value", int, float)
_OWN = Path("/proc/self")
_UNIFIED = ""
"""The name that version 2 has in /proc/PID/cgroup, where one hierarchy serves all controllers."""


def allowed_processors() -> list[int]:
    """The numbers of the processors on which this process may run, ascending: a cpuset and its affinity narrow them."""
    return sorted(os.sched_getaffinity(0))


def most_open_files() -> int:
    """How many files, connections among them, this process and each that it starts may have open at once."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def allow_most_open_files() -> None:
    """Let what is started from now on have as many files open as this user may allow it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def usable(machine_memory_bytes: int, process: Path = _OWN) -> Usable:
    """What a run may use now. A limit of memory that is not below that of the machine is none.

    ``process`` is its folder in /proc.
    """
    limits = [limit for limit in _each(process, "memory", _memory_limit) if limit < machine_memory_bytes]
    return Usable(
        tuple(allowed_processors()),
        min(_each(process, "cpu", _quota), default=None),
        min(limits, default=None),
    )


def throttled_s(process: Path = _OWN) -> float:
    """Processor seconds so far for which quotas of this process's groups kept what was ready to run waiting; 0 where
    there is no quota."""
    return sum(_each(process, "cpu", _throttled))


def _each(process: Path, controller: str, read: Callable[[Path], _Value | None]) -> Iterator[_Value]:
    """What can be read of a process's group and of each above it, in both versions of control groups."""
    for folder in _groups(process, controller):
        with contextlib.suppress(OSError, ValueError, KeyError):
            found = read(folder)
            if found is not None:
                yield found


def _groups(process: Path, controller: str) -> Iterator[Path]:
    """The folders of a process's group and of all above it, as far as they are mounted here."""
    try:
        own = dict(_own_groups((process / "cgroup").read_text(encoding="utf-8")))
        mounts = (process / "mountinfo").read_text(encoding="utf-8")
    except OSError:
        return
    for line in mounts.splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(" ", 2)
        name = _UNIFIED if kind == "cgroup2" else controller
        if kind not in {"cgroup", "cgroup2"} or name not in own:
            continue
        if kind == "cgroup" and controller not in options.split(","):
            continue
        root, place = (_unescaped(word) for word in left.split()[3:5])
        group = PurePosixPath(own[name])
        # A container may see its own group as the root, be it by its namespace or by what is mounted there.
        beneath = group.relative_to(root) if group.is_relative_to(root) else PurePosixPath()
        for part in (beneath, *beneath.parents):
            yield Path(place, part)


def _own_groups(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(","):
            yield name, path


def _unescaped(word: str) -> str:
    """A path of mountinfo, in which blanks and the like stand as octal numbers (proc(5))."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), word)


def _quota(group: Path) -> float | None:
    unified = group / "cpu.max"
    if unified.exists():
        quota, period = unified.read_text(encoding="utf-8").split()
    else:
        quota, period = (
            (group / f"cpu.cfs_{what}_us").read_text(encoding="utf-8").strip() for what in ("quota", "period")
        )
    return None if quota in {"max", "-1"} else int(quota) / int(period)


def _memory_limit(group: Path) -> int | None:
    unified = group / "memory.max"
    name = unified if unified.exists() else group / "memory.limit_in_bytes"
    limit = name.read_text(encoding="utf-8").strip()
    return None if limit == "max" else int(limit)


def _throttled(group: Path) -> float:
    lines = (line.split() for line in (group / "cpu.stat").read_text(encoding="utf-8").splitlines())
    told = {name: int(value) for name, value in lines}
    return told["throttled_usec"] / 1e6 if "throttled_usec" in told else told["throttled_time"] / 1e9
