"""An extension of Sphinx that links each word of the glossary where it first stands on a page.

The glossary is a page of the book (``book/words.md``). Words are found in prose, tables and what chapters show; a
heading, a link, code, a chart and a form keep theirs as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from docutils import nodes

from gapbook.book.chapters import own_parameters
from gapbook.markup import link
from gapbook.model.work import EXPONENT, AliasTable, hot_share

__all__ = ["PAGE", "Word", "WordLinks", "setup", "words_of"]

PAGE = "book/words"
"""The document that holds the glossary."""
_CHAPTER = "both-optimized"
"""Has the load that most chapters have."""
_TAG = re.compile(r"<(/?)([a-zA-Z][\w-]*)([^>]*)>|<!--.*?-->", re.DOTALL)
_KEPT_ELEMENTS = frozenset(
    {
        *("h1", "h2", "h3", "h4", "h5", "h6", "caption", "th", "summary", "details", "figure", "svg"),
        *("a", "button", "code", "label", "option", "pre", "script", "select", "style"),
    }
)
_KEPT_CLASS = re.compile(r'class="[^"]*\b(?:gb-panel|gb-buttons|gb-verdict|gb-word)\b')
_KEPT_NODES = (
    nodes.FixedTextElement,
    nodes.caption,
    nodes.citation,
    nodes.literal,
    nodes.math,
    nodes.raw,
    nodes.reference,
    nodes.thead,
    nodes.title,
)


class Word(NamedTuple):
    """A word of the glossary: where it stands there, and what it means."""

    anchor: str
    meaning: str


class WordLinks:
    """The links of one page, whose text is given piece by piece in the order in which it is read.

    ``words`` are all forms of all words, in small letters; forms of one word share its anchor.
    """

    def __init__(self, words: Mapping[str, Word], page: str) -> None:
        self._words = words
        self._page = page
        self._linked: set[str] = set()
        self._kept, self._depth = "", 0
        forms = "|".join(re.escape(form) for form in sorted(words, key=len, reverse=True))
        self._pattern = re.compile(rf"(?<![\w-])({forms})s?(?![\w-])", re.IGNORECASE)

    def found(self, text: str) -> Iterator[tuple[int, int, str, Word]]:
        """Each word that stands in this text and in none before: its place, the address of its entry, the word."""
        for match in self._pattern.finditer(text) if not self._kept else ():
            word = self._words[match[1].lower()]
            if word.anchor not in self._linked:
                self._linked.add(word.anchor)
                yield match.start(), match.end(), f"{self._page}#{word.anchor}", word

    def in_html(self, markup: str) -> str:
        """The same markup with links; what lies within an element that keeps its words is as it was."""
        pieces, end = list[str](), 0
        for tag in _TAG.finditer(markup):
            pieces += [self._linked_text(markup[end : tag.start()]), tag[0]]
            end = tag.end()
            self._pass(tag[1] == "/", (tag[2] or "").lower(), tag[3] or "")
        return "".join([*pieces, self._linked_text(markup[end:])])

    def _pass(self, closes: bool, name: str, attributes: str) -> None:
        """Go past a tag. An element that keeps its words may begin in one piece of a page and end in another."""
        if self._kept:
            if name == self._kept and not attributes.endswith("/"):
                self._depth += -1 if closes else 1
                self._kept = self._kept if self._depth else ""
        elif not closes and (name in _KEPT_ELEMENTS or _KEPT_CLASS.search(attributes)):
            self._kept, self._depth = name, 1

    def _linked_text(self, text: str) -> str:
        pieces, end = list[str](), 0
        for start, stop, address, word in self.found(text):
            pieces += [text[end:start], link(address, text[start:stop], kind="gb-term", title=word.meaning)]
            end = stop
        return "".join([*pieces, text[end:]])

    def in_node(self, text: nodes.Text) -> list[nodes.Node]:
        """The same text of a document with links."""
        pieces, end = list[nodes.Node](), 0
        for start, stop, address, word in self.found(text):
            linked = nodes.reference(
                "",
                text[start:stop],
                refuri=address,
                reftitle=word.meaning,
                internal=True,
                classes=["gb-term"],
            )
            pieces += [nodes.Text(text[end:start]), linked]
            end = stop
        return [*pieces, nodes.Text(text[end:])]


def words_of(glossary: nodes.document) -> dict[str, Word]:
    """All forms of the words of a glossary, in small letters. Forms of one word stand above one meaning."""
    words = {}
    for item in glossary.findall(nodes.definition_list_item):
        terms = list(item.findall(nodes.term))
        meaning = " ".join(part.astext() for part in item.findall(nodes.paragraph)).replace("\n", " ")
        for term in terms:
            words[term.astext().lower()] = Word(terms[0]["ids"][0], meaning)
    return words


def _link_words(app: Any, page: nodes.document, name: str) -> None:
    if name == PAGE or PAGE not in app.env.found_docs:
        return
    links = WordLinks(words_of(app.env.get_doctree(PAGE)), app.builder.get_relative_uri(name, PAGE))
    # The bibliography makes nodes that do not know what they stand in.
    for element in page.findall(nodes.Element):
        for child in element.children:
            child.parent = element
    for node in list(page.findall(lambda node: isinstance(node, nodes.Text | nodes.raw))):
        if isinstance(node, nodes.raw):
            if "html" in node.get("format", "").split():
                node.children = [nodes.Text(links.in_html(node.astext()))]
        elif not _is_kept(node):
            node.parent.replace(node, links.in_node(node))


def _is_kept(node: nodes.Node) -> bool:
    parent = node.parent
    return parent is not None and (isinstance(parent, _KEPT_NODES) or _is_kept(parent))


def _alpha_shares() -> str:
    """What the exponents of most chapters mean, computed of the load as one of them declares it."""
    parameters = own_parameters(_CHAPTER)
    accounts, redraw = int(parameters["accounts"]), str(parameters["redraw"])
    low, high = (
        f"at {exponent:g}, {100 * hot_share(AliasTable.zipf_cached(accounts, exponent), redraw):.2g} %"
        for exponent in parameters[EXPONENT]
    )
    return f"Of {accounts:,} accounts, the busiest takes part in this share of all transfers: {low}; {high}."


def _substitute(_: Any, config: Any) -> None:
    config.myst_substitutions = {**config.myst_substitutions, f"{EXPONENT}_shares": _alpha_shares()}


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("config-inited", _substitute)
    app.connect("doctree-resolved", _link_words)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
