"""What surrounds the pages: the words that the search indexes, and the dark colours where no script runs."""

from __future__ import annotations

from gapbook.book.site import dark_rules, searchable


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
