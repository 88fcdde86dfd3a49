"""Prose holds no typed results: a figure comes from a run or from the register of claims, or not at all.

Digits are refused wherever they stand; words for numbers where they state a result: a multiple or a part
(*twice*, *a seventh*), a round count (*dozens*), or a quantity with its unit (*three seconds*). Ordinary
counting (*two systems*), a heading that asks a question, and the first or second half of something are not.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import fields
from pathlib import Path

import jupytext

from gapbook.claims.rules import VERDICT_BAND_FRAC
from gapbook.errors import GapbookError
from gapbook.method.student import CONFIDENCE
from gapbook.method.warmth import RISE_FRAC
from gapbook.record.gates import LIMITS
from gapbook.record.labels import CEILING_FRAC, CORE_FRAC

__all__ = ["printed_limits", "require_no_typed_numbers"]

_ALLOWED = re.compile(
    r"```.*?```"  # code blocks
    r"|\{[a-z:_-]+\}`[^`]*`"  # roles: glue, cite, ref
    r"|`[^`]*`"  # code spans
    r"|\]\([^)]*\)"  # link targets
    r"|^\([a-z0-9-]+\)=$"  # targets
    r"|^#[^\n]*\?$"  # headings that ask
    r"|\b(?:first|second) half\b"
    r"|^\d+\. "  # items of a list
    r"|<!--.*?-->",
    re.DOTALL | re.MULTILINE,
)
_DIGITS = r"(?<![\w#-])[+−-]?\d[\d,.]*"
_COUNTED = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen"
    "|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
)
_UNITS = "times|fold|percent|%|seconds?|minutes?|hours?|milliseconds?|microseconds?|ms|s|cores?|bytes?"
_PARTS = "half|halves|thirds?|quarters?|fifths?|sixths?|sevenths?|eighths?|ninths?|tenths?"
_ROUND = "dozens?|hundreds?|thousands?|millions?|billions?"
# The ordinals among the parts are ordinary words but for an article or a number before them.
_WORDS = (
    rf"\b(?:(?:a|{_COUNTED})[ -](?:{_PARTS})|half|twice|thrice|{_ROUND}"
    rf"|(?:{_COUNTED})[ -]?(?:{_UNITS})|(?:{_COUNTED})fold)\b"
)
_RESULT = re.compile(rf"{_DIGITS}|{_WORDS}", re.IGNORECASE)


def require_no_typed_numbers(page: Path, allowed: Collection[str] = ()) -> None:
    """Raise GapbookError naming the place and the number when prose holds a figure that no run produced.

    ``allowed`` are figures that the page may state all the same: limits that code gives, as printed.
    """
    for position, cell in enumerate(jupytext.read(page).cells, start=1):
        if cell.cell_type == "markdown":
            for found in _RESULT.finditer(_ALLOWED.sub("", cell.source)):
                if found[0].rstrip(".,") not in allowed:
                    raise GapbookError(
                        f"{page.name}: cell {position} has the typed number {found[0]!r}; "
                        "glue it from a run or from book/claims.toml"
                    )


def printed_limits() -> frozenset[str]:
    """The limits of gates and readings as a page prints them: fractions in percent too."""
    values = [float(getattr(LIMITS, field.name)) for field in fields(LIMITS)]
    values += [VERDICT_BAND_FRAC, RISE_FRAC, CEILING_FRAC, CORE_FRAC, CONFIDENCE]
    return frozenset(f"{part:g}" for value in values for part in (value, 100 * value))
