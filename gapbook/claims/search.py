"""How words find a claim, on its page as on the command line: ``70 x``, ``70×`` and ``x70`` are the same, as are
``1,024`` and ``1024``; case and order do not matter.

``book/_static/claims.js`` does the same in a browser; a test holds both against each other.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TypeVar

__all__ = ["WEIGHTS", "found", "score", "slug", "tokens"]

Key = TypeVar("Key")

WEIGHTS = (8, 4, 2, 1)
"""What a word counts that stands in the published number, in the claim, in its source and systems, or anywhere else."""
_STOP_WORDS = frozenset(
    {
        *(
            "a",
            "an",
            "and",
            "are",
            "as",
            "at",
            "by",
            "does",
            "faster",
            "for",
            "from",
            "in",
            "is",
            "it",
            "more",
            "of",
        ),
        *("on", "or", "really", "slower", "than", "the", "to", "versus", "vs", "with"),
    }
)
_REWRITTEN = (
    (re.compile(r"(\d)[,'’\u00a0\u2009\u202f](?=\d{3}(?!\d))"), r"\1"),
    (re.compile(r"[×✕]"), "x"),
    (re.compile(r"α"), "alpha"),
    (re.compile(r"(^|[^a-z0-9.])x ?(\d+(?:\.\d+)*)"), r"\1\2x "),
    (re.compile(r"(\d) ?(?:x|times|-?fold)(?![a-z0-9])"), r"\1x "),
    (re.compile(r"(\d) (%|[kmg]i?b|ms|s)(?![a-z0-9])"), r"\1\2"),
)
_TOKEN = re.compile(r"\d+(?:\.\d+)*[a-z%/]*|[^\W\d_][^\W_]*")
_TYPED_THOUSANDS = re.compile(r"(^|[^\d.])(\d{1,3}(?: \d{3})+)(?!\d)")


@cache
def tokens(text: str) -> Sequence[str]:
    """The words and numbers of a text: ``almost ×70`` is ``almost``, ``70x``."""
    for pattern, written in _REWRITTEN[:1]:
        text = pattern.sub(written, text)
    text = unicodedata.normalize("NFKC", text).lower()
    for pattern, written in _REWRITTEN[1:]:
        text = pattern.sub(written, text)
    return tuple(_TOKEN.findall(text))


def _asked(words: str) -> Sequence[str]:
    """What somebody typed, without the words that say nothing of a claim, unless there are no others."""
    typed = tokens(_TYPED_THOUSANDS.sub(lambda one: one[1] + one[2].replace(" ", ""), words))
    return [one for one in typed if one not in _STOP_WORDS] or typed


def _is_meant(asked: str, token: str) -> bool:
    """Whether a word begins so; a number is meant whole, with any unit: ``316`` is in ``316x``, not in ``3160``."""
    if not token.startswith(asked):
        return False
    following = token[len(asked) : len(asked) + 1]
    return not asked[0].isdigit() or not (following.isdigit() or following == ".")


def score(words: str, fields: Sequence[str]) -> int:
    """How well the words are found in the fields of a claim, which :data:`WEIGHTS` are of; 0 where one of them is
    nowhere, 1 where there are none."""
    kept = [tokens(field) for field in fields]
    total = 0
    for asked in _asked(words):
        best = max(
            (
                weight
                for weight, held in zip(WEIGHTS, kept, strict=True)
                if any(_is_meant(asked, one) for one in held)
            ),
            default=0,
        )
        if not best:
            return 0
        total += best
    return total or 1


def found(words: str, fields: Mapping[Key, Sequence[str]]) -> Iterable[Key]:
    """The claims in which all the words are, best first, and else in the order in which they are given."""
    scores = {key: score(words, texts) for key, texts in fields.items()}
    return sorted((key for key in scores if scores[key]), key=lambda key: -scores[key])


def slug(label: str) -> str:
    """``pr-4432`` of ``PR #4432``: how an address writes a choice."""
    return re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")
