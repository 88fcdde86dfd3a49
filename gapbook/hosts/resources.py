"""What a worker offers and a session needs, in Dask's words: a whole machine, of this code, of this kind.

Dask gives a task only to a worker that has what it needs: so no machine has two sessions at once, and none of another
code or kind has any.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["kind_offered", "whole_machine"]

_CODE, _KIND = "code ", "kind "
_DIGITS = 16


def whole_machine(code: str, kind: str) -> dict[str, float]:
    """What a worker offers and a session needs; ``code`` is a hash, ``kind`` a :func:`gapbook.record.kind.kind_of`."""
    return {"machine": 1, f"{_CODE}{code[:_DIGITS]}": 1, f"{_KIND}{kind}": 1}


def kind_offered(resources: Mapping[str, float], code: str) -> str | None:
    """A worker's kind of machine; None for one of another code, or that is no worker of ours."""
    if f"{_CODE}{code[:_DIGITS]}" not in resources:
        return None
    return next((name.removeprefix(_KIND) for name in resources if name.startswith(_KIND)), None)
