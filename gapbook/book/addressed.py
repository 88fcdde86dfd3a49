"""What a site has besides its pages once the book has an address: a list of them for search engines, and the page that
is shown at any address where there is none. Neither can do with relative links.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import jinja2

from gapbook.method.stated import known_numbers
from gapbook.pages.bibtex import in_book
from gapbook.pages.short_citation import place_of

__all__ = ["write_addressed"]

_SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
_PAGES = "[!_]*/*.html"
"""All but the first page, which only forwards, and the search."""
_TEMPLATE = Path(__file__).with_name("missing.html.jinja")


def write_addressed(site: Path) -> None:
    """Write ``sitemap.xml`` and ``404.html`` into a site; of a book without an address neither."""
    book = in_book("")
    if not book:
        return
    template = jinja2.Template(
        _TEMPLATE.read_text(encoding="utf-8"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    (site / "404.html").write_text(f"{template.render(book=book)}\n", encoding="utf-8")
    (site / "sitemap.xml").write_bytes(_sitemap(book, site))


def _sitemap(book: str, site: Path) -> bytes:
    withdrawn = {place_of(identifier) for identifier in known_numbers().withdrawn}
    listed = ElementTree.Element("urlset", xmlns=_SITEMAP)
    for page in sorted(path.relative_to(site).as_posix() for path in site.glob(_PAGES)):
        if page not in withdrawn:
            ElementTree.SubElement(ElementTree.SubElement(listed, "url"), "loc").text = f"{book}{page}"
    ElementTree.indent(listed)
    written: bytes = ElementTree.tostring(listed, encoding="utf-8", xml_declaration=True)
    return written
