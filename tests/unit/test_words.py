"""One word for one thing in what readers see; the list of words beside this file says which."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import jupytext
import pytest

from gapbook.paths import CHECKOUT

_WORDS = tomllib.loads((CHECKOUT / "tests" / "unit" / "words.toml").read_text(encoding="utf-8"))
_LIST, _STORED = _WORDS["words"], frozenset(_WORDS["stored"])
_PAGES = sorted([*CHECKOUT.glob("notebooks/*.md"), *CHECKOUT.glob("book/*.md")])
_MODULES = sorted([*CHECKOUT.glob("gapbook/pages/**/*.py"), *CHECKOUT.glob("gapbook/charts/**/*.py")])
_DECLARED = sorted(CHECKOUT.glob("book/*.toml"))
_SAID_IN_OUR_WORDS = frozenset({"says", "ours", "why", "of", "place", "condition", "reason", "check"})
_NOT_READ = re.compile(r"```.*?```|\{[a-z:_-]+\}`[^`]*`|`[^`]*`|\]\([^)]*\)|<[^>]*>", re.DOTALL)


def _wrong(text: str, *, by_code: bool) -> list[str]:
    """Each word of a text that has another in its place."""
    return [
        f"{found[0]!r}: write {word['write']}"
        for word in _LIST
        if word.get("anywhere") or not by_code
        for found in re.finditer(word["not"], text, re.IGNORECASE)
    ]


def _texts_of(code: str) -> Iterator[str]:
    """The texts in some code, without docstrings; a text without a space is a name, and what runs store is no text."""
    tree = ast.parse(code)
    docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
            yield from [node.value] if " " in node.value.strip() and node.value not in _STORED else []


def _wrong_in_page(text: str) -> list[str]:
    cells = jupytext.reads(text, fmt="md:myst").cells
    prose = [_NOT_READ.sub(" ", cell.source) for cell in cells if cell.cell_type == "markdown"]
    made = [text for cell in cells if cell.cell_type == "code" for text in _texts_of(cell.source)]
    return [
        *(wrong for text in prose for wrong in _wrong(text, by_code=False)),
        *(wrong for text in made for wrong in _wrong(text, by_code=True)),
    ]


@pytest.mark.parametrize("page", _PAGES, ids=lambda path: path.name)
def test_page_has_one_word_for_one_thing(page: Path) -> None:
    assert _wrong_in_page(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("module", _MODULES, ids=lambda path: path.name)
def test_what_code_writes_has_one_word_for_one_thing(module: Path) -> None:
    texts = _texts_of(module.read_text(encoding="utf-8"))
    assert [wrong for text in texts for wrong in _wrong(text, by_code=True)] == []


def _declared_texts(content: object, key: str = "") -> Iterator[str]:
    """What a declaration says in our words; a text without a space is a name."""
    if isinstance(content, dict):
        for name, value in content.items():
            yield from _declared_texts(value, name)
    elif isinstance(content, list):
        for value in content:
            yield from _declared_texts(value, key)
    elif isinstance(content, str) and key in _SAID_IN_OUR_WORDS and " " in content:
        yield content


def _wrong_in_declaration(text: str) -> list[str]:
    return [
        f"{found[0]!r}: write {word['write']}"
        for said in _declared_texts(tomllib.loads(text))
        for word in _LIST
        if word.get("declared")
        for found in re.finditer(word["not"], said, re.IGNORECASE)
    ]


@pytest.mark.parametrize("declared", _DECLARED, ids=lambda path: path.name)
def test_what_claims_and_verdicts_say_has_one_word_for_one_thing(declared: Path) -> None:
    assert _wrong_in_declaration(declared.read_text(encoding="utf-8")) == []


def test_word_of_the_list_is_found_in_a_declaration_but_not_in_what_a_document_printed() -> None:
    text = 'says = "The procedure, one request each."\nas_printed = ["the procedure"]\nof = "procedure"\n'
    assert _wrong_in_declaration(text) == [
        "'procedure': write stored procedure",
        "'one request each': write one request at a time",
    ]


def test_word_of_the_list_is_found_in_prose_and_in_what_code_writes_but_not_in_code() -> None:
    page = "# A page\n\nThe RPC tier, `the tier`, one call.\n\n```{code-cell}\ntier = f'a tier {x}', 'tier', 'one call', 'by one call'\n```\n"
    assert _wrong_in_page(page) == [
        "'RPC tier': write HTTP server",
        "'one call': write stored procedure",
        "'one call': write stored procedure",
        "'tier': write HTTP server",
    ]
