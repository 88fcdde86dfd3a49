"""What a load host offers to a Dask scheduler, and a load needs of it: a whole host, of this code."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["NEEDED", "has_this_code", "is_load_host", "load_host_offer"]

_LOAD = "load"
_CODE = "load code "
_DIGITS = 16
NEEDED: Mapping[str, float] = {_LOAD: 1}
"""What each task of a load takes of its host, so that no host makes two loads at once."""


def load_host_offer(code: str) -> dict[str, float]:
    """``code`` is the hash of a checkout (:func:`gapbook.deploy.own_code.code_sha256`)."""
    return {**NEEDED, f"{_CODE}{code[:_DIGITS]}": 1}


def is_load_host(resources: Mapping[str, float]) -> bool:
    """Whether a worker of the scheduler is a load host, of whatever code."""
    return _LOAD in resources


def has_this_code(resources: Mapping[str, float], code: str) -> bool:
    return f"{_CODE}{code[:_DIGITS]}" in resources
