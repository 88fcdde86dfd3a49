"""One number as somebody pastes it into a discussion: a sentence, what it rests on, and an address; at most forty words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from gapbook.pages.bibtex import bibtex_entry, book_as_cited

__all__ = [
    "FORMS",
    "MOST_SENTENCE_WORDS",
    "MOST_WORDS",
    "Citable",
    "address_of",
    "number_citation",
    "number_id",
    "place_of",
]

MOST_WORDS = 40
"""Of a citation, without its address."""
FORMS = ("Text", "Markdown", "BibTeX", "CSL-JSON")
_BOOK = "The Gap Book"
MOST_SENTENCE_WORDS = MOST_WORDS - len(_BOOK.split())
"""Of the sentence in a citation, for where it comes from stands behind it."""


class Citable(NamedTuple):
    """What a citation needs of a number: where it is found, the sentence that it stands in, its value with its interval,
    the blocks behind it, and its run."""

    identifier: str
    page: str
    sentence: str
    value: str
    n: int
    run: str
    date: str


def number_id(page: str, name: str) -> str:
    """What a number is called in its address: its page, and its author's name for it."""
    return f"{page}-{name.replace('_', '-')}"


def place_of(identifier: str) -> str:
    """Where a number's page stands in the book, from the first page on."""
    return f"n/{identifier}.html"


def address_of(identifier: str) -> str:
    """The address of a number's page: its place, after the book's own address where that has one."""
    _, book = book_as_cited()
    place = place_of(identifier)
    return f"{book.rstrip('/')}/{place}" if book else place


def number_citation(one: Citable) -> Mapping[str, str]:
    """The citation in each of :data:`FORMS`.

    Where a sentence is long, what its page tells too is left out: the blocks, then date and run, then the interval.
    """
    address = address_of(one.identifier)
    authors, _ = book_as_cited()
    told = _told(one)
    held = f"{one.value}, n = {one.n}" if one.value else f"n = {one.n}"
    note = f"{one.sentence} {held}. Run {one.run}."
    year, month, day = one.date.split("-")
    return {
        "Text": f"{told} {address}",
        "Markdown": f"> {told}\n>\n> [{_BOOK}]({address})",
        "BibTeX": bibtex_entry(
            "misc",
            f"gapbook-{one.identifier}",
            authors=authors,
            fields={"title": f"{_BOOK}: {one.page}", "note": note, "year": year},
            url=address,
        ),
        "CSL-JSON": json.dumps(
            {
                "id": f"gapbook-{one.identifier}",
                "type": "webpage",
                "title": one.sentence,
                "container-title": _BOOK,
                "author": [{"literal": author} for author in authors],
                "issued": {"date-parts": [[int(year), int(month), int(day)]]},
                "note": f"{held}, run {one.run}",
                "URL": address,
            },
            indent=1,
            ensure_ascii=False,
        ),
    }


def _told(one: Citable) -> str:
    value = f" {one.value}." if one.value else ""
    blocks = f" {one.value}, {one.n} blocks." if one.value and one.n else value
    run = f"{_BOOK}, run {one.run}, {one.date}."
    wished = (
        f"{one.sentence}{blocks} {run}",
        f"{one.sentence}{value} {run}",
        f"{one.sentence}{value} {_BOOK}.",
        f"{one.sentence} {_BOOK}.",
    )
    return next((text for text in wished if len(text.split()) <= MOST_WORDS), wished[-1])
