"""The file system under a folder, as the kernel names it."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

__all__ = ["MEMORY_FILE_SYSTEMS", "existing", "file_system", "size_unless_gone"]

MEMORY_FILE_SYSTEMS = frozenset({"tmpfs", "ramfs"})
"""Those that forget everything when the machine stops: nothing on them is durable."""


def existing(path: Path) -> Path:
    """A folder, or the nearest above it that there is: it will be made there."""
    return next(one for one in (path.absolute(), *path.absolute().parents) if one.exists())


def file_system(path: Path, *, seen_by: int | None = None) -> str:
    """Type of the file system under a file or folder; ``unknown`` where the kernel names none.

    ``seen_by`` is a process that mounts otherwise than this one, as one in a container; ``path`` is then ours
    through ``/proc/PID/root``. Raises OSError where one of both is gone.
    """
    device = path.stat().st_dev
    here, nearest, kind = path.resolve(), "", "unknown"
    wanted = f"{os.major(device)}:{os.minor(device)}"
    mounts = Path(f"/proc/{'self' if seen_by is None else seen_by}/mountinfo")
    for line in mounts.read_text(encoding="utf-8").splitlines():
        left, _, right = line.partition(" - ")
        if left.split()[2] == wanted:
            return _beneath(right) or right.split()[0]
        # One that gives each of its parts a device of its own, as btrfs, is known by where it is mounted.
        place = left.split()[4]
        if seen_by is None and len(place) >= len(nearest) and here.is_relative_to(place):
            nearest, kind = place, _beneath(right) or right.split()[0]
    return kind


def _beneath(mounted: str) -> str | None:
    """What an overlay writes to, where that is memory; None for everything else, and where nobody here can see it."""
    upper = re.search(r"\bupperdir=([^,\s]+)", mounted)
    if upper is None or not mounted.startswith("overlay "):
        return None
    with contextlib.suppress(OSError):
        found = file_system(Path(upper[1]))
        return found if found in MEMORY_FILE_SYSTEMS else None
    return None


def size_unless_gone(path: Path) -> int:
    """Bytes of a file; none where it is gone, as a log or a journal that its database has just closed."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
