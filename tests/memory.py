"""How much memory this process has, and had at most since it was last asked."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["peak_bytes", "resident_bytes"]


def resident_bytes() -> int:
    """What it has now; the peak is counted from here on (proc(5), clear_refs)."""
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    return _status("VmRSS")


def peak_bytes() -> int:
    """The most it had since then."""
    return _status("VmHWM")


def _status(name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="utf-8"))
    assert found is not None
    return 1024 * int(found[1])
