"""Facts that prose speaks of: each a text, computed from a record, under the name that a page puts in its sentence."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["glue_facts"]


def glue_facts(facts: Mapping[str, str]) -> None:
    """Make facts available to the prose of the page."""
    # Imported here: it takes seconds that command line and tests need not wait for.
    from myst_nb import glue  # noqa: PLC0415

    for key, text in facts.items():
        glue(key, text, display=False)
