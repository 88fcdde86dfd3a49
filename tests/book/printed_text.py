"""The text that Chromium draws on the pages of a PDF, without what it draws in layers: a layer may be invisible."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping

__all__ = ["printed_text"]

_OBJECT = re.compile(rb"^(\d+) 0 obj\n(.*?)\nendobj$", re.MULTILINE | re.DOTALL)
_CONTENTS = re.compile(rb"<</Type /Page\n.*?/Contents (\d+) 0 R", re.DOTALL)
_FONT = re.compile(rb"<</Type /Font\n.*?/ToUnicode (\d+) 0 R", re.DOTALL)
_DRAWN = re.compile(rb"/F(\d+) [\d.]+ Tf|<([0-9A-F]+)> Tj")
_LETTERS = re.compile(r"beginbfchar\n(.*?)endbfchar", re.DOTALL)
_RANGES = re.compile(r"beginbfrange\n(.*?)endbfrange", re.DOTALL)
_HEX = re.compile(r"<(\w+)>")
_GLYPH_DIGITS = 4


def printed_text(pdf: bytes) -> str:
    """All pages in their order, lines joined without a space."""
    objects = {int(number): content for number, content in _OBJECT.findall(pdf)}
    fonts = {
        number: dict(_glyphs(_stream(objects[int(font[1])]).decode("ascii")))
        for number, content in objects.items()
        if (font := _FONT.match(content))
    }
    pages = [page for content in objects.values() if (page := _CONTENTS.match(content))]
    return "".join(_drawn(_stream(objects[int(page[1])]), fonts) for page in pages)


def _stream(content: bytes) -> bytes:
    head, _, data = content.partition(b"stream\n")
    data = data.removesuffix(b"\nendstream")
    return zlib.decompress(data) if b"/FlateDecode" in head else data


def _drawn(page: bytes, fonts: Mapping[int, Mapping[str, str]]) -> str:
    found, glyphs = [], next(iter(fonts.values()))
    for font, drawn in _DRAWN.findall(page):
        if font:
            glyphs = fonts[int(font)]
        codes = drawn.decode("ascii")
        found += [
            glyphs[codes[place : place + _GLYPH_DIGITS]] for place in range(0, len(codes), _GLYPH_DIGITS)
        ]
    return "".join(found)


def _glyphs(mapping: str) -> Iterator[tuple[str, str]]:
    """What each glyph of a font stands for, from its table ToUnicode."""
    for part in _LETTERS.findall(mapping):
        glyphs = _HEX.findall(part)
        yield from ((glyph, _letters(text)) for glyph, text in zip(glyphs[::2], glyphs[1::2], strict=True))
    for part in _RANGES.findall(mapping):
        ends = _HEX.findall(part)
        for first, last, text in zip(ends[::3], ends[1::3], ends[2::3], strict=True):
            for step in range(int(last, 16) - int(first, 16) + 1):
                yield f"{int(first, 16) + step:04X}", _letters(f"{int(text, 16) + step:04X}")


def _letters(digits: str) -> str:
    return bytes.fromhex(digits).decode("utf-16-be")
