"""A citation as BibTeX that the oldest of engines compiles: pdflatex without packages, and bibtex."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import yaml

from gapbook.errors import ParameterError, cut
from gapbook.paths import CHECKOUT

__all__ = ["ADDRESS", "bibtex_entry", "book_as_cited", "book_released", "in_book", "latex"]

ADDRESS = "GAPBOOK_ADDRESS"
"""Says where a build is published, of a book whose CITATION.cff does not."""
_ADDRESS = re.compile(r"https?://[\w.:-]+(/[\w.~%/-]*)?")

# Braces stand in pairs even where one is printed: bibtex counts them, with a backslash before or not.
_COMMANDS = {
    **{letter: f"\\{letter}" for letter in "&%$#_"},
    "{": r"\textbraceleft{}",
    "}": r"\textbraceright{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    chr(0x3C): r"\textless{}",
    chr(0x3E): r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",  # straight ones need another font encoding than the default
    "–": "--",
    "—": "---",
    "‘": "`",
    "’": "'",
    "“": "``",
    "”": "''",
    "…": r"\ldots{}",
    "ß": r"\ss{}",
    "ø": r"\o{}",
    "Ø": r"\O{}",
    "æ": r"\ae{}",
    "Æ": r"\AE{}",
    "\u00a0": "~",
}
_SIGNS = {
    "×": r"\times", "−": "-", "±": r"\pm", "≥": r"\ge", "≤": r"\le", "≠": r"\neq", "≈": r"\approx",
    "→": r"\rightarrow", "÷": r"\div", "·": r"\cdot", "∞": r"\infty", "²": "^{2}", "³": "^{3}", "°": r"^{\circ}",
}  # fmt: skip
_ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".",
    "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0327": "c", "\u0328": "k",
}  # fmt: skip
_GREEK_CAPITALS = frozenset(
    {"gamma", "delta", "theta", "lambda", "xi", "pi", "sigma", "upsilon", "phi", "psi", "omega"}
)


def latex(text: str) -> str:
    """The same text in ASCII, as LaTeX prints it. A letter that has no command becomes a question mark."""
    return "".join(map(_letter, unicodedata.normalize("NFC", " ".join(text.split()))))


def _letter(letter: str) -> str:
    if letter in _COMMANDS:
        return _COMMANDS[letter]
    if letter in _SIGNS:
        return f"${_SIGNS[letter]}$"
    if letter.isascii():
        return letter
    return _greek(letter) or _accented(letter) or "?"


def _greek(letter: str) -> str:
    """``$\\alpha$`` for the letter itself and for the sign of it (``µ``); empty for what is none or has none."""
    words = unicodedata.name(unicodedata.normalize("NFKC", letter), "").split()
    if words[:1] != ["GREEK"] or words[2:3] != ["LETTER"] or len(words) != 4:
        return ""
    name = words[3].lower().replace("lamda", "lambda")
    if words[1] == "CAPITAL":
        return f"$\\{name.title()}$" if name in _GREEK_CAPITALS else ""
    return "o" if name == "omicron" else f"$\\{name}$"


def _accented(letter: str) -> str:
    base, *marks = list(unicodedata.normalize("NFKD", letter))
    if not base.isascii():
        return ""
    printed = _letter(base)
    for mark in marks:
        if mark in _ACCENTS:
            printed = f"{{\\{_ACCENTS[mark]}{{{printed}}}}}"
    return printed


def bibtex_entry(
    kind: str, key: str, *, authors: Sequence[str], fields: Mapping[str, str], url: str = ""
) -> str:
    """An entry of plain texts. ``authors`` are taken whole, as bodies are; what is empty is left out."""
    values = {
        "author": " and ".join(f"{{{latex(author)}}}" for author in authors),
        # Styles of bibtex write a title in small letters where it is not in braces of its own.
        **{name: f"{{{latex(text)}}}" if name == "title" else latex(text) for name, text in fields.items()},
        "url": url,
    }
    return (
        ",\n".join([f"@{kind}{{{key}", *(f"  {name} = {{{told}}}" for name, told in values.items() if told)])
        + "\n}"
    )


def book_as_cited() -> tuple[Sequence[str], str]:
    """The authors and the address of the book, as CITATION.cff has them; the address may be named by :data:`ADDRESS`
    instead, and is empty where nobody names one. Raises ParameterError for one that is none."""
    cited = _citation_file()
    authors = [one.get("name") or f"{one['family-names']}, {one['given-names']}" for one in cited["authors"]]
    return authors, str(cited.get("url") or _named_address())


def in_book(place: str) -> str:
    """A place of the book after the book's own address; the place itself where that has none."""
    _, address = book_as_cited()
    return f"{address.rstrip('/')}/{place}" if address else place


def book_released() -> str:
    """The day of the book's release, as CITATION.cff has it: ``2026-11-21``."""
    return str(_citation_file()["date-released"])


def _named_address() -> str:
    named = os.environ.get(ADDRESS, "")
    if named and _ADDRESS.fullmatch(named) is None:
        raise ParameterError(
            f"{ADDRESS}: {cut(repr(named))} is no address of a book; allowed: one such as https://example.org/book"
        )
    return named


@cache
def _citation_file() -> Mapping[str, Any]:
    told: Mapping[str, Any] = yaml.safe_load((CHECKOUT / "CITATION.cff").read_text(encoding="utf-8"))
    return told
