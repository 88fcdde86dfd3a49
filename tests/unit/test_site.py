"""What surrounds the pages: the words that the search indexes, and the dark colours where no script runs."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from gapbook.book import build
from gapbook.book.addressed import write_addressed
from gapbook.book.first_page import write_first_page
from gapbook.book.site import add_files_of_its_own, dark_rules, searchable
from gapbook.method.stated import known_numbers
from gapbook.pages.bibtex import ADDRESS
from gapbook.pages.short_citation import place_of
from gapbook.paths import CHECKOUT

_BOOK = "https://example.org/book/"


@pytest.fixture
def without_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gapbook.pages.bibtex._citation_file", lambda: {"authors": [{"name": "A"}]})
    monkeypatch.delenv(ADDRESS, raising=False)


@pytest.fixture
def at_address(without_address: None, monkeypatch: pytest.MonkeyPatch) -> None:
    del without_address
    monkeypatch.setenv(ADDRESS, _BOOK.rstrip("/"))


def test_search_reads_cells_apart_and_neither_charts_nor_forms() -> None:
    page = (
        "<table><tr><td>001</td><td>postgres</td></tr></table><svg><text>drawn</text></svg><style>.a{}</style>"
        '<div class="gb-panel gb-rerun"><label>kills</label></div>'
    )
    assert searchable(page).split() == ["001", "postgres"]


def test_dark_rules_hold_for_a_page_without_theme_where_the_system_is_dark_and_no_others_do() -> None:
    sheet = """:root{--bg:#fff}/* html[data-theme="dark"] */
    html[data-theme="dark"] { --bg: #000; }
    @media (max-width: 9px) { p { color: red; } }
    html[data-theme=dark] .a, html[data-theme=dark] .b{color:white}"""
    assert dark_rules([sheet]) == (
        "@media (prefers-color-scheme: dark) {\n"
        "html:not([data-theme]){--bg: #000;}\n"
        "html:not([data-theme]) .a, html:not([data-theme]) .b{color:white}\n"
        "}\n"
    )


@pytest.mark.parametrize(
    ("page", "loaded"), [("notebooks/explorer", ["explorer.css", "explorer.js"]), ("notebooks/fair", [])]
)
def test_a_page_loads_the_files_that_have_its_name_and_no_other_page_does(
    page: str, loaded: list[str]
) -> None:
    found: list[str] = []
    app = SimpleNamespace(
        srcdir=CHECKOUT, add_css_file=found.append, add_js_file=lambda name, **_: found.append(name)
    )
    add_files_of_its_own(app, page, "", {}, None)
    assert found == loaded


_NUMBER = place_of(next(iter(known_numbers().numbers)))
_PAGES = ("book/words.html", _NUMBER, "notebooks/fair.html", "notebooks/front.html")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site of a few pages, one of them of a number that was withdrawn."""
    withdrawn = place_of(next(iter(known_numbers().withdrawn)))
    for page in (*_PAGES, withdrawn, "index.html", "search.html", "_static/webpack.html"):
        path = tmp_path / "site" / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("<p>a page</p>", encoding="utf-8")
    return tmp_path / "site"


@pytest.mark.usefixtures("at_address")
def test_a_site_at_an_address_lists_its_pages_and_has_one_for_addresses_without_a_page(site: Path) -> None:
    write_addressed(site)
    written = {name: (site / name).read_bytes() for name in ("sitemap.xml", "404.html")}
    listed = ElementTree.fromstring(written["sitemap.xml"])
    namespace = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
    assert listed.tag == f"{namespace}urlset"
    assert [one.text for one in listed.iterfind(f"{namespace}url/{namespace}loc")] == [
        f"{_BOOK}{page}" for page in _PAGES
    ]
    linked = re.findall(r'(?:href|src)="([^"]*)"', written["404.html"].decode("utf-8"))
    assert {f"{_BOOK}index.html", f"{_BOOK}search.html"} <= {*linked}
    for link in linked:
        assert link.startswith(_BOOK)
        place = link.removeprefix(_BOOK)
        assert (site / place).is_file() or (CHECKOUT / "book" / place).is_file(), link
    write_addressed(site)
    assert {name: (site / name).read_bytes() for name in written} == written


@pytest.mark.usefixtures("without_address")
def test_a_site_without_an_address_has_neither(site: Path) -> None:
    before = {*site.rglob("*")}
    write_addressed(site)
    assert {*site.rglob("*")} == before


@pytest.mark.usefixtures("at_address")
def test_the_renderer_is_told_the_address(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in, which writes down what it was told where the renderer writes the pages."""
    output = tmp_path / "output"
    renderer = tmp_path / "jupyter-book"
    renderer.write_text(
        f"#!/bin/sh\nmkdir -p {output}/_build && cp -r {site} {output}/_build/html\n"
        f'echo "$GAPBOOK_ADDRESS" > {output}/told\n',
        encoding="utf-8",
    )
    renderer.chmod(0o755)
    monkeypatch.setattr(build, "tool_path", lambda name: tmp_path / name)
    first = build._render(output / "source") / "index.html"
    assert (output / "told").read_text(encoding="utf-8").strip() == _BOOK.rstrip("/")
    assert f'<link rel="canonical" href="{_BOOK}notebooks/front.html">' in first.read_text(encoding="utf-8")


@pytest.mark.usefixtures("without_address")
def test_the_bare_address_forwards_to_the_first_page_and_shows_the_same_where_it_is_pasted(
    tmp_path: Path,
) -> None:
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "front.html").write_text(
        '<title>Is it &lt;fast?</title><meta name="robots" content="all" />'
        '<meta name="description" content="It is." /><meta property="og:image" content="../n/front.png" />',
        encoding="utf-8",
    )
    write_first_page(tmp_path)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    for line in (
        '<meta http-equiv="refresh" content="0; url=notebooks/front.html">',
        '<link rel="canonical" href="notebooks/front.html">',
        "<title>Is it &lt;fast?</title>",
        '<meta name="description" content="It is.">',
        '<meta property="og:image" content="n/front.png">',
        '<p><a href="notebooks/front.html">The Gap Book</a></p>',
    ):
        assert line in page.splitlines(), line
    assert "robots" not in page
