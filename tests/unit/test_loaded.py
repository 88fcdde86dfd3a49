"""What a page loads: a theme without rules that nothing matches, as one sheet, and scripts that wait."""

from __future__ import annotations

from pathlib import Path

from gapbook.book.loaded import ClassNames, lighten, loads_less, pruned

_NAMES = ClassNames.of(['<p class="lead on">badge</p>'], ['show("collapsed"); prefix = "bs-tooltip"'])


def test_a_rule_that_no_class_of_the_book_matches_is_left_out_and_no_other() -> None:
    sheet = """@charset "UTF-8"; @import "other.css"; /*! a licence */ /* no licence */
    .lead,.badge{color:red} p.on:not(.badge) > a{color:blue} .lead.badge{color:green} .collapsed{top:0}
    .bs-tooltip-top{top:1px} #id[data-x=".badge"]{top:2px} :is(.badge,.lead) b{top:3px}
    @font-face{font-family:f;src:url(f.woff2)} @media print{.badge{top:4px}} @media print{.on{top:5px}}"""
    assert pruned(sheet, _NAMES).splitlines() == [
        "/*! a licence */",
        ".lead{color:red}",
        "p.on:not(.badge) > a{color:blue}",
        ".collapsed{top:0}",
        ".bs-tooltip-top{top:1px}",
        '#id[data-x=".badge"]{top:2px}',
        ":is(.badge,.lead) b{top:3px}",
        "@media print{",
        ".on{top:5px}",
        "}",
    ]


def test_a_page_loads_one_sheet_for_the_theme_in_its_place_and_its_own_as_before() -> None:
    page = """<link href="../_static/styles/theme.css" rel="stylesheet" />
<link href="../_static/styles/pydata-sphinx-theme.css" rel="stylesheet" />
<noscript><link href="../_static/styles/dark-without-scripts.css" rel="stylesheet" /></noscript>
<link rel="stylesheet" type="text/css" href="../_static/mystnb.1f.css?v=1" />
<link rel="stylesheet" type="text/css" href="../_static/gapbook.css?v=2" />
<link rel="preload" as="script" href="../_static/scripts/theme.js" />
<script src="../_static/documentation_options.js?v=3"></script>
<script src="../_static/scripts/theme.js?v=4"></script>
<script defer="defer" src="../_static/explorer.js"></script>
"""
    assert loads_less(page, "styles/theme.css?v=5").splitlines() == [
        '<link href="../_static/styles/theme.css?v=5" rel="stylesheet" />',
        '<noscript><link href="../_static/styles/dark-without-scripts.css" rel="stylesheet" /></noscript>',
        '<link rel="stylesheet" type="text/css" href="../_static/gapbook.css?v=2" />',
        '<script src="../_static/documentation_options.js?v=3"></script>',
        '<script defer src="../_static/scripts/theme.js?v=4"></script>',
        '<script defer="defer" src="../_static/explorer.js"></script>',
    ]


def test_a_site_is_rewritten_but_for_scripts_that_need_each_other_at_once(tmp_path: Path) -> None:
    static = tmp_path / "_static"
    (static / "styles").mkdir(parents=True)
    page = '<link href="_static/styles/theme.css" rel="stylesheet"><script src="_static/a.js"></script><p class="on">'
    for name, text in {
        "index.html": page,
        "search.html": page,
        "_static/a.js": "",
        "_static/basic.css": ".on{background:url(file.png)} .off{top:0}",
        "_static/styles/pydata-sphinx-theme.css": ".on{background:url(../font.woff2)}",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    lighten(tmp_path, undeferred={"search.html"})
    theme = (static / "styles" / "theme.css").read_text(encoding="utf-8")
    assert theme.splitlines() == [
        '@charset "UTF-8";',
        ".on{background:url(../file.png)}",
        ".on{background:url(../font.woff2)}",
    ]
    index, search = ((tmp_path / name).read_text(encoding="utf-8") for name in ("index.html", "search.html"))
    assert index == search.replace("<script src", "<script defer src")
    assert search.startswith('<link href="_static/styles/theme.css?v=')
    assert not (static / "basic.css").exists()
