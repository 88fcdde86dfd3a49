"""Facts that prose speaks of: each a text, computed from a record, under the name that a page puts in its sentence."""

from __future__ import annotations

from collections.abc import Mapping
from weakref import WeakKeyDictionary

from gapbook.claims.claim import Claim
from gapbook.method.findings import Findings
from gapbook.pages.number import number_of, tell_numbers
from gapbook.pages.provenance import run_facts
from gapbook.pages.sentence import Said

__all__ = ["glue", "glue_facts"]

_GLUED: WeakKeyDictionary[Findings, set[str]] = WeakKeyDictionary()
"""What the page of these findings was given before: a key that is glued twice on one page is an error of the renderer."""


def glue(found: Findings, **more: str | Claim | Said) -> None:
    """Make the facts of the run available to the prose; a number that the run lacks says why."""
    facts = run_facts(found)
    for key, value in more.items():
        if isinstance(value, Claim):
            facts[key] = f"{value.value:,.0f}"
        else:
            facts[key] = value.printed or value.instead if isinstance(value, Said) else value
    tell_numbers(
        number_of(found, key, said.printed, said.cited)
        for key, said in more.items()
        if isinstance(said, Said) and said.cited
    )
    glued = _GLUED.setdefault(found, set())
    glue_facts({key: text for key, text in facts.items() if key not in glued})
    glued.update(facts)


def glue_facts(facts: Mapping[str, str]) -> None:
    """Make facts available to the prose of the page."""
    # Imported here: it takes seconds that command line and tests need not wait for.
    from myst_nb import glue as glue_one  # noqa: PLC0415

    for key, text in facts.items():
        glue_one(key, text, display=False)
