"""A list or a table that a row of trials holds: as it is while it is measured, as text once it is stored."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["listed", "named"]


def listed(stored: Any) -> list[dict[str, Any]]:
    """What a row holds as a list, or as the text of one; nothing where it holds none."""
    found: list[dict[str, Any]] = json.loads(stored) if isinstance(stored, str) else stored or []
    return found


def named(stored: Any) -> dict[str, Any]:
    """What a row holds by names, as itself or as the text of it; nothing where it holds none."""
    found: dict[str, Any] = json.loads(stored) if isinstance(stored, str) else stored or {}
    return found
