"""An extension of Sphinx for what surrounds the pages: little to load, a search that reads what a reader reads, dark
colours where no script runs, and what a link to a page shows where it is pasted.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.builders.html import StandaloneHTMLBuilder

from gapbook.book.document_pages import REGISTER_PAGE, titles_of_documents
from gapbook.book.loaded import lighten
from gapbook.deploy.limits import allowed_processors
from gapbook.method.stated import known_numbers
from gapbook.pages.bibtex import book_as_cited, book_released, in_book

__all__ = ["Builder", "add_files_of_its_own", "dark_rules", "searchable", "setup"]

_UNUSED = (
    "locales",
    "sbt-webpack-macros.html",
    "scripts/*.map",
    "scripts/fontawesome*",
    "styles/*.map",
    "vendor",
    "webpack-macros.html",
)
"""Files of the theme that no page asks for."""
_DARK = "styles/dark-without-scripts.css"
_DARK_SOURCES = ("styles/pydata-sphinx-theme.css", "styles/sphinx-book-theme.css", "gapbook.css")
_IS_DARK = re.compile(r"html\[data-theme=[\"']?dark[\"']?\]")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_RULE = re.compile(r"(?<=[{};])\s*([^{}@;]+)\{([^{}]*)\}")
# Forms and charts: what they say stands in text too, and they stand on every page.
_NOT_SEARCHED = re.compile(
    r"<(svg|style|script|select)\b.*?</\1>|<div[^>]*\bgb-(?:rerun|cite)\b.*", re.DOTALL | re.IGNORECASE
)
_TAGS = re.compile(r"<[^<]+?>")
_SENTENCE = re.compile(r'<p class="gb-sentence">(.*?)</p>', re.DOTALL)
_FOLD = re.compile(r'(<summary) aria-label="Toggle hidden content"(>)')
_PARAGRAPH = re.compile(r'<p(?: class="gb-answer")?>(.{60,}?)</p>', re.DOTALL)
_NUMBER_PAGE = re.compile(r'href="\.\./(n/[\w.-]+)\.html"')


class Builder(StandaloneHTMLBuilder):
    """The builder of the book's pages."""

    def prepare_writing(self, docnames: set[str]) -> None:
        """Words of one page are words of the others: each is brought to its stem once for all of them."""
        super().prepare_writing(docnames)
        if self.indexer is not None:
            self.indexer.lang.stem = cache(self.indexer.lang.stem)  # type: ignore[method-assign]

    def index_page(self, pagename: str, doctree: nodes.document, title: str) -> None:
        """Index a page by its text: what its chapters show as HTML is text here, cell by cell."""
        read = doctree.deepcopy()
        for raw in list(read.findall(nodes.raw)):
            raw.parent.replace(raw, nodes.Text(searchable(raw.astext())))
        super().index_page(pagename, read, title)


def searchable(markup: str) -> str:
    """The words of some HTML, with a space where a tag was, without charts and forms."""
    return _TAGS.sub(" ", _NOT_SEARCHED.sub(" ", markup))


def dark_rules(style_sheets: Iterable[str]) -> str:
    """The rules of style sheets for the dark theme, for a page without scripts, which has no theme of its own: there
    the system's choice decides."""
    found = [
        f"{_IS_DARK.sub('html:not([data-theme])', selector.strip())}{{{body.strip()}}}"
        for style_sheet in style_sheets
        for selector, body in _RULE.findall(f";{_COMMENT.sub('', style_sheet)}")
        if _IS_DARK.search(selector)
    ]
    return "@media (prefers-color-scheme: dark) {\n" + "\n".join(found) + "\n}\n"


def _with_names_in_use(_app: Any, _page: str, _template: str, context: dict[str, Any], _tree: Any) -> None:
    """A reference of the bibliography is an item of its list: the role that the renderer gives it is deprecated. A fold
    is called what it shows."""
    if "body" in context:
        body = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')
        context["body"] = _FOLD.sub(r"\1\2", body)


def add_files_of_its_own(app: Any, page: str, _template: str, _context: dict[str, Any], _tree: Any) -> None:
    """A page loads the script and the style sheet that have its name, where there are such; no other page does, but that
    documents look as the register does."""
    name = Path(page).name
    static = Path(app.srcdir) / "book" / "_static"
    style = REGISTER_PAGE if name in titles_of_documents() else name
    if (static / f"{style}.css").is_file():
        app.add_css_file(f"{style}.css")
    if (static / f"{name}.js").is_file():
        app.add_js_file(f"{name}.js", loading_method="defer")


def _with_metadata(_app: Any, page: str, _template: str, context: dict[str, Any], _tree: Any) -> None:
    """Title, sentence and card of a page for whoever links it, and what a reference manager reads (Highwire), for the
    template ``layout.html`` to write."""
    body = context.get("body", "")
    authors, _ = book_as_cited()
    title, book = context.get("title", ""), in_book("")
    told = [
        ("name", "citation_title", title),
        *(("name", "citation_author", author) for author in authors),
        ("name", "citation_publication_date", _dated(Path(page).name).replace("-", "/")),
        ("property", "og:site_name", "The Gap Book"),
        ("property", "og:type", "article"),
        ("property", "og:title", title),
    ]
    if sentence := _SENTENCE.search(body) or _PARAGRAPH.search(body):
        told += [("name", "description", sentence[1]), ("property", "og:description", sentence[1])]
    if number := _NUMBER_PAGE.search(body):
        told.append(("property", "og:image", f"{book or '../' * page.count('/')}{number[1]}.png"))
    if book:
        told.append(("property", "og:url", f"{book}{page}.html"))
    context["gapbook_metadata"] = told


@cache
def _dated(page: str) -> str:
    """The day of the run that a page's numbers are of; of a page without numbers, that of the book."""
    of_page = (one.date for one in known_numbers().numbers.values() if one.page == page)
    return max(of_page, default=book_released())


def _at_its_address(_app: Any, config: Any) -> None:
    """Pages name their own address where the book has one."""
    _, config.html_baseurl = book_as_cited()


def _write_side_by_side(app: Any, _environment: Any) -> None:
    """Let pages be written by as many processes as there are processors. Before this they are read one after the other,
    for an extension of the renderer's does not say that it may be otherwise."""
    app.parallel = len(allowed_processors())


def _finish(app: Any, failure: Exception | None) -> None:
    if failure is not None:
        return
    static = Path(app.outdir) / "_static"
    sheets = [(static / name).read_text(encoding="utf-8") for name in _DARK_SOURCES]
    (static / _DARK).write_text(dark_rules(sheets), encoding="utf-8")
    lighten(Path(app.outdir), undeferred={"search.html"})
    for pattern in _UNUSED:
        for path in sorted(static.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_builder(Builder, override=True)
    app.connect("config-inited", _at_its_address)
    app.connect("env-updated", _write_side_by_side)
    app.connect("html-page-context", _with_names_in_use)
    app.connect("html-page-context", add_files_of_its_own)
    app.connect("html-page-context", _with_metadata)
    # Last of all: the theme writes a sheet when all else is done.
    app.connect("build-finished", _finish, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
