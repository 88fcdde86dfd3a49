"""Width of text in the chart font, so that labels are placed, wrapped and checked before drawing.

Advance widths are those of Arial and of Liberation Sans, which has the same metrics and is the one font
that vl-convert carries; a stack that ends without it would draw no text at all.
"""

from __future__ import annotations

import re

__all__ = ["FONT", "hold_together", "measure", "wrap", "wrap_evenly"]

FONT = "Arial, Liberation Sans, Helvetica, sans-serif"

# Thousandths of the font size -> the characters that are as wide.
_REGULAR_ADVANCES = {
    191: "'",
    222: "ijl’‘",
    260: "|",
    278: " !,./:;I[\\]ft·\u00a0",
    333: "()-`r“”",
    334: "{}",
    355: '"',
    389: "*",
    400: "°",
    469: "^",
    500: "Jcksvxyz",
    549: "÷±≤≥≠≈",
    556: "#$0123456789?L_abdeghnopqu–§éèüöä",
    576: "βµα",
    584: "+<=>~×−",
    611: "FTZ",
    667: "&ABEKPSVXY",
    668: "Δ",
    722: "CDHNRUw",
    778: "GOQ",
    833: "Mm",
    889: "%",
    944: "W",
    1000: "—→←…",
    1015: "@",
}
_BOLD_ADVANCES = {
    238: "'",
    278: " ,./I\\ijl·’‘\u00a0",
    280: "|",
    333: "!()-:;[]`ft",
    389: "*r{}",
    400: "°",
    474: '"',
    500: "z“”",
    549: "÷±≤≥≠≈",
    556: "#$0123456789J_aceksvxy–§éèä",
    576: "µ",
    584: "+<=>^~×−",
    611: "?FLTZbdghnopquüöαβ",
    667: "EPSVXY",
    719: "Δ",
    722: "&ABCDHKNRU",
    778: "GOQw",
    833: "M",
    889: "%m",
    944: "W",
    975: "@",
    1000: "—→←…",
}


def _by_character(advances: dict[int, str]) -> dict[str, int]:
    return {character: advance for advance, characters in advances.items() for character in characters}


_REGULAR = _by_character(_REGULAR_ADVANCES)
_BOLD = _by_character(_BOLD_ADVANCES)
_UNKNOWN = 1000


def measure(text: str, size: float, *, bold: bool = False) -> float:
    """Width of one line of text in pixels; a character outside the tables counts as a full em."""
    advances = _BOLD if bold else _REGULAR
    return sum(advances.get(character, _UNKNOWN) for character in text) * size / 1000


def wrap(text: str, size: float, width: float, *, bold: bool = False) -> list[str]:
    """Lines of at most ``width`` pixels, broken at spaces; a longer single word is broken anywhere.

    A no-break space holds its words together.
    """
    lines: list[str] = []
    line = ""
    for word in filter(None, text.split(" ")):
        candidate = f"{line} {word}" if line else word
        if measure(candidate, size, bold=bold) <= width:
            line = candidate
            continue
        if line:
            lines.append(line)
        *full, line = _split_word(word, size, width, bold)
        lines.extend(full)
    return [*lines, line] if line else lines


def _split_word(word: str, size: float, width: float, bold: bool) -> list[str]:
    parts = [""]
    for character in word:
        if parts[-1] and measure(parts[-1] + character, size, bold=bold) > width:
            parts.append("")
        parts[-1] += character
    return parts


def wrap_evenly(text: str, size: float, width: float, *, bold: bool = False) -> list[str]:
    """As few lines as ``wrap`` needs, but of similar length, so that no word stands alone."""
    lines = wrap(text, size, width, bold=bold)
    for narrower in range(int(width), int(width / 2), -4):
        candidate = wrap(text, size, narrower, bold=bold)
        if len(candidate) > len(lines):
            break
        lines = candidate
    return lines


def hold_together(text: str) -> str:
    """No line break between an estimate and its interval: ``×1.72 [1.63–1.82]``."""
    return re.sub(r"(?<=\d) (?=\[\d)", "\u00a0", text)
