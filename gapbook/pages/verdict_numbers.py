"""What was measured for published claims, each for an address of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gapbook.claims.verdicts import Evidence, Judgement
from gapbook.pages.number import Number
from gapbook.pages.provenance import FindingsWithProvenance
from gapbook.record.reach import reach
from gapbook.record.run import find_run

__all__ = ["verdict_numbers"]


def verdict_numbers(judged: Iterable[Judgement]) -> Iterator[Number]:
    """A number for each claim that a run was asked about: the published value beside ours, and the verdict."""
    for one in judged:
        measured = [evidence for evidence in one.evidence if evidence.run_id]
        if measured:
            yield _number(one, measured)


def _number(judged: Judgement, measured: list[Evidence]) -> Number:
    first = measured[0]
    found = FindingsWithProvenance(find_run(first.chapter, first.run_id), first.chapter)
    facts = found.glue_values()
    beside = judged.published_and_ours
    return Number(
        name=judged.claim.identifier,
        sentence=" ".join(filter(None, (_ended(judged.claim.says), _ended(judged.word), _ended(beside)))),
        chapter=first.chapter,
        run=first.run_id,
        published=found.run.published,
        date=facts["date"],
        quantity="; ".join(f"{one.quantity}: {one.ours}" for one in measured),
        printed=first.value or first.ours,
        value=beside or first.ours,
        n=first.n,
        conditions=_ended("; ".join(dict.fromkeys(filter(None, (one.versions for one in measured))))),
        load=f"{facts['load']}, {facts['window']} windows",
        machine=f"{facts['processor']}, {facts['cores']}",
        reach=first.pooled or f"{reach(found.run).counted}, {reach(found.run).time_words}",
        versions=[first.versions] if first.versions else [],
        notes=judged.why,
    )


def _ended(text: str) -> str:
    return text if not text or text.endswith((".", "?", "!")) else f"{text}."
