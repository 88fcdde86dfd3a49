"""The renderer's SVG without what says nothing, and with what marks share said once."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["smaller"]

_TAG = re.compile(r"<[^>]*>")
_DECIMALS = re.compile(r"-?\d+\.\d{3,}")
# What Vega adds to no effect: roles of its own, empty paths of the view, values that are the default.
_NOISE = re.compile(
    r' (?:role|aria-\w+|xmlns:xlink|class)="[^"]*"'
    r'|<path class="(?:background|foreground)"[^>]*/>'
    r'| stroke-dasharray=""| opacity="1"| transform="translate\(0,0\)"| font-weight="normal"| text-anchor="start"'
)
_PATH = re.compile(r' d="((?:[ML]-?[\d.]+,-?[\d.]+){2,})"')
_STEP = re.compile(r"([ML])(-?[\d.]+),(-?[\d.]+)")
_PLACED_TEXT = re.compile(r'(<text [^>]*)transform="translate\((-?[\d.]+),(-?[\d.]+)\)"')
_GROUP = re.compile(r"(<g)(>)((?:<(?:path|rect|line)\b[^>]*/>|<text\b[^>]*>[^<]*</text>)+)(</g>)")
_MARK = re.compile(r"<(?:path|rect|line|text)\b([^>]*?)/?>")
_ATTRIBUTE = re.compile(r' ([\w-]+)="([^"]*)"')
_INHERITED = frozenset(
    {
        "fill",
        "fill-opacity",
        "font-family",
        "font-size",
        "font-weight",
        "stroke",
        "stroke-dasharray",
        "stroke-linecap",
        "stroke-linejoin",
        "stroke-opacity",
        "stroke-width",
        "text-anchor",
    }
)


def smaller(svg: str) -> str:
    """The same picture in fewer bytes, with two decimals of a pixel, which are enough, and one within paths."""
    return _GROUP.sub(_shared, _TAG.sub(_shortened, svg))


def _shortened(tag: re.Match[str]) -> str:
    told = _DECIMALS.sub(_two_decimals, _NOISE.sub("", tag.group()))
    return _PLACED_TEXT.sub(r'\1x="\2" y="\3"', _PATH.sub(_in_steps, told))


def _two_decimals(number: re.Match[str]) -> str:
    return f"{float(number.group()):.2f}".rstrip("0").rstrip(".")


def _in_steps(path: re.Match[str]) -> str:
    """A path of lines and dots, each point told from the one before: in tenths of a pixel, which do not add up."""
    steps = [(kind, _tenths(x), _tenths(y)) for kind, x, y in _STEP.findall(path[1])]
    starts, ends = steps[::2], steps[1::2]
    if len(starts) == len(ends) and all(
        (start[0], end[0]) == ("M", "L") and start[1:] == end[1:]
        for start, end in zip(starts, ends, strict=True)
    ):
        # In one path it is one whether two dots lie at one place, and in which order they come.
        dots = sorted({start[1:] for start in starts}, key=lambda dot: dot[::-1])
        steps = [step for x, y in dots for step in (("M", x, y), ("L", x, y))]
    told, before = [], (0, 0)
    for kind, x, y in steps:
        told.append(_step(kind, x - before[0], y - before[1]))
        before = x, y
    return f' d="{"".join(told)}"'


def _step(kind: str, across: int, down: int) -> str:
    if kind == "M":
        return f"m{across / 10:g},{down / 10:g}"
    if down == 0:
        return f"h{across / 10:g}"
    return f"v{down / 10:g}" if across == 0 else f"l{across / 10:g},{down / 10:g}"


def _tenths(pixels: str) -> int:
    return round(float(pixels) * 10)


def _shared(group: re.Match[str]) -> str:
    """A group of several marks that says itself what each of them says, and passes on."""
    opening, end, marks, closing = group.groups()
    each = [set(_ATTRIBUTE.findall(mark)) for mark in _MARK.findall(marks)]
    common = {(name, value) for name, value in set.intersection(*each) if name in _INHERITED}
    if len(each) == 1 or not common:
        return group.group()
    told = _attributes(common)
    kept = _MARK.sub(lambda mark: _ATTRIBUTE.sub(lambda one: _unless(one, common), mark.group()), marks)
    return f"{opening}{told}{end}{kept}{closing}"


def _attributes(values: Iterable[tuple[str, str]]) -> str:
    return "".join(f' {name}="{value}"' for name, value in sorted(values))


def _unless(attribute: re.Match[str], common: set[tuple[str, str]]) -> str:
    return "" if (attribute[1], attribute[2]) in common else attribute.group()
