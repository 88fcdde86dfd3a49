"""One number as somebody pastes it into a discussion: a sentence, what it rests on, and an address; at most forty words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gapbook.pages.bibtex import bibtex_entry, book_as_cited

__all__ = [
    "FORMS",
    "MOST_SENTENCE_WORDS",
    "MOST_WORDS",
    "Citable",
    "address_of",
    "blocks_words",
    "number_citation",
    "number_id",
    "own_run_citation",
    "place_of",
]

MOST_WORDS = 40
"""Of a citation, without its address."""
FORMS = ("Text", "Markdown", "BibTeX", "CSL-JSON")
_BOOK = "The Gap Book"
MOST_SENTENCE_WORDS = MOST_WORDS - len(_BOOK.split())
"""Of the sentence in a citation, for where it comes from stands behind it."""
_MOST_WORDS_OF_NOTE = MOST_WORDS - len(_BOOK.split())
_MOST_WORDS_OF_MACHINE = 10


class Citable(NamedTuple):
    """What a citation needs of a number: where it is found, the sentence that it stands in, its value with its interval,
    the blocks behind it, its run, and what other runs made of it, where there are any."""

    identifier: str
    page: str
    sentence: str
    value: str
    n: int
    run: str
    date: str
    between: str = ""
    of_blocks: int = 0
    """How many blocks its run has, where not all of them hold it."""


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

    Where a sentence is long, what its page tells too is left out: the blocks, then date and run, then the interval. What
    other runs and machines made of the number goes before its blocks and its interval.
    """
    address, key = address_of(one.identifier), f"gapbook-{one.identifier}"
    authors, _ = book_as_cited()
    value, held, run = _value(one), _held(one), f"Run {one.run}."
    over_runs = [f" {one.value}; {one.between}.", f" {one.between}."] if one.between else []
    told = _first_that_fits(
        *(f"{one.sentence}{between} {_BOOK}, run {one.run}, {one.date}." for between in over_runs),
        f"{one.sentence}{held} {_BOOK}, run {one.run}, {one.date}.",
        f"{one.sentence}{value} {_BOOK}, run {one.run}, {one.date}.",
        f"{one.sentence}{value} {_BOOK}.",
        f"{one.sentence} {_BOOK}.",
    )
    sentence = one.sentence
    note = _first_that_fits(
        *(f"{sentence}{between} {run}" for between in over_runs),
        f"{sentence}{held} {run}",
        f"{sentence}{value} {run}",
        f"{sentence} {run}",
        sentence,
        most=_MOST_WORDS_OF_NOTE,
    )
    entitled = f"{_BOOK}: {one.page}"
    return {
        "Text": f"{told} {address}",
        "Markdown": f"> {told}\n>\n> [{_BOOK}]({address})",
        "BibTeX": bibtex_entry(
            "misc",
            key,
            authors=authors,
            fields={
                "title": entitled if _words(entitled, note) <= MOST_WORDS else _BOOK,
                "note": note,
                "year": one.date[:4],
            },
            url=address,
        ),
        "CSL-JSON": _csl(
            one,
            key,
            "webpage",
            authors,
            sentence,
            _first_that_fits(
                *(f"{between} {run}".strip() for between in over_runs),
                f"{held} {run}".strip(),
                f"{value} {run}".strip(),
                run,
                most=MOST_WORDS - _words(sentence),
            ),
            address,
        ),
    }


def own_run_citation(one: Citable, machine: str) -> Mapping[str, str]:
    """The citation of a number of a run that is not published, in each of :data:`FORMS`: that it is a reader's own, its id
    and its machine, in at most :data:`MOST_WORDS` words. It has no address, for nothing of it stands in the book.

    A sentence that leaves no room for that is cut.
    """
    told, entitled = _own_told(one, machine, MOST_WORDS), f"{_BOOK}: {one.page}"
    key, author = f"gapbook-{one.identifier}-{one.run}", f"A reader of {_BOOK}"
    note = f"{_value(one)} {_own_run(one, machine)}".strip()
    return {
        "Text": told,
        "Markdown": f"> {told}",
        "BibTeX": bibtex_entry(
            "misc",
            key,
            authors=[author],
            fields={
                "title": entitled,
                "note": _own_told(one, machine, MOST_WORDS - _words(entitled)),
                "year": one.date[:4],
            },
        ),
        "CSL-JSON": _csl(
            one, key, "dataset", [author], _shortened(one.sentence, MOST_WORDS - _words(note)), note
        ),
    }


def _own_told(one: Citable, machine: str, most: int) -> str:
    value, run = _value(one), _own_run(one, machine)
    book = f"{_BOOK}, {run[0].lower()}{run[1:].rstrip('.')}, {one.date}."
    room = most - _words(value, run)
    return _first_that_fits(
        f"{one.sentence}{_held(one)} {book}",
        f"{one.sentence}{value} {book}",
        f"{one.sentence}{value} {run}",
        f"{_shortened(one.sentence, room)}{value} {run}",
        most=most,
    )


def _own_run(one: Citable, machine: str) -> str:
    return f"A reader's own run {one.run}: {_shortened(machine, _MOST_WORDS_OF_MACHINE)}."


def _value(one: Citable) -> str:
    return f" {one.value}." if one.value else ""


def _held(one: Citable) -> str:
    """The value with the blocks behind it."""
    return f" {one.value}, {blocks_words(one.n, one.of_blocks)}." if one.value and one.n else _value(one)


def blocks_words(n: int, of_blocks: int) -> str:
    """``4 of 5 blocks``, or ``5 blocks`` where all of the run hold a number: ``of_blocks`` is 0 then."""
    return f"{n} of {of_blocks} blocks" if of_blocks else f"{n} block{'' if n == 1 else 's'}"


def _csl(
    one: Citable, key: str, kind: str, authors: Sequence[str], title: str, note: str, address: str = ""
) -> str:
    told = {
        "id": key,
        "type": kind,
        "title": title,
        "container-title": _BOOK,
        "author": [{"literal": author} for author in authors],
        "issued": {"date-parts": [[int(part) for part in one.date.split("-")]]},
        "note": note,
        **({"URL": address} if address else {}),
    }
    return json.dumps(told, indent=1, ensure_ascii=False)


def _first_that_fits(*wished: str, most: int = MOST_WORDS) -> str:
    """The first text of at most so many words, or the last."""
    return next((text for text in wished if _words(text) <= most), wished[-1])


def _shortened(text: str, most: int) -> str:
    """The first words of a text, with a sign where others are left out."""
    words = text.split()
    return text if len(words) <= most else f"{' '.join(words[:most])}…"


def _words(*texts: str) -> int:
    return sum(len(text.split()) for text in texts)
