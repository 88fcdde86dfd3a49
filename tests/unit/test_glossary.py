"""Each word of the glossary is linked once a page, where it first stands in text, and what it means is short."""

from __future__ import annotations

import re

import jupytext
import pytest
from docutils import nodes

from gapbook.book.glossary import PAGE, Word, WordLinks
from gapbook.paths import CHECKOUT

_WORDS = {
    "goodput": Word("term-goodput", "What was committed."),
    "in flight": Word("term-in-flight", "Not yet answered."),
    "wait for the disk": Word("term-disk", "Answered when stored."),
    "waits for the disk": Word("term-disk", "Answered when stored."),
    "α": Word("term-alpha", "How unequal."),
}
_MOST_WORDS, _MOST_SENTENCES = 25, 2


@pytest.fixture(name="links")
def _links() -> WordLinks:
    return WordLinks(_WORDS, "../book/words.html")


def _to(anchor: str, text: str) -> str:
    return f'<a class="gb-term" href="../book/words.html#term-{anchor}" title="{_WORDS[text.lower()].meaning}">{text}</a>'


def test_word_is_linked_where_it_first_stands_and_once_whatever_its_form(links: WordLinks) -> None:
    shown = links.in_html(
        "<p>Goodput at α = 0: it waits for the disk.</p><p>Both wait for the disk; goodput.</p>"
    )
    assert shown == (
        f"<p>{_to('goodput', 'Goodput')} at {_to('alpha', 'α')} = 0: it {_to('disk', 'waits for the disk')}.</p>"
        "<p>Both wait for the disk; goodput.</p>"
    )
    (same,) = links.in_node(nodes.Text("No goodput a second time."))
    assert same == "No goodput a second time."


@pytest.mark.parametrize(
    "kept",
    [
        '<a href="x">goodput</a>',
        "<h2>Goodput</h2>",
        "<pre><code>goodput</code></pre>",
        '<svg><text aria-label="a > b">goodput</text></svg>',
        '<p title="goodput">x</p>',
        '<div class="gb-panel gb-cite"><div>a</div>goodput</div>',
        "<details><summary>x</summary><details>y</details>goodput</details>",
        "<p>goodputs-like and ungoodput</p>",
        "<!-- goodput -->",
    ],
)
def test_heading_link_code_chart_and_form_keep_their_words(links: WordLinks, kept: str) -> None:
    assert links.in_html(f"{kept}<p>goodput</p>") == f"{kept}<p>{_to('goodput', 'goodput')}</p>"


def test_link_that_is_opened_in_one_piece_of_a_page_holds_in_the_next(links: WordLinks) -> None:
    assert links.in_html('<a href="x">') == '<a href="x">'
    assert links.in_node(nodes.Text("goodput")) == [nodes.Text("goodput")]
    links.in_html("</a>")
    _, link, _ = links.in_node(nodes.Text("the goodput"))
    assert link["refuri"] == "../book/words.html#term-goodput"


def test_glossary_is_short() -> None:
    text = "\n".join(cell.source for cell in jupytext.read(CHECKOUT / f"{PAGE}.md").cells)
    entries = re.findall(r"^(?:\w.*\n)+((?:  .*\n)+)", text, re.MULTILINE)
    assert 0 < len(entries) <= _MOST_WORDS
    for meaning in entries:
        # A value that is computed is a sentence too.
        sentences = re.findall(r"[.!?}](?:\s|$)", meaning)
        assert 0 < len(sentences) <= _MOST_SENTENCES, meaning
