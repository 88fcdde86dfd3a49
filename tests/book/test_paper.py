"""Pages on paper: all that they say is printed, within the page and not across its edge."""

from __future__ import annotations

import unicodedata
from collections import Counter

from gapbook.book.chapters import chapters
from gapbook.book.document_pages import titles_of_documents
from gapbook.pages.proof.every_trial import trials_of
from tests.book.book_site import Open, Site
from tests.book.printed_text import printed_text
from tests.drawn import drawn

_MARGINS = dict.fromkeys(("top", "right", "bottom", "left"), "10mm")
_PRINTED_WIDTH_PX = 718
"""Of A4 between such margins, at 96 px an inch."""
_SHORTEST_WORD = 4
_CLIPPED = """() => {
  const width = document.documentElement.clientWidth;
  const shown = [...document.querySelectorAll("body *")].filter(
    (one) => one.checkVisibility() && one.getBoundingClientRect().width > 0 && !one.closest(".visually-hidden"));
  const past = ({left, right}) => right > width + 1 || left < -1;
  const cut = (one) => getComputedStyle(one).overflowX !== "visible" && one.scrollWidth > one.clientWidth + 1;
  const tables = [...document.querySelectorAll("article .gb-table, article .pst-scrollable-table-container")];
  return [
    ...shown.filter((one) => past(one.getBoundingClientRect()) || cut(one)),
    ...tables.filter((one) => one.scrollWidth > one.clientWidth),
  ].map((one) => one.outerHTML.slice(0, 200));
}"""
_BROKEN_NUMBERS = """() => {
  const range = document.createRange(), found = [];
  for (const cell of document.querySelectorAll("article .gb-num")) {
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (texts.nextNode())
      for (const number of texts.currentNode.data.matchAll(/[\\d.,]*\\d/g)) {
        range.setStart(texts.currentNode, number.index);
        range.setEnd(texts.currentNode, number.index + number[0].length);
        if (range.getClientRects().length > 1) found.push(number[0]);
      }
  }
  return found;
}"""
"""Those in two lines of a table."""
_TEXTS = """() => {
  const left_out = `h1, script, style, button, .headerlink, .admonition-title, .visually-hidden, .gb-buttons,
    .gb-filter, .gb-inputs, .gb-cite > label, svg :is(title, desc)`;
  const range = document.createRange(), found = [];
  const texts = document.createTreeWalker(document.querySelector("article"), NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode, holder = text.parentElement;
    if (!text.data.trim() || holder.closest(left_out)) continue;
    const form = holder.closest(".gb-wide, .gb-phone, .gb-cite > .gb-code");
    if (form && getComputedStyle(form).display === "none") continue;
    range.selectNodeContents(text);
    found.push([text.data, range.getClientRects().length > 0 && holder.checkVisibility({opacityProperty: true})]);
  }
  return found;
}"""
"""Each text of a page and whether it can be seen, without what is of use on a screen alone and the other forms of a
chart or a citation. The title of the page is printed by the theme, elsewhere."""


def test_nothing_is_clipped_folded_or_lost_on_paper(published_site: Site, visit: Open) -> None:
    names = [
        *drawn(chapters(), 1, "on paper"),
        *drawn(list(titles_of_documents()), 1, "on paper"),
        "corrections",
        *map(trials_of, drawn(chapters(), 1, "trials on paper")),
    ]
    for name in names:
        page = visit(published_site, f"notebooks/{name}.html", width=_PRINTED_WIDTH_PX).page
        page.emulate_media(media="print")
        assert page.evaluate(_CLIPPED) == [], name
        assert page.evaluate(_BROKEN_NUMBERS) == [], name
        texts = page.evaluate(_TEXTS)
        assert len(texts) > 50, name
        assert [text for text, seen in texts if not seen] == [], name
        pdf = page.pdf(format="A4", margin=_MARGINS)
        assert _lost([text for text, _ in texts], printed_text(pdf)) == [], name


def test_a_page_of_a_dark_screen_is_printed_dark_on_white_and_is_dark_again(
    published_site: Site, visit: Open
) -> None:
    page = visit(published_site, "notebooks/front.html", dark=True).page
    paper = (
        "() => getComputedStyle(document.documentElement).getPropertyValue('--pst-color-background').trim()"
    )
    on_screen = page.evaluate(paper)
    page.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
    printed = page.evaluate(paper)
    page.evaluate("() => window.dispatchEvent(new Event('afterprint'))")
    assert printed in {"#fff", "#ffffff"}
    assert page.evaluate(paper) == on_screen != printed


def _lost(texts: list[str], printed: str) -> list[str]:
    """The words that stand on a page more often than on paper, where a line may end within one."""
    on_paper = _joined(printed)
    words = Counter(_joined(word) for text in texts for word in text.split())
    return [
        word for word, count in words.items() if len(word) >= _SHORTEST_WORD and on_paper.count(word) < count
    ]


def _joined(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).split())
