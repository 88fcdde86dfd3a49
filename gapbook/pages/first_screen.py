"""The first screen of a page: claim, answer, picture, provenance, citation, and how to repeat the run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

from gapbook import charts
from gapbook.errors import ParameterError, RecordError
from gapbook.markup import Html, SupportsHtml, link
from gapbook.method.findings import Findings
from gapbook.method.over_runs import Between
from gapbook.method.summary import summary_of, written
from gapbook.pages import page
from gapbook.pages.citation import reach_note
from gapbook.pages.number import blocks_beside, number_of, tell_numbers
from gapbook.pages.page_files import leave_beside_run
from gapbook.pages.provenance import provenance_parts, run_facts
from gapbook.pages.register.lines import claim_and_verdict
from gapbook.pages.rerun import rerun_panel
from gapbook.pages.sentence import Said, Sentence
from gapbook.pages.short_citation import Citable, number_citation, number_id, own_run_citation, place_of
from gapbook.pages.words import listed, listed_html, other_side
from gapbook.record.machine import processor_and_cores

__all__ = [
    "cite_panels",
    "first_screen",
    "on_all_machines",
    "own_run_banner",
    "provenance_line",
    "require_in",
    "tell_sentence",
]

_SUMMARY = "compare.json"
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def first_screen(
    found: Findings,
    *,
    sentence: Sentence,
    conditions: str,
    picture: charts.Figure,
    claim: str = "",
    word: str = "",
    in_full: page.Answer | None = None,
    ratio: Said | None = None,
    sources: Mapping[str, str] | None = None,
) -> Html:
    """What a reader sees first: the claim with its verdict, or the word that answers a question of our own; one
    sentence and its conditions; the one chart that shows its numbers; buttons. Beneath, for who wants it: all
    comparisons with intervals and caveats, how to cite the numbers, and how to repeat them. ``ratio`` is that of the numbers
    of a sentence of rates, which travels farther than they do: what all runs made of it stands beneath the chart.
    ``sources`` are the addresses, by what stands there, of what somebody else wrote and the sentence speaks of.

    Raises ParameterError where a number of the sentence does not stand in the chart.
    """
    require_in(picture, sentence)
    tell_sentence(found, sentence, conditions)
    parts: list[SupportsHtml] = [
        own_run_banner(found) or Html(""),
        _beside_the_published(found),
        claim_and_verdict(found, claim) if claim else page.answer_word(word if sentence.cited else ""),
        sentence,
        Html('<p class="gb-conditions">{}</p>').format(conditions) if sentence.cited else Html(""),
        _sources(sources or {}),
        picture,
        on_all_machines(sentence, ratio),
        other_side(picture.turned),
        run_buttons(found),
        _in_full(found, in_full),
        cite_panels(found, sentence),
        rerun_panel(found),
    ]
    return Html("\n").join(parts)


def cite_panels(found: Findings, sentence: Sentence) -> Html:
    """How to cite each number of the sentence: of a published run by its own address."""
    if not sentence.numbers:
        note = page.banner("note", "This run has no number to cite: a needed cell has no valid trial.")
        return Html('<div id="cite">{}</div>').format(note)
    chapter, date = found.scenario.chapter, run_facts(found)["date"]
    panels = []
    for place, ((name, _, cited), said) in enumerate(zip(sentence.numbers, sentence.as_said, strict=True)):
        identifier = number_id(chapter, name)
        told = Citable(
            identifier,
            chapter,
            sentence.plain,
            cited.value,
            cited.n,
            found.run.run_id,
            date,
            str(cited.between_runs or ""),
            blocks_beside(found, cited.n),
        )
        published = found.run.published
        panels.append(
            page.cite_panel(
                number_citation(told)
                if published
                else own_run_citation(told, processor_and_cores(found.run.manifest.machine)),
                anchor="cite" if place == 0 else f"cite-{name}",
                title=f"Cite {said}",
                address=place_of(identifier) if published else "",
            )
        )
    return Html("").join(panels)


def on_all_machines(sentence: Sentence, ratio: Said | None = None) -> Html:
    """The line beneath a chart: which run it shows, on how many machines the numbers of the sentence were measured, and
    what one more run should find; nothing where there is but one run of them."""
    several = [cited.between_runs for *_, cited in sentence.numbers if cited.between_runs]
    grouped: dict[str, list[str]] = {}
    for between in several:
        grouped.setdefault(between.of_runs, []).append(_foretold(between))
    parts = [
        f"{listed(ranges)} {'is' if len(ranges) == 1 else 'are'} of {of_runs}"
        for of_runs, ranges in grouped.items()
    ]
    if ratio and ratio.cited and (of_both := ratio.cited.between_runs):
        parts.append(f"the ratio of the two, {ratio.printed}, is {_foretold(of_both)} over {of_both.of_runs}")
    if not parts:
        return Html("")
    return Html('<p class="gb-between">The chart shows our newest full run; {}.</p>').format("; ".join(parts))


def _foretold(between: Between) -> str:
    return between.in_sentence + (f" (we expect the next in {between.foretold})" if between.foretold else "")


def _sources(sources: Mapping[str, str]) -> Html:
    links = listed_html([link(address, what) for what, address in sources.items()])
    return Html('<p class="gb-read-it">Read it: {}.</p>').format(links) if sources else Html("")


def tell_sentence(found: Findings, sentence: Sentence, conditions: str) -> None:
    """Each number of a sentence for its own address."""
    tell_numbers(
        number_of(found, name, printed, cited, sentence=sentence.plain, conditions=conditions)
        for name, printed, cited in sentence.numbers
    )


def _in_full(found: Findings, answer: page.Answer | None) -> Html:
    """What the first screen leaves out, folded: each comparison with its interval, what it must be read with, and
    what was run."""
    told = answer.noted(reach_note(found, answer.cited)) if answer else Html("")
    return Html(
        '<details class="gb-fold gb-full"><summary>All comparisons, with intervals and caveats</summary>{}{}</details>'
    ).format(told, provenance_line(found))


def own_run_banner(found: Findings) -> Html | None:
    """Says that a page is the reader's own run; nothing for a published one."""
    if found.run.published:
        return None
    shown = f"This page shows run {found.run.run_id}, measured here, not the published run."
    if found.blocks > 1:
        return page.banner("own-run", shown)
    more = f"gapbook run {found.scenario.chapter} -p blocks=4"
    return page.banner(
        "own-run",
        Html("{} Each of its numbers is one trial. For intervals: <code>{}</code>").format(shown, more),
    )


