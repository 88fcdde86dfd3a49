"""No text becomes HTML unescaped: HTML is a type of its own, made of literals, wherever pages and charts are made."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gapbook.charts._drawn import drawn
from gapbook.markup import Html, link
from gapbook.paths import CHECKOUT

_MADE_IN = ("markup.py", "chapter.py", "pages", "charts", "book")
_MODULES = sorted(
    path
    for place in _MADE_IN
    for path in (
        [CHECKOUT / "gapbook" / place]
        if place.endswith(".py")
        else (CHECKOUT / "gapbook" / place).rglob("*.py")
    )
)
_MARKUP = re.compile(r"</?[a-zA-Z{]|<!-|<$|</$|&#?\w+;")
_ESCAPES = re.compile(r"markupsafe|import html\b")
_SVG_OF_THE_RENDERER = ("_drawn.py", "Html(svg)")
"""The one place where HTML is made of what is no literal: it is parsed there, and what no chart has is refused."""


def _parents(tree: ast.AST) -> dict[ast.AST, ast.AST]:
    return {child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)}


def _is_call_of(node: ast.AST | None, *names: str) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) in names


def _wrong(source: str, name: str = "module.py") -> Iterator[str]:
    """What of a module makes HTML of anything but a literal, line by line."""
    tree = ast.parse(source)
    parents = _parents(tree)
    docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        parent = parents.get(node)
        at = f"{name}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
            if _MARKUP.search(node.value) and not _is_call_of(parent, "Html", "re.compile"):
                yield f"{at}: markup in a text that is no Html literal: {node.value!r:.60}"
            if _is_call_of(parent, "Html"):
                yield from (f"{at}: {why}" for why in _wrong_template(node.value))
        elif isinstance(node, ast.Call) and _is_call_of(node, "Html"):
            told = ast.unparse(node)
            literal = len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and not node.keywords
            if not literal and (name, told) != _SVG_OF_THE_RENDERER:
                yield f"{at}: Html of what is no literal: {told:.60}"
        elif isinstance(node, ast.Name) and node.id == "Html" and not _is_harmless(node, parents):
            yield f"{at}: Html under another name"
        elif isinstance(node, ast.Import | ast.ImportFrom):
            escapes = name != "markup.py" and _ESCAPES.search(ast.unparse(node))
            yield from [f"{at}: escapes by itself: use gapbook.markup"] if escapes else []


def _is_harmless(node: ast.Name, parents: dict[ast.AST, ast.AST]) -> bool:
    """Called, asked to escape, or a type."""
    parent = parents[node]
    if isinstance(parent, ast.Tuple):
        return isinstance(parents[parent], ast.Subscript)
    if isinstance(parent, ast.Call):
        return parent.func is node or _is_call_of(parent, "isinstance")
    return not isinstance(parent, ast.Assign | ast.Starred | ast.List | ast.Dict | ast.keyword)


def _wrong_template(template: str) -> Iterator[str]:
    """Places in which escaping is not enough: outside quotes, or where a text is an address, a style or a script."""
    if re.search(r"<(?:script|style|iframe|object|embed|base|meta)\b|\son\w+=|<!--", template, re.IGNORECASE):
        yield f"markup that can run or lead elsewhere: {template!r:.60}"
    if re.search(r"=\{|='", template):
        yield f"an attribute without double quotes: {template!r:.60}"
    if re.search(r'style="[^"]*\{', template):
        yield f"a text in a style: {template!r:.60}"
    if re.search(r'(?:href|src|action|xlink:href)="\{', template) and "<a{} href=" not in template:
        yield f"an address that is not checked, use gapbook.markup.link: {template!r:.60}"


@pytest.mark.parametrize("path", _MODULES, ids=lambda path: str(path.relative_to(CHECKOUT / "gapbook")))
def test_html_is_made_of_literals(path: Path) -> None:
    assert list(_wrong(path.read_text(encoding="utf-8"), path.name)) == []


@pytest.mark.parametrize(
    "source",
    [
        'f"<p>{text}</p>"',
        'f"<{tag}>"',
        '"<p>%s</p>" % text',
        '"<p>" + text',
        '"<p>{}</p>".format(text)',
        '"".join(["<li>", text])',
        "Html(text)",
        'Html(f"{text}")',
        'Html("<p>" + text)',
        'Html("".join(parts))',
        "Html(*parts)",
        "map(Html, parts)",
        "make = Html",
        "from markupsafe import Markup",
        "import html",
        'Html("<p class={}>")',
        """Html("<p class='{}'>")""",
        """Html('<p style="color: {}">')""",
        """Html('<a href="{}">')""",
        """Html('<p onclick="{}">')""",
        """Html("<script>{}</script>")""",
    ],
)
def test_what_would_let_a_text_through_is_found(source: str) -> None:
    assert list(_wrong(source))


@pytest.mark.parametrize(
    "source", ['Html("<p>{}</p>").format(text)', 'Html("").join(x)', "x: str | Html", "isinstance(x, Html)"]
)
def test_what_escapes_is_let_be(source: str) -> None:
    assert list(_wrong(source)) == []


_TEXT = "<script>\"'&"
_ESCAPED = "&lt;script&gt;&quot;'&amp;"


def test_every_way_to_put_a_text_into_html_escapes_it() -> None:
    start = Html("<p>")
    ways = [
        Html("<p>{}").format(_TEXT),
        Html("<p>{text}").format(text=_TEXT),
        start + _TEXT,
        start + Html("").join([_TEXT]),
        Html("<p>%s") % _TEXT,
        Html("<p>{}").replace("{}", _TEXT),
        start + Html.escape(_TEXT),
    ]
    assert set(ways) == {f"<p>{_ESCAPED}"}
    assert all(isinstance(way, Html) for way in ways)
    assert Html("{}{}").format(start, start) == "<p><p>"


def test_html_in_a_formatted_string_is_refused() -> None:
    with pytest.raises(TypeError, match="loses its type"):
        f"{Html('<p>')}"


@pytest.mark.parametrize(
    "address",
    ["javascript:a()", " javascript:a()", "JaVaScRiPt:a()", "data:text/html,x", "vbscript:x", "//elsewhere.example", "/x",
     "\tjavascript:a()", "java\nscript:a()", "file:///etc/passwd", ""],
)  # fmt: skip
def test_a_link_of_another_kind_is_its_label(address: str) -> None:
    assert link(address, "label") == "label"


@pytest.mark.parametrize(
    "address",
    ["https://a.example/b?c#d", "claims.html#x", "contention.html", "#cite", "../_static/runs/ab/t.svg"],
)
def test_a_link_to_a_page_or_a_site_is_one(address: str) -> None:
    assert link(address, "<b>") == f'<a href="{address}">&lt;b&gt;</a>'


@pytest.mark.parametrize(
    "inside",
    ["<script>a()</script>", '<rect onload="a()"/>', '<a href="x"/>', '<rect fill="url(http://x)"/>', "<image/>",
     '<rect style="x"/>', "<foreignObject/>", "<p>"],
)  # fmt: skip
def test_a_drawing_with_what_no_chart_has_is_refused(inside: str) -> None:
    with pytest.raises(ValueError, match="a drawing"):
        drawn(f"<svg>{inside}</svg>")
