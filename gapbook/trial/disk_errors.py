"""What the operating system refuses while servers are started or restarted, in one line."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from gapbook.errors import StackError
from gapbook.paths import deployments_directory

__all__ = ["disk_errors"]

_TEXT = re.compile(r"\[Errno \d+\] (?P<reason>[^:]+)")
"""The text of an OSError: number, reason, and the files, where it names any."""


@contextmanager
def disk_errors() -> Iterator[None]:
    """Raises StackError for an OSError: where, why, and what can be done."""
    try:
        yield
    except OSError as error:
        raise StackError(
            f"run: {_place_and_reason(error)}; servers write to {deployments_directory()} (set GAPBOOK_DATA to "
            "name another folder); trials finished so far are kept, use source=resume"
        ) from error


def _place_and_reason(error: OSError) -> str:
    if isinstance(error, shutil.Error):
        # A copy of a whole folder collects its errors as (source, destination, text of the error).
        _, place, text = error.args[0][0]
        told = _TEXT.match(text)
        return f"{place}: {told['reason'] if told else text}"
    place = error.filename2 or error.filename
    return f"{place}: {error.strerror}" if place else str(error.strerror or error)
