"""What a manifest says besides its trials: the servers, the machine, the code."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import psutil

from gapbook.deploy.stack import Stack
from gapbook.paths import CHECKOUT, deployments_directory

__all__ = ["code_version", "described_server", "machine"]


def described_server(stack: Stack) -> dict[str, Any]:
    """What the running server says of itself: version, hash, settings, and how it was built where that is told."""
    server = stack.server()
    described = {"version": server.version, "sha256": server.sha256, "settings": stack.settings()}
    return described | ({"built": server.built} if server.built else {})


def machine() -> dict[str, Any]:
    """What a reader must know to compare: processor, cores, memory, kernel, disk; no host name."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    data = deployments_directory().resolve()
    mounts = [part for part in psutil.disk_partitions(all=True) if data.is_relative_to(part.mountpoint)]
    mount = max(mounts, key=lambda part: len(part.mountpoint), default=None)
    return {
        "processor": model,
        "processors": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "kernel": f"{platform.system()} {platform.release()}",
        "file_system": mount.fstype if mount else "unknown",
        "virtual": "hypervisor" in Path("/proc/cpuinfo").read_text(),
        "python": platform.python_version(),
    }


def code_version() -> dict[str, Any]:
    """The git revision of the checkout and whether it was changed since; unknown outside git."""

    def git(*words: str) -> str:
        try:
            done = subprocess.run(
                ["git", "-C", str(CHECKOUT), *words], capture_output=True, text=True, check=True
            )
        except (OSError, subprocess.CalledProcessError):
            return "unknown"
        return done.stdout.strip()

    return {"revision": git("rev-parse", "HEAD"), "changed": bool(git("status", "--porcelain"))}
