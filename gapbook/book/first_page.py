"""The bare address of the book: it forwards to the first page, and shows the same where it is pasted."""

from __future__ import annotations

import re
from pathlib import Path

import jinja2
from markupsafe import Markup

__all__ = ["write_first_page"]

_FIRST = "notebooks/front.html"
_TOLD = re.compile(r'<title>.*?</title>|<meta (?:name="description"|property="og:)[^>]*>', re.DOTALL)
_TEMPLATE = Path(__file__).with_name("first_page.html.jinja")


def write_first_page(site: Path) -> None:
    """Write ``index.html``, which leads to the first page with or without scripts, and has its title, sentence and card."""
    told = _TOLD.findall((site / _FIRST).read_text(encoding="utf-8"))
    template = jinja2.Template(_TEMPLATE.read_text(encoding="utf-8"), autoescape=True)
    # What stands beside the page is named from the folder of the page.
    head = Markup("\n".join(told).replace('content="../', 'content="'))
    (site / "index.html").write_text(template.render(page=_FIRST, head=head) + "\n", encoding="utf-8")
