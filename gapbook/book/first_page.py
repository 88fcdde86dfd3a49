"""The bare address of the book: it forwards to the first page, and shows the same where it is pasted."""

from __future__ import annotations

import re
from pathlib import Path

import jinja2

from gapbook.markup import unescaped
from gapbook.pages.bibtex import in_book

__all__ = ["write_first_page"]

_FIRST = "notebooks/front.html"
_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)
_META = re.compile(r'<meta (name|property)="(description|og:[^"]*)" content="([^"]*)"')
_TEMPLATE = Path(__file__).with_name("first_page.html.jinja")


def write_first_page(site: Path) -> None:
    """Write ``index.html``, which leads to the first page with or without scripts, and has its title, sentence and card."""
    first = (site / _FIRST).read_text(encoding="utf-8")
    template = jinja2.Template(
        _TEMPLATE.read_text(encoding="utf-8"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    shown = template.render(
        page=_FIRST,
        canonical=in_book(_FIRST),
        titles=[unescaped(title).strip() for title in _TITLE.findall(first)[:1]],
        # What stands beside the page is named from the folder of the page.
        told=[
            (kind, name, unescaped(content).removeprefix("../"))
            for kind, name, content in _META.findall(first)
        ],
    )
    (site / "index.html").write_text(f"{shown}\n", encoding="utf-8")
