"""Which runs name code that this repository holds."""

from __future__ import annotations

from datetime import UTC, datetime

from gapbook.record.schema import Manifest

__all__ = ["code_is_kept"]

# The commits between these two were lost before they were published; the later one has all that they held.
_LAST_BEFORE = datetime(2026, 11, 22, 14, 35, 32, tzinfo=UTC)
_FIRST_AFTER = datetime(2026, 11, 23, 8, 58, 0, tzinfo=UTC)


def code_is_kept(manifest: Manifest) -> bool:
    """Whether the commit that a run names can be checked out."""
    began = datetime.fromtimestamp(manifest.started_unix_s, UTC)
    return not _LAST_BEFORE < began < _FIRST_AFTER
