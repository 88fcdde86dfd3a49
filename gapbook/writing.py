"""Folders that commands write to: asked for before work begins, and what is said where the system refuses one."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

from gapbook.errors import SetupError

__all__ = ["can_be_written", "refused_writing", "require_writable"]

_REFUSALS = frozenset({errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT})
_TEXT = re.compile(r"\[Errno (?P<number>\d+)\] (?P<reason>[^:'\"]+)(: '(?P<place>[^']+)')?")
"""An OSError as it is printed; one of a whole folder (shutil.Error) holds such texts."""


def can_be_written(folder: Path) -> bool:
    """Whether files can be made in a folder, or it can be made where it is not there yet."""
    nearest = next(one for one in (folder.absolute(), *folder.absolute().parents) if os.path.lexists(one))
    return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)


def require_writable(folder: Path, variable: str) -> None:
    """Raises SetupError, with the variable that names another folder, where this one cannot be written."""
    if not can_be_written(folder):
        raise SetupError(f"{folder} cannot be written; name another folder: {variable}=FOLDER")


def refused_writing(said: str) -> str | None:
    """One line for a reader, of the text of an OSError that comes of a disk or of permissions; None of any other."""
    told = _TEXT.search(said)
    if told is None or int(told["number"]) not in _REFUSALS:
        return None
    what = f"{told['place']}: {told['reason']}" if told["place"] else told["reason"]
    return (
        f"{what}; other folders are named by GAPBOOK_BUILD (pages), GAPBOOK_RUNS (runs), GAPBOOK_CACHE (what is "
        "installed), GAPBOOK_DATA (data of servers) and TMPDIR"
    )
