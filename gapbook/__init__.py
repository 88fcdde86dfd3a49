"""The Gap Book: published database speed gaps, re-measured, audited and taken apart into factors.

What notebooks use:

    Chapter     one chapter: its parameters checked, its contestants, its run
    Factor      one difference between two contestants, for a decomposition
    claim       a published claim from the register

Each is loaded when it is first asked for: what the command line says at once needs none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gapbook.chapter import Chapter
    from gapbook.claims.claim import claim
    from gapbook.method.factors import Factor

__all__ = ["Chapter", "Factor", "claim"]

_HOMES = {"Chapter": "gapbook.chapter", "Factor": "gapbook.method.factors", "claim": "gapbook.claims.claim"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = getattr(import_module(_HOMES[name]), name)
    return globals()[name]
