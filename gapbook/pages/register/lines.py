"""Claims on a page, each with its verdict."""

from __future__ import annotations

from gapbook.claims import verdicts
from gapbook.claims.claim import NOTE, claim
from gapbook.claims.rules import RULES
from gapbook.markup import Html, link
from gapbook.method.findings import Findings
from gapbook.pages import page
from gapbook.pages.words import listed_html

__all__ = ["claim_and_verdict", "claim_line", "claim_lines"]

_TOLD_RULES = frozenset({"arithmetic", "count", "source"})
"""Rules whose verdicts rest on no run, which a verdict beside numbers of a run does not say by itself."""


def claim_line(found: Findings, claim_id: str) -> Html:
    """The claim that the chapter is about, published or our arithmetic on what was, with its verdict."""
    about = claim(claim_id)
    judged = verdicts.judge_with(claim_id, found)
    return page.claim_line(
        "Our arithmetic on published figures" if about.kind == NOTE else "Published claim",
        about.says,
        why=about.judged_at,
        where=about.citation,
        address=about.address,
        verdict=(judged.verdict, judged.word),
        basis=_basis(found, judged),
        summary=" ".join(filter(None, (_sentence(judged.published_and_ours), judged.summary))),
    )


def claim_and_verdict(found: Findings, claim_id: str) -> Html:
    """The claim of a first screen with who published it, then its verdict with our number for the same thing."""
    about, judged = claim(claim_id), verdicts.judge_with(claim_id, found)
    return page.published_claim(
        "Published" if about.kind != NOTE else "From published figures",
        about.says,
        by=about.published_by,
        address=about.address,
    ) + page.verdict_line(judged.verdict, *judged.line, why=about.judged_at, numbers=judged.numbers)


def _basis(found: Findings, judged: verdicts.Judgement) -> str | Html:
    """What a verdict rests on, where that is not this run alone."""
    if judged.rule in _TOLD_RULES:
        return RULES[judged.rule]
    chapters = dict.fromkeys(one.chapter for one in judged.evidence if one.chapter)
    if set(chapters) <= {found.scenario.chapter}:
        return ""
    links = [link(f"{chapter}.html", chapter) for chapter in chapters]
    return Html("as measured in {}").format(listed_html(links))


def claim_lines(found: Findings, *claim_ids: str) -> Html:
    """Several claims, each with its verdict."""
    return Html("").join(claim_line(found, claim_id) for claim_id in claim_ids)


def _sentence(words: str) -> str:
    return f"{words}." if words else ""
