"""The first page: one question, one sentence, one picture, and findings that one would repeat, each from a stored run."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gapbook import charts
from gapbook.claims.claim import claim
from gapbook.errors import RecordError
from gapbook.markup import Html, SupportsHtml, link
from gapbook.method.cells import Named
from gapbook.method.findings import Findings
from gapbook.method.interval import Interval
from gapbook.pages import page
from gapbook.pages.first_screen import on_all_machines, require_in, tell_sentence
from gapbook.pages.provenance import provenance
from gapbook.pages.register.lines import claim_and_verdict
from gapbook.pages.sentence import Sentence, times
from gapbook.record.run import latest_published

__all__ = ["contestant", "findings", "front_screen", "gap_ruler", "published"]


def published(chapter: str) -> Findings:
    """The results of a chapter's published run; raises RecordError where it has none."""
    return Findings(latest_published(chapter), chapter)


def contestant(found: Findings, name: str) -> Named:
    """A contestant of a stored run by its name there; raises RecordError where the run has none of that name."""
    one = found.scenario.find(name)
    if one is None:
        raise RecordError(
            f"front page: run {found.run.run_id} of {found.scenario.chapter} has no contestant {name}"
        )
    return one


def gap_ruler(
    found: Findings,
    claim_id: str,
    rows: Sequence[tuple[str, Named, Named]],
    *,
    at: float,
    title: str,
    subtitle: str,
) -> charts.Figure:
    """The published gap, and the same gap as measured under each setup that has a number. ``subtitle`` says which
    rate is divided by which."""
    about = claim(claim_id)
    printed = Interval(about.value, math.nan, math.nan, 1)
    gaps = [charts.Gap("By the vendor's published figures", printed, "ink", published=True)]
    for label, over, under in rows:
        ratio = found.ratio(over.name, under.name, at)
        if ratio is not None and not times(found, over, under, at=at).why:
            gaps.append(charts.Gap(label, ratio, found.contestant(over).colour))
    return charts.ruler(
        gaps,
        axis="how many times as many (log scale)",
        provenance=provenance(found),
        title=title,
        subtitle=subtitle,
    )


def front_screen(
    found: Findings,
    *,
    claim_id: str,
    sentence: Sentence,
    conditions: str,
    picture: charts.Figure,
    doors: Sequence[page.Download],
) -> Html:
    """The claim with its verdict, the sentence, its conditions, the picture that shows its numbers, and where to go on.

    Raises ParameterError where a number of the sentence does not stand in the picture.
    """
    require_in(picture, sentence)
    tell_sentence(found, sentence, conditions)
    parts: list[SupportsHtml] = [
        claim_and_verdict(found, claim_id),
        sentence,
        Html('<p class="gb-conditions">{}</p>').format(conditions),
        picture,
        on_all_machines(sentence),
        page.link_buttons(doors),
    ]
    return Html("\n").join(parts)


def findings(rows: Sequence[tuple[Sentence, str]]) -> Html:
    """Sentences, each with the chapter that it comes from."""
    items = (
        Html("<li>{} {}</li>").format(one.text, link(f"{chapter}.html", "How we know"))
        for one, chapter in rows
    )
    return Html('<ul class="gb-findings">{}</ul>').format(Html("").join(items))
