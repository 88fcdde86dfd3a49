"""What a manifest says besides its trials: the servers, the machine, the code."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from gapbook.deploy.stack import Stack
from gapbook.errors import RecordError
from gapbook.paths import CHECKOUT, deployments_directory

__all__ = ["code_version", "described_server", "machine", "processor_of", "require_same_kind"]

_OF_ONE_KIND = ("processor", "processors", "file_system", "virtual")
_SAME_MEMORY_FRAC = 0.1


def described_server(stack: Stack) -> dict[str, Any]:
    """What the running server says of itself: version, hash, settings, and how it was built where that is told;
    and where it runs."""
    server = stack.server()
    described = {
        "version": server.version,
        "sha256": server.sha256,
        "settings": stack.settings(),
        **stack.place(),
    }
    return described | ({"built": server.built} if server.built else {})


def machine() -> dict[str, Any]:
    """What a reader must know to compare: processor, cores, memory, kernel, disk; no host name."""
    described = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    data = deployments_directory().resolve()
    mounts = [part for part in psutil.disk_partitions(all=True) if data.is_relative_to(part.mountpoint)]
    mount = max(mounts, key=lambda part: len(part.mountpoint), default=None)
    return {
        "processor": processor_of(described) or platform.machine(),
        "processors": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "kernel": f"{platform.system()} {platform.release()}",
        "file_system": mount.fstype if mount else "unknown",
        "virtual": "hypervisor" in described,
        "python": platform.python_version(),
    }


def processor_of(described: str) -> str | None:
    """The first processor that ``/proc/cpuinfo`` describes; None where it names none, as on ARM.

    A hypervisor may give every generation one name, so family and model stand with it.
    """
    pairs = (line.partition(":") for line in described.partition("\n\n")[0].splitlines())
    told = {name.strip(): value.strip() for name, _, value in pairs}
    name = told.get("model name")
    if name is None or "cpu family" not in told or "model" not in told:
        return name
    return f"{name} (family {told['cpu family']}, model {told['model']})"


def require_same_kind(before: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    """Raise RecordError where a run would go on upon a machine of another kind than that of its first session.

    Kernels may differ, and a little memory that the kernel keeps for itself: the record has both.
    """
    other = [
        f"{name.replace('_', ' ')} {here[name]}, not {before[name]}"
        for name in _OF_ONE_KIND
        if here[name] != before[name]
    ]
    if abs(here["memory_bytes"] / before["memory_bytes"] - 1) > _SAME_MEMORY_FRAC:
        gibibytes = [f"{one['memory_bytes'] / 2**30:.1f} GiB" for one in (here, before)]
        other.append(f"memory {gibibytes[0]}, not {gibibytes[1]}")
    if other:
        raise RecordError(
            f"source: the run was begun on another kind of machine ({'; '.join(other)} here); sessions of both "
            "cannot be set side by side: go on upon a machine of that kind, or use source=live"
        )


def code_version() -> dict[str, Any]:
    """The git revision of the checkout and whether it was changed since; unknown outside git."""

    def git(*words: str) -> str:
        try:
            done = subprocess.run(
                ["git", "-C", str(CHECKOUT), *words],
                capture_output=True,
                text=True,
                check=True,
                encoding="utf-8",
                errors="replace",
            )
        except (OSError, subprocess.CalledProcessError):
            return "unknown"
        return done.stdout.strip()

    return {"revision": git("rev-parse", "HEAD"), "changed": bool(git("status", "--porcelain"))}
