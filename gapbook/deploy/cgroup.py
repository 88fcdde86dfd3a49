"""CPU and memory of a container, as the kernel counts them for its control group: versions 1 and 2."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["ControlGroup", "control_group"]

_UNIFIED = ""
"""The name that version 2, which has one hierarchy for all controllers, has in /proc/PID/cgroup."""


@dataclass(frozen=True)
class ControlGroup:
    """The folders that count for one group; those of a container hold nothing else.

    Reading raises OSError once the group is gone.
    """

    cpu: Path
    memory: Path
    unified: bool

    def cpu_s(self) -> float:
        """CPU seconds of all that ever ran in it, ended processes included."""
        if self.unified:
            return _numbers(self.cpu / "cpu.stat")["usage_usec"] / 1_000_000
        return int((self.cpu / "cpuacct.usage").read_text(encoding="utf-8")) / 1_000_000_000

    def memory_bytes(self) -> int:
        """Memory of its own and files that it has mapped, each page once; the cache of files that it only reads
        and writes is the machine's to take back, and is left out, as in the proportional size of a process."""
        counted = _numbers(self.memory / "memory.stat")
        names = ("anon", "file_mapped") if self.unified else ("total_rss", "total_mapped_file")
        return sum(counted[name] for name in names)


def control_group(pid: int, container: str) -> ControlGroup | None:
    """The group of a container's first process; None where it cannot be read here, as where the engine keeps
    its containers in a virtual machine."""
    try:
        groups = _groups_of(pid)
        mounts = _mounted_hierarchies()
    except OSError:
        return None
    for cpu, memory in (("cpuacct", "memory"), (_UNIFIED, _UNIFIED)):
        if not {cpu, memory} <= groups.keys() & mounts.keys() or container not in groups[cpu]:
            continue
        found = ControlGroup(_folder(mounts, groups, cpu), _folder(mounts, groups, memory), cpu == _UNIFIED)
        try:
            found.cpu_s()
            found.memory_bytes()
        except (OSError, KeyError, ValueError):
            continue
        return found
    return None


def _groups_of(pid: int) -> dict[str, str]:
    """The path of a process's group by controller (proc(5), cgroups(7))."""
    found = {}
    for line in Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8", errors="replace").splitlines():
        _, controllers, path = line.split(":", 2)
        found.update(dict.fromkeys(controllers.split(","), path))
    return found


def _mounted_hierarchies() -> dict[str, Path]:
    """Where the groups of each controller can be read."""
    found: dict[str, Path] = {}
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(" ", 2)
        if kind == "cgroup2":
            found.setdefault(_UNIFIED, Path(left.split()[4]))
        elif kind == "cgroup":
            for option in options.split(","):
                found.setdefault(option, Path(left.split()[4]))
    return found


def _folder(mounts: dict[str, Path], groups: dict[str, str], controller: str) -> Path:
    return mounts[controller] / groups[controller].lstrip("/")


def _numbers(path: Path) -> dict[str, int]:
    pairs = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
    return {name: int(value) for name, value in pairs}
