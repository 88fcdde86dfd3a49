"""What the client itself takes."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import NamedTuple


class Cpu(NamedTuple):
    user_s: float
    system_s: float

    def since(self, earlier: Cpu) -> Cpu:
        return Cpu(self.user_s - earlier.user_s, self.system_s - earlier.system_s)


def cpu() -> Cpu:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return Cpu(used.ru_utime, used.ru_stime)


def peak_memory_bytes() -> int:
    """The peak of this program alone: Linux lets getrusage's begin at that of the process that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
