"""What a worker offers and a session needs, in Dask's words: a whole machine, of this code, of this kind.

Dask gives a task only to a worker that has what it needs: so no machine has two sessions at once, and none of another
code or kind has any.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["kind_of", "shortened", "whole_machine"]

_CODE, _KIND = "code ", "kind "
_DIGITS = 16


def whole_machine(code: str, kind: str) -> dict[str, float]:
    """What a worker offers and a session needs; ``code`` and ``kind`` are hashes."""
    return {"machine": 1, f"{_CODE}{shortened(code)}": 1, f"{_KIND}{shortened(kind)}": 1}


def shortened(sha256: str) -> str:
    """As much of a hash as names of resources have."""
    return sha256[:_DIGITS]


def kind_of(resources: Mapping[str, float], code: str) -> str | None:
    """The first digits of a worker's kind of machine; None for one of another code, or that is no worker of ours."""
    if f"{_CODE}{shortened(code)}" not in resources:
        return None
    return next((name.removeprefix(_KIND) for name in resources if name.startswith(_KIND)), None)
