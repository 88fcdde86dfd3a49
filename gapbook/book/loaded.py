"""What a page loads, made small: the theme's style sheets as one, without rules that nothing in the book can match and
without its fonts, for the book draws its icons itself; and scripts that do not hold up the first paint.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tinycss2

__all__ = ["ClassNames", "lighten", "loads_less", "pruned"]

_THEME = "styles/theme.css"
_SHEETS = (
    "basic.css",
    "styles/pydata-sphinx-theme.css",
    "pygments.css",
    "styles/sphinx-book-theme.css",
    "copybutton.css",
    "mystnb.*.css",
)
"""The sheets that each page loads before the book's own, in the order of their rules."""
_SYNCHRONOUS = ("documentation_options.js",)
"""Scripts whose names an inline script of the page uses at once."""
_CLASSES = re.compile(r'class="([^"]*)"')
_IN_SCRIPTS = re.compile(r"[A-Za-z][\w-]*")
_LEFT_OUT = frozenset({"charset", "import", "font-face"})
_NESTING = frozenset({"media", "supports", "layer", "container"})
_LOCAL_URL = re.compile(r"url\(\s*([\"']?)(?!data:|https?:|/)([^\"')]+)\1\s*\)")
_LINK = re.compile(r'(<link\b[^>]*\bhref="(?:\.\./)*_static/)([\w./-]+\.css)(?:\?[^"]*)?("[^>]*>\s*)')
_PRELOAD = re.compile(r'<link rel="preload" as="script"[^>]*>\s*')
_SCRIPT = re.compile(r'(<script )(src="[^"]*_static/(?:[\w-]+/)*([\w.-]+\.js)[^"]*">)')


@dataclass(frozen=True)
class ClassNames:
    """The names of classes that a page has, or that a script may give it."""

    known: Collection[str]
    begun: tuple[str, ...] = ()
    """How a name begins that a script makes of parts."""

    def has(self, name: str) -> bool:
        return name in self.known or name.startswith(self.begun)

    @classmethod
    def of(cls, pages: Iterable[str], scripts: Iterable[str]) -> ClassNames:
        """Of the markup of pages and the source of scripts, in which any word may be one."""
        said = {word for script in scripts for word in _IN_SCRIPTS.findall(script)}
        shown = {name for page in pages for names in _CLASSES.findall(page) for name in names.split()}
        return cls(said | shown, tuple(sorted(f"{word}-" for word in said if "-" in word.strip("-"))))


def pruned(sheet: str, names: ClassNames) -> str:
    """A style sheet without fonts, and without selectors that need a class which no page has. Licences stay."""
    return _written(tinycss2.parse_stylesheet(sheet, skip_whitespace=True), names)


def _written(rules: Sequence[Any], names: ClassNames) -> str:
    written = []
    for rule in rules:
        if rule.type == "qualified-rule":
            if kept := [part for part in _parts(rule.prelude) if all(map(names.has, _classes_of(part)))]:
                selectors = ",".join(tinycss2.serialize(part).strip() for part in kept)
                written.append(f"{selectors}{{{tinycss2.serialize(rule.content).strip()}}}")
        elif rule.type == "at-rule" and rule.lower_at_keyword in _NESTING and rule.content is not None:
            if inner := _written(
                tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True), names
            ):
                written.append(f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{\n{inner}\n}}")
        elif rule.type == "at-rule" and rule.lower_at_keyword not in _LEFT_OUT:
            written.append(tinycss2.serialize([rule]).strip())
        elif rule.type == "comment" and rule.value.startswith("!"):
            written.append(f"/*{rule.value}*/")
    return "\n".join(written)


def _parts(prelude: Sequence[Any]) -> list[list[Any]]:
    """The selectors of a list; commas within ``:is(…)`` and the like part none."""
    parts: list[list[Any]] = [[]]
    for token in prelude:
        if token.type == "literal" and token.value == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _classes_of(selector: Sequence[Any]) -> list[str]:
    """The classes that a selector needs; those within ``:not(…)`` and the like it may not need."""
    following = itertools.pairwise(selector)
    return [
        name.value
        for dot, name in following
        if dot.type == "literal" and dot.value == "." and name.type == "ident"
    ]


def loads_less(markup: str, theme: str, *, defers: bool = True) -> str:
    """A page whose theme is one style sheet, which ``theme`` names with its version, and whose scripts wait for it if it
    ``defers`` them."""

    def one_sheet(link: re.Match[str]) -> str:
        if link[2] == _THEME:
            return f"{link[1]}{theme}{link[3]}"
        return (
            ""
            if any(Path(link[2]).match(sheet) for sheet in _SHEETS) and "stylesheet" in link[0]
            else link[0]
        )

    def deferred(script: re.Match[str]) -> str:
        return script[0] if script[3] in _SYNCHRONOUS else f"{script[1]}defer {script[2]}"

    lighter = _PRELOAD.sub("", _LINK.sub(one_sheet, markup))
    return _SCRIPT.sub(deferred, lighter) if defers else lighter


def lighten(site: Path, *, undeferred: Collection[str] = ()) -> None:
    """Rewrite what a built site loads; on pages that are ``undeferred`` scripts need each other at once. The sheets that
    are in the theme's now are no more."""
    static = site / "_static"
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(site.rglob("*.html"))}
    scripts = [path.read_text(encoding="utf-8") for path in sorted(static.rglob("*.js"))]
    names = ClassNames.of(pages.values(), scripts)
    sheets = [path for sheet in _SHEETS for path in sorted(static.glob(sheet))]
    theme = "\n".join(
        _moved(path, static, pruned(path.read_text(encoding="utf-8"), names)) for path in sheets
    )
    (static / _THEME).write_text(f'@charset "UTF-8";\n{theme}\n', encoding="utf-8")
    versioned = f"{_THEME}?v={hashlib.sha256(theme.encode()).hexdigest()[:8]}"
    for path in sheets:
        path.unlink()
    for path, markup in pages.items():
        defers = path.relative_to(site).as_posix() not in undeferred
        path.write_text(loads_less(markup, versioned, defers=defers), encoding="utf-8")


def _moved(path: Path, static: Path, sheet: str) -> str:
    """A sheet for the folder of the theme's: what it names beside itself is named from there."""
    if path.parent != static:
        return sheet
    return _LOCAL_URL.sub(lambda found: f"url({found[1]}../{found[2]}{found[1]})", sheet)
