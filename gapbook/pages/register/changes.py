"""What of the register was printed otherwise: verdicts that changed, and values that the newest run alone decided."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from gapbook.claims.claim import documents
from gapbook.claims.verdicts import WORDS, Evidence, Judgement, judge_all
from gapbook.declared.reading import read
from gapbook.declared.verdict_change import VerdictChange, VerdictChanges
from gapbook.markup import Html, values_table
from gapbook.pages.superseded import folded
from gapbook.paths import CHECKOUT

__all__ = [
    "change_facts",
    "changed_verdicts_table",
    "changed_words_table",
    "pooled_table",
    "verdict_changes",
]


@cache
def _declared() -> VerdictChanges:
    return read(CHECKOUT / "book" / "verdict-changes.toml", VerdictChanges)


def verdict_changes() -> Sequence[VerdictChange]:
    """Every verdict that changed, oldest first; raises DeclarationError for a file that says something else."""
    return _declared().change


def changed_words_table() -> Html:
    """Each word for a verdict that was given up, what stands in its place, and why."""
    rows: list[list[str | Html]] = [
        [one.was, f"{one.on:%Y-%m-%d}", WORDS[one.now], one.why] for one in _declared().word
    ]
    return values_table(("word then", "changed", "word now", "why"), rows)


def changed_verdicts_table() -> Html:
    """Each verdict that changed, with what it was and why."""
    rows: list[list[str | Html]] = [
        [one.claim, f"{one.on:%Y-%m-%d}", one.was, WORDS[one.now], one.why] for one in verdict_changes()
    ]
    return values_table(("claim", "changed", "verdict then", "verdict now", "why"), rows)


def pooled_table() -> Html:
    """Each measured value on which a verdict rests and which several runs hold: by the newest alone, as it was
    printed, and by all of them, as it decides now."""
    rows: list[list[str | Html]] = [
        [judged.claim.identifier, place.quantity, place.newest, place.ours, place.pooled]
        for judged, place in _pooled()
    ]
    columns = ("claim", "quantity", "the newest run alone", "expected of another run", "what the runs hold")
    return folded(
        f"{len(rows)} measured values of {len({row[0] for row in rows})} claims", values_table(columns, rows)
    )


def change_facts() -> dict[str, str]:
    """For the prose: of how many claims the verdict changed, once or more, and how many values several runs decide."""
    changed = {one.claim for one in verdict_changes()}
    return {"changed_claims": str(len(changed)), "pooled_values": str(len(_pooled()))}


@cache
def _pooled() -> Sequence[tuple[Judgement, Evidence]]:
    judged = (one for document in documents() for one in judge_all(document))
    return tuple((one, place) for one in judged for place in one.evidence if place.runs > 1)
