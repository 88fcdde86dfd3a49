"""A run by the name that a reader gives it: a chapter, an id, a folder, or a file that holds its summary."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from gapbook.errors import ParameterError, RecordError, cut, nearest
from gapbook.method.summary import Summary, read_summary, summary_of
from gapbook.paths import CHECKOUT, run_roots
from gapbook.record.bounds import parsed
from gapbook.record.run import MANIFEST, Run, latest_published, load_run, read_bytes, read_run
from gapbook.record.schema import one_line

__all__ = ["named_run", "named_summary", "published_chapters", "published_counterpart"]

_RUN_ID = re.compile(r"[0-9a-f]{12}")
_OF_A_PARAMETER = " with source="
_FOLDER_OR_ID = f"the id of a stored run, a folder with {MANIFEST}"


def published_chapters() -> Sequence[str]:
    """The chapters that have a published run."""
    return sorted({path.parent.parent.name for path in (CHECKOUT / "results").glob(f"*/*/{MANIFEST}")})


def named_summary(name: str) -> Summary:
    """The run of that name in small. Raises ParameterError where nothing has the name, RecordError, in one line, where
    what has it cannot be trusted."""
    path = Path(name)
    if name not in published_chapters() and _is_file(path) and path.name != MANIFEST:
        return read_summary(path)
    if (run := _found(name)) is None:
        allowed = f"{_FOLDER_OR_ID}, a file that gapbook compare RUN --export wrote"
        raise _no_run(name, "no such chapter, run, folder or file", allowed)
    return summary_of(run)


def named_run(name: str) -> Run:
    """The run of that name, every byte of it checked; raises as :func:`named_summary` does, also for a file."""
    if (run := _found(name)) is None:
        why = "is a file" if _is_file(Path(name)) else "no such chapter, run or folder"
        raise _no_run(name, why, _FOLDER_OR_ID)
    return run


def _found(name: str) -> Run | None:
    """Raises RecordError for a run that cannot be trusted."""
    try:
        if name in published_chapters():
            return latest_published(name)
        if _RUN_ID.fullmatch(name) and (folders := _folders_of(name)):
            return load_run(folders[0])
        folder = Path(name).parent if Path(name).name == MANIFEST else Path(name)
        if _is_folder(folder):
            return read_run(folder, _id_in(folder))
    except RecordError as error:
        raise RecordError(str(error).removesuffix(_OF_A_PARAMETER)) from error
    return None


def _no_run(name: str, why: str, allowed: str) -> ParameterError:
    known = published_chapters()
    return ParameterError(
        f"run {cut(one_line(repr(name)))}: {why}; allowed: {allowed}, or {', '.join(known)}{nearest(name, known)}"
    )


def published_counterpart(summary: Summary) -> Summary:
    """The newest published run of the same chapter; raises RecordError where there is none."""
    if summary.chapter not in published_chapters():
        raise RecordError(
            f"run {summary.run_id}: is of chapter {cut(one_line(repr(summary.chapter)))}, of which no run is published; "
            "name the run to lay it beside"
        )
    return summary_of(latest_published(summary.chapter))


def _folders_of(run_id: str) -> Sequence[Path]:
    return [path.parent for root in run_roots() for path in sorted(root.glob(f"*/{run_id}/{MANIFEST}"))]


def _id_in(folder: Path) -> str:
    """The id that a manifest states, which its hash must give; wherever its folder lies, and however it is called now."""
    try:
        stated = parsed(read_bytes(folder / MANIFEST))["run_id"]
    except (KeyError, TypeError, ValueError, RecursionError):
        stated = None
    is_id = isinstance(stated, str) and _RUN_ID.fullmatch(stated)
    return str(stated) if is_id else cut(folder.absolute().name)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False
