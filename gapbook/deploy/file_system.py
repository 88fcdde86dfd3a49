"""The file system under a folder, as the kernel names it."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from gapbook.paths import deployments_directory

__all__ = ["MEMORY_FILE_SYSTEMS", "data_keeping", "existing", "file_system", "size_unless_gone"]

MEMORY_FILE_SYSTEMS = frozenset({"tmpfs", "ramfs"})
"""Those that forget everything when the machine stops: nothing on them is durable."""
_SAID = "GAPBOOK_DATA_KEEPS"
"""The variable by which a reader says of one type of file system that it keeps what was fsynced."""
_ELSEWHERE = re.compile(
    r"overlay|aufs|fuse|nfs|cifs|smb|9p|virtiofs|ceph|gluster|lustre|afs|gfs2|ocfs2|unknown"
)
"""How the names of those begin that hand data on to what nobody here can see: a container's own layer, programs,
other machines."""


@dataclass(frozen=True)
class DataKeeping:
    """Whether what was fsynced to the folder of servers' data is there after the machine has stopped."""

    folder: Path
    file_system: str
    kept: bool
    said: bool
    """Whether the reader said so of a file system that does not tell it by its kind."""

    @property
    def why_not(self) -> str:
        """What is wrong with the folder, and what to do, as the end of a sentence."""
        here = f"{self.folder} is on {self.file_system}"
        if self.file_system in MEMORY_FILE_SYSTEMS:
            return f"{here}, which forgets all when the machine stops; set GAPBOOK_DATA to a folder on a disk"
        return (
            f"{here}, which does not tell whether it keeps what is fsynced; set GAPBOOK_DATA to a folder on a disk, as "
            f"a mounted volume, or {_SAID}={self.file_system} where you know that it does, which is recorded"
        )


def data_keeping() -> DataKeeping:
    """What the folder of servers' data keeps, by the kind of its file system and by what the reader said of that."""
    folder = deployments_directory()
    kind = file_system(existing(folder))
    if kind in MEMORY_FILE_SYSTEMS:
        return DataKeeping(folder, kind, kept=False, said=False)
    tells = _ELSEWHERE.match(kind) is None
    said = not tells and os.environ.get(_SAID) == kind
    return DataKeeping(folder, kind, kept=tells or said, said=said)


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