def run_buttons(found: Findings) -> Html:
    """How to cite and repeat it, and the files of the run, to be downloaded."""
    folder = f"../_static/runs/{found.run.run_id}"
    return page.download_buttons(
        [
            page.Download("Cite this number", "#cite", primary=True),
            page.Download("Re-run this", "#rerun"),
            page.Download("Data", f"{folder}/trials.parquet"),
            page.Download("Latencies", f"{folder}/histograms.parquet"),
            page.Download("Manifest", f"{folder}/manifest.json"),
        ]
    )


def _beside_the_published(found: Findings) -> Html:
    """Where a run of the reader's own is laid beside the published one, with what is needed for that, which is written as a
    file; or why it cannot be. Nothing for a published run."""
    if found.run.published:
        return Html("")
    try:
        summary = written(summary_of(found.run))
    except RecordError as error:
        return page.banner("note", f"It cannot be laid beside the published run: {error}.")
    leave_beside_run(found.run.run_id, _SUMMARY, summary)
    return page.banner(
        "note",
        Html("To lay it beside the published run, give {} to {}.").format(
            link(f"../_static/runs/{found.run.run_id}/{_SUMMARY}", _SUMMARY, download=True),
            link("compare.html", "Compare"),
        ),
    )


def provenance_line(found: Findings) -> Html:
    """What every page says of its run, in a line."""
    return page.provenance_line(provenance_parts(found))


def require_in(picture: charts.Figure, sentence: Sentence) -> None:
    """A number is repeated with its picture: raises ParameterError for one that the picture does not show, be it with more
    digits."""
    own = [place for place, column in enumerate(picture.table.columns) if column != charts.ELSEWHERE]
    shown = " ".join(row[place] for row in picture.table.rows for place in own)
    numbers = _NUMBER.findall(shown)
    for number in sentence.printed:
        stands = re.search(rf"(?<![\d.,]){re.escape(number)}(?![\d.,]*\d)", shown)
        if not stands and not any(_rounds_to(one, number) for one in numbers):
            raise ParameterError(
                f"first screen: {number} stands in the sentence and not in its chart: {sentence.plain}"
            )


def _rounds_to(longer: str, number: str) -> bool:
    """Whether a printed number is another with fewer digits behind its point. What ends in 5 was rounded itself, and may
    come from beneath: 1.665 can be 1.66."""
    if not _NUMBER.fullmatch(number):
        return False
    decimals, more = (len(text.partition(".")[2]) for text in (number, longer))
    one, other = (Decimal(text.replace(",", "")) for text in (longer, number))
    above, half = one - other, Decimal(5).scaleb(-decimals - 1)
    return more >= decimals and (-half <= above < half or (decimals > 0 and above == half))
