"""Page furniture: escaped, usable without a script, and strict about its inputs."""

from __future__ import annotations

import html
import json
import re

import pytest

from gapbook.markup import Html, values_table
from gapbook.pages import page
from gapbook.pages.page import Download, Input

HOSTILE = "<script>alert('1')</script>"


def test_text_is_escaped_and_html_is_kept() -> None:
    assert page.answer(HOSTILE).html == f'<p class="gb-answer">{Html.escape(HOSTILE).html}</p>'
    assert "<strong" in page.answer(page.estimate("×14.1 [13.4–14.8]")).html
    parts = [
        page.banner("stale", HOSTILE),
        page.provenance_line([HOSTILE, "12 blocks"]),
        page.claim_line(HOSTILE, HOSTILE, why=HOSTILE, where=HOSTILE, verdict=("refuted", HOSTILE)),
        page.answer_word(HOSTILE),
        page.published_claim(HOSTILE, HOSTILE, by=HOSTILE, address=HOSTILE),
        page.verdict_line("refuted", HOSTILE, HOSTILE, why=HOSTILE, numbers=[HOSTILE]),
        page.link_buttons([Download(HOSTILE, HOSTILE)]),
        page.settings_table((HOSTILE, HOSTILE, HOSTILE), [(HOSTILE, HOSTILE, HOSTILE)]),
        page.cite_panel({HOSTILE: HOSTILE}, title=HOSTILE, address=HOSTILE),
        page.rerun_panel([HOSTILE], [Input("blocks", HOSTILE, HOSTILE)], needs=HOSTILE),
        page.download_buttons([Download(HOSTILE, HOSTILE)]),
        page.refused_table([(HOSTILE, HOSTILE, HOSTILE)]),
        page.estimate(HOSTILE),
    ]
    assert all("<script" not in part.html for part in parts)


def test_our_numbers_stand_out_in_a_verdict_and_no_part_of_another_does() -> None:
    line = page.verdict_line(
        "not-here", "Not here", ": we got 2.0 with 2.0.1, not about 14, nor 12.0", why="x", numbers=["2.0"]
    )
    assert re.findall(r'<strong class="gb-number">(.*?)</strong>', line.html) == ["2.0"]
    assert ": we got 2.0 with 2.0.1, not about 14, nor 12.0. " in line.striptags()


def test_an_answer_within_html_stays_html() -> None:
    answer = page.answer(page.estimate("×14.1"), notes="So.")
    assert Html("<div>{}</div>").format(answer) == f"<div>{answer.html}</div>"


def test_citation_shows_one_form_and_offers_three() -> None:
    panel = page.cite_panel({"plain": "P", "Markdown": "M", "BibTeX": "B"}).html
    assert re.findall(r"<pre[^>]*>(\w)</pre>", panel) == ["P", "M", "B"]
    assert panel.count("checked") == 1
    assert re.search(r'gb-copy" hidden>', panel)
    names = set(re.findall(r'name="([^"]+)"', panel + page.cite_panel({"plain": "Q", "Markdown": "M"}).html))
    assert len(names) == 2


def test_rerun_command_is_complete_without_a_script() -> None:
    panel = page.rerun_panel(
        ["gapbook", "run", "a {chapter}"],
        [Input("blocks", "blocks", "5"), Input("alpha", "α", "0.5 1.5", ("0.5 1.5", "0"))],
        needs="about 14 min",
    ).html
    assert "gapbook run 'a {chapter}' -p blocks=5 -p 'alpha=0.5 1.5'</pre>" in panel
    before = re.search(r'data-command="([^"]+)"', panel)
    assert before
    assert json.loads(html.unescape(before.group(1))) == ["gapbook", "run", "a {chapter}"]
    assert "<option selected>0.5 1.5</option>" in panel


def test_rerun_choice_that_is_not_offered_is_refused() -> None:
    with pytest.raises(ValueError, match="'7' is none of its choices"):
        page.rerun_panel(["gapbook"], [Input("blocks", "blocks", "7", ("3", "5"))])


def test_table_aligns_numbers_and_refuses_ragged_rows() -> None:
    table = values_table(("system", "goodput"), [("Postgres", "64,600 [63,100–66,200]"), ("n/a", "–")]).html
    assert '<td class="gb-num">64,600 [63,100–66,200]</td>' in table
    assert "<td>Postgres</td>" in table
    with pytest.raises(ValueError, match="1 cells for 2 columns"):
        values_table(("a", "b"), [("1",)])


def test_no_refused_trial_is_said() -> None:
    assert "No trial was refused" in page.refused_table([]).html


def test_unknown_kinds_are_refused() -> None:
    with pytest.raises(ValueError, match="banner kind 'bad' is unknown"):
        page.banner("bad", "x")  # type: ignore[arg-type]


def test_links_within_the_page_are_no_downloads() -> None:
    buttons = page.download_buttons(
        [Download("Cite", "#cite", primary=True), Download("Data", "run.json")]
    ).html
    assert re.findall(r"<a [^>]*>", buttons) == [
        '<a class="gb-button gb-primary" href="#cite">',
        '<a class="gb-button" href="run.json" download>',
    ]


def test_parts_display_themselves_in_a_notebook() -> None:
    assert Html("<p>x</p>")._repr_html_() == str(Html("<p>x</p>")) == "<p>x</p>"
