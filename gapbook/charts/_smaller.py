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
_DOT = re.compile(r"M(-?[\d.]+,-?[\d.]+)L\1(?![\d.])")
_LEVEL = re.compile(r"(M-?[\d.]+,(-?[\d.]+)L-?[\d.]+),\2(?![\d.])")
_UPRIGHT = re.compile(r"(M(-?[\d.]+),-?[\d.]+)L\2,")
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
    """The same picture in fewer bytes, with two decimals of a pixel, which are enough."""
    return _GROUP.sub(_shared, _TAG.sub(_shortened, svg))


def _shortened(tag: re.Match[str]) -> str:
    told = _DECIMALS.sub(_two_decimals, _NOISE.sub("", tag.group()))
    return _UPRIGHT.sub(r"\1V", _LEVEL.sub(_across, _DOT.sub(r"M\1h0", told)))


def _two_decimals(number: re.Match[str]) -> str:
    return f"{float(number.group()):.2f}".rstrip("0").rstrip(".")


def _across(line: re.Match[str]) -> str:
    return line[1].replace("L", "H")


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
