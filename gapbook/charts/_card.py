"""The card of a number: the picture that a link to it shows where it is pasted, 1200 by 630 pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gapbook.charts._kept import kept_png
from gapbook.charts._text import FONT, wrap, wrap_evenly
from gapbook.charts._tokens import light
from gapbook.markup import Html

__all__ = ["CARD_HEIGHT", "CARD_WIDTH", "card"]

CARD_WIDTH, CARD_HEIGHT = 1200, 630
_MARGIN = 72
_SIZES = (56, 50, 44, 38, 32)
_LEADING = 1.28
_SENTENCE_HEIGHT = 330
_SMALL = 28
_COLOURS = 4
"""Its four inks alone: with as many for the edges of letters a card is half as large again, and looks nearly the same."""


class _Line(NamedTuple):
    text: str
    y: float
    size: float
    token: str
    bold: bool = False


def card(sentence: str, value: str, conditions: str, foot: str) -> bytes:
    """The card as PNG: the sentence as large as it fits, the value with its interval, one line of conditions, and where
    it comes from."""
    inner = CARD_WIDTH - 2 * _MARGIN
    size, lines = next(
        (size, lines)
        for size in _SIZES
        if len(lines := wrap_evenly(sentence, size, inner, bold=True)) * size * _LEADING <= _SENTENCE_HEIGHT
        or size == _SIZES[-1]
    )
    drawn = [
        _Line(line, _MARGIN + size * (0.8 + _LEADING * place), size, "ink", bold=True)
        for place, line in enumerate(lines)
    ]
    drawn.append(_Line(value, 455, 40, "spacetimedb", bold=True))
    told = wrap(conditions, _SMALL, inner)[:2]
    drawn += [_Line(line, 505 + 36 * place, _SMALL, "muted") for place, line in enumerate(told)]
    drawn.append(_Line(foot, CARD_HEIGHT - 36, _SMALL, "muted"))
    return kept_png(_svg(drawn), colours=_COLOURS)


def _svg(lines: Sequence[_Line]) -> str:
    text = Html('<text x="{}" y="{}" font-size="{}" font-family="{}" font-weight="{}" fill="{}">{}</text>')
    texts = Html("").join(
        text.format(
            _MARGIN,
            f"{one.y:g}",
            f"{one.size:g}",
            FONT,
            "bold" if one.bold else "normal",
            light(one.token),
            one.text,
        )
        for one in lines
    )
    return (
        Html(
            '<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}">'
            '<rect width="{0}" height="{1}" fill="{2}"/><rect width="24" height="{1}" fill="{3}"/>{4}</svg>'
        )
        .format(CARD_WIDTH, CARD_HEIGHT, light("bg"), light("spacetimedb"), texts)
        .html
    )
