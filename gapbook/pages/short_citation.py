"""One number as somebody pastes it into a discussion: a sentence, what it rests on, and an address; at most forty words."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gapbook.pages.bibtex import bibtex_entry, book_as_cited, in_book

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
"""Of a sentence that is written to be cited. One that leaves no room for its interval and run is shortened there."""
_MOST_WORDS_OF_MACHINE = 10
_SENTENCE_ENDS = re.compile(r"(?<=[.!?…])\s+(?=[A-Z])")
_PART_ENDS = re.compile(rf"(?<=;)\s+|{_SENTENCE_ENDS.pattern}")


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
    return in_book(place_of(identifier))


def number_citation(one: Citable) -> Mapping[str, str]:
    """The citation in each of :data:`FORMS`: the sentence, what it rests on, its run and its date, in at most
    :data:`MOST_WORDS` words and an address."""
    authors, _ = book_as_cited()
    return _in_each_form(
        one,
        f"gapbook-{one.identifier}",
        kind="webpage",
        authors=authors,
        run=f"run {one.run}",
        address=address_of(one.identifier),
    )


def own_run_citation(one: Citable, machine: str) -> Mapping[str, str]:
    """The same of a number of a run that is not published: that it is a reader's own, its id and its machine. It has no
    address, for nothing of it stands in the book, and no other run beside it."""
    return _in_each_form(
        one._replace(between=""),
        f"gapbook-{one.identifier}-{one.run}",
        kind="dataset",
        authors=[f"A reader of {_BOOK}"],
        run=f"a reader's own run {one.run}: {_shortened(machine, _MOST_WORDS_OF_MACHINE)}",
    )


def _in_each_form(
    one: Citable, key: str, *, kind: str, authors: Sequence[str], run: str, address: str = ""
) -> Mapping[str, str]:
    entitled, where = f"{_BOOK}: {one.page}", f"{run[0].upper()}{run[1:]}, {one.date}."
    told = " ".join(_fitting(one, f"{_BOOK}, {run}, {one.date}."))
    noted = " ".join(_fitting(one, where, beside=entitled))
    fields = {"title": entitled, "note": noted, "year": one.date[:4]}
    sentence, rest = _fitting(one, where)
    return {
        "Text": f"{told} {address}".rstrip(),
        "Markdown": f"> {told}\n>\n> [{_BOOK}]({address})" if address else f"> {told}",
        "BibTeX": bibtex_entry("misc", key, authors=authors, fields=fields, url=address),
        "CSL-JSON": _csl(one, key, kind, authors, sentence, rest, address),
    }


def _fitting(one: Citable, where: str, *, beside: str = "") -> tuple[str, str]:
    """The sentence, and what it rests on with ``where`` that is found: together with what stands ``beside`` them at most
    :data:`MOST_WORDS` words.

    A number is told with all that fits of what it rests on. Where the least of that does not, the sentence is shortened,
    which its page has whole.
    """
    rests = [f"{ground} {where}".lstrip() for ground in _grounds(one)]
    rest = next((told for told in rests if _words(one.sentence, told, beside) <= MOST_WORDS), rests[-1])
    room, number = MOST_WORDS - _words(rest, beside), one.value.lstrip("×").partition(" ")[0]
    return _shortened(_without_clauses(one.sentence, room, number), room), rest


def _grounds(one: Citable) -> Sequence[str]:
    """What a number rests on, from the most to the least: what all runs made of it goes before its blocks and its interval."""
    if not one.value:
        return [""]
    over_runs = [f"{one.value}; {one.between}.", f"{one.between}."] if one.between else []
    held = [f"{one.value}, {blocks_words(one.n, one.of_blocks)}."] if one.n else []
    return [*over_runs, *held, f"{one.value}."]


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


def _without_clauses(text: str, most: int, number: str) -> str:
    """A text without what stands behind its semicolons, the last first, as far as at most so many words need it and the
    number stands elsewhere too."""
    parts = _PART_ENDS.split(text)
    for place in range(len(parts) - 1, 0, -1):
        elsewhere = " ".join([*parts[:place], *parts[place + 1 :]])
        if _words(*parts) > most and parts[place - 1].endswith(";") and number in elsewhere:
            parts[place - 1 : place + 1] = [f"{parts[place - 1][:-1]}…"]
    return " ".join(parts)


def _shortened(text: str, most: int) -> str:
    """At most so many words of a text. The longest of its sentences loses its last ones, with a sign for them: so a short
    verdict between two long sentences stays."""
    sentences = [one.split() for one in _SENTENCE_ENDS.split(text)]
    kept = [len(words) for words in sentences]
    while sum(kept) > most:
        kept[kept.index(max(kept))] -= 1
    return " ".join(_beginning(words, length) for words, length in zip(sentences, kept, strict=True))


def _beginning(words: Sequence[str], length: int) -> str:
    begun = " ".join(words[:length])
    return begun if length == len(words) else f"{begun.rstrip(',;:')}…"


def _words(*texts: str) -> int:
    return sum(len(text.split()) for text in texts)
