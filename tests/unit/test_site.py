"""What surrounds the pages: the words that the search indexes, and the dark colours where no script runs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from gapbook.book.first_page import write_first_page
from gapbook.book.site import add_files_of_its_own, dark_rules, searchable
from gapbook.paths import CHECKOUT


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
        "<title>Is it &lt;fast?</title>",
        '<meta name="description" content="It is.">',
        '<meta property="og:image" content="n/front.png">',
        '<p><a href="notebooks/front.html">The Gap Book</a></p>',
    ):
        assert line in page.splitlines(), line
    assert "robots" not in page
