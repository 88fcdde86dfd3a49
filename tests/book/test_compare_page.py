"""The page that lays a run beside a published one, in the browser: what it is given is data, never more.

The page is opened from a file, with what its notebook shows and the scripts of the book, and nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.sync_api import Browser, Error, Page, Request

from gapbook.method.spread import compared_as_usual, published_summaries
from gapbook.method.summary import Summary, written
from gapbook.pages.compare_page import compare_page, shipped
from gapbook.pages.comparison import READINGS, text_to_paste
from gapbook.paths import CHECKOUT
from tests.book.hostile import payload
from tests.halved import first_cells
from tests.hostile_values import hostile_contents

_CHAPTER = "trailbase-family"
_STATIC = ("compare.js", "compare.css", "gapbook.js", "gapbook.css")
_HOSTILE = 80
_MADE_OF_TEXT = r"""() => [...document.querySelectorAll(".gb-compare *")].filter((one) =>
  !["P", "LABEL", "CODE", "INPUT", "TEXTAREA", "BUTTON", "DIV", "TABLE", "CAPTION", "THEAD", "TR", "TH", "TBODY", "TD",
    "SECTION", "PRE", "DETAILS", "SUMMARY", "UL", "LI", "NOSCRIPT", "A"].includes(one.tagName)
  || [...one.attributes].some(({name, value}) => name.startsWith("on") || ["src", "style"].includes(name)
    || (name === "href" && !/^\.\.\/n\/[a-z0-9-]+\.html$/.test(value)))).length"""
_DROP = """(text) => {
  const given = new DataTransfer();
  given.items.add(new File([text], "compare.json"));
  document.dispatchEvent(new DragEvent("drop", { dataTransfer: given, bubbles: true, cancelable: true }));
}"""
_PASTE = """async (texts) => {
  const [pasted, heard] = [document.querySelector("#gb-pasted"), document.querySelector(".gb-heard")];
  const told = [];
  for (const text of texts) {
    pasted.value = text;
    pasted.dispatchEvent(new Event("input", { bubbles: true }));
    while (heard.textContent === "Reading …") await new Promise((go) => setTimeout(go));
    told.push([heard.textContent, heard.hasAttribute("data-refused"), document.querySelector(".gb-beside").hidden]);
  }
  return told;
}"""


def _raw() -> str:
    """What the page's notebook has as HTML: its own style and script."""
    text = (CHECKOUT / "notebooks" / "compare.md").read_text(encoding="utf-8")
    return "".join(re.findall(r"```\{raw\} html\n(.*?)```", text, re.DOTALL))


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page, its scripts and the published runs in small."""
    folder = tmp_path_factory.mktemp("compare")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("GAPBOOK_BUILD", str(folder / "build"))
        body = compare_page()
    (folder / "_static").mkdir()
    for name in _STATIC:
        (folder / "_static" / name).write_bytes((CHECKOUT / "book" / "_static" / name).read_bytes())
    (folder / "build" / "exported").rename(folder / "_static" / "runs")
    (folder / "notebooks").mkdir()
    (folder / "notebooks" / "compare.html").write_text(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Compare</title>'
        '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="../_static/gapbook.css">'
        '<script defer src="../_static/gapbook.js"></script><style>* { box-sizing: border-box; }</style></head>'
        f'<body><main class="bd-content"><article><h1>Compare</h1>{body.html}{_raw()}</article></main></body></html>',
        encoding="utf-8",
    )
    return folder


class _Opened:
    """The page, and what went wrong or went out while it was open."""

    def __init__(self, page: Page, folder: Path) -> None:
        self.page = page
        self.origin = folder.as_uri()
        self.wrong: list[str] = []
        page.add_init_script("window.hits = []; window.h = (n) => window.hits.push(n);")
        page.on("pageerror", self._failed)
        page.on("request", self._asked)
        page.goto(f"{self.origin}/notebooks/compare.html", wait_until="load")

    def _failed(self, error: Error) -> None:
        self.wrong.append(str(error))

    def _asked(self, request: Request) -> None:
        if not request.url.startswith(self.origin) or "/hit/" in request.url:
            self.wrong.append(request.url)

    def drop(self, content: str) -> None:
        self.page.evaluate(_DROP, content)
        self.page.wait_for_function("document.querySelector('.gb-heard').textContent.length > 9")

    def rows(self, name: str) -> list[list[str]]:
        found: list[list[str]] = self.page.eval_on_selector_all(
            f"[data-rows={name}] tr",
            "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))",
        )
        return found

    @property
    def heard(self) -> str:
        return self.page.locator(".gb-heard").inner_text()

    def require_clean(self) -> None:
        assert self.wrong == []
        assert self.page.evaluate("window.hits") == []
        assert self.page.evaluate(_MADE_OF_TEXT) == 0


@pytest.fixture(name="opened")
def _opened(browser: Browser, folder: Path) -> Iterator[_Opened]:
    page = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme="dark")
    yield _Opened(page, folder)
    page.close()


@cache
def _shipped() -> Mapping[str, Summary]:
    return shipped()


def _newest() -> Summary:
    return _shipped()[_CHAPTER]


def _older() -> Summary:
    """A run of the chapter on another machine."""
    return next(
        one
        for one in published_summaries()
        if one.chapter == _CHAPTER and one.processor != _newest().processor
    )


def test_every_published_run_is_one_beside_itself(opened: _Opened) -> None:
    for one in _shipped().values():
        if one.run_id != _shipped()[one.chapter].run_id:
            continue
        opened.drop(written(one))
        opened.page.wait_for_function(
            f"document.querySelector('.gb-runs').textContent.includes('{one.run_id}')"
        )
        assert opened.heard == "Both are the same run: nothing differs."
        rows = [*opened.rows("stated"), *opened.rows("ratios"), *opened.rows("rates")]
        assert len(rows) == len(one.numbers) + len(one.ratios) + len(one.cells)
        assert {row[1] for row in rows} == {"×1.00 [1.00–1.00]"}
        assert opened.rows("differences") == []
    opened.require_clean()


def test_the_run_of_another_machine_is_told_as_the_command_tells_it(opened: _Opened) -> None:
    opened.drop(written(_older()))
    found = compared_as_usual(_older(), _newest())
    for name, rows, printed in (
        ("stated", found.stated, "as_factor"),
        ("ratios", found.ratios, "as_factor"),
        ("rates", found.rates, "as_count"),
    ):
        expected = [
            [
                row.quantity + row.says,
                row.ratio.as_factor(),
                READINGS[row.reading],
                *(getattr(one, printed)() for one in (row.yours, row.ours)),
            ]
            for row in rows
        ]
        assert sorted(opened.rows(name)) == sorted(expected)
    assert opened.rows("first") == opened.rows("ratios")[:8]
    assert opened.rows("differences") == [[one.what, one.yours, one.ours] for one in found.differences]
    assert opened.page.locator(".gb-paste").inner_text() == text_to_paste(found)
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390
    opened.page.locator(".gb-copy").click()
    opened.page.wait_for_function(
        "['copied', 'press Ctrl+C'].includes(document.querySelector('.gb-copy').textContent)"
    )
    opened.require_clean()


def test_the_example_and_a_chosen_file_are_shown(opened: _Opened, tmp_path: Path) -> None:
    opened.page.locator(".gb-example").click()
    opened.page.locator(".gb-beside").wait_for()
    assert _shipped()[""].run_id in opened.page.locator(".gb-runs").inner_text()
    file = tmp_path / "compare.json"
    half = len(_older().cells) // 2
    file.write_text(written(first_cells(_older(), half)), encoding="utf-8")
    opened.page.locator("#gb-run").set_input_files(file)
    opened.page.wait_for_function(
        f"document.querySelector('.gb-runs').textContent.includes('{_older().run_id}')"
    )
    assert len(opened.rows("rates")) == half
    alone = opened.page.locator("details:has([data-rows=ours_alone]) summary").inner_text()
    assert alone == f"Only in ours: {len(_newest().cells) - half}"


def test_every_text_of_a_hostile_run_is_text(opened: _Opened) -> None:
    """Facts stay, by which cells are matched, but those of one contestant."""
    numbers = count(1)
    older = _older()
    hostile = {what: payload(next(numbers)) for what in ("machine", "settings", "versions")}
    first, *others = (
        msgspec.structs.replace(one, name=payload(next(numbers)), label=payload(next(numbers)))
        for one in older.contestants
    )
    opened.drop(
        written(
            msgspec.structs.replace(
                older,
                processor=payload(next(numbers)),
                words={value: payload(next(numbers)) for value in older.words},
                contestants=[
                    msgspec.structs.replace(
                        first, facts={**first.facts, payload(next(numbers)): payload(next(numbers))}
                    ),
                    *others,
                ],
                **{what: {**getattr(older, what), words: words} for what, words in hostile.items()},
            )
        )
    )
    opened.page.locator(".gb-beside").wait_for()
    for fold in opened.page.locator(".gb-beside details:not([hidden]) summary").all():
        fold.click()
    shown = opened.page.locator(".gb-beside").inner_text()
    for number in (1, 2, 3, 4):
        assert f"javascript:h({number})" in shown
    opened.require_clean()


def test_the_chapter_of_a_hostile_run_leads_nowhere(opened: _Opened) -> None:
    for chapter in ("", "../../x", "__proto__", "constructor", payload(1)):
        opened.drop(json.dumps({**json.loads(written(_older())), "chapter": chapter}))
        assert opened.page.locator(".gb-beside").is_hidden()
        assert re.match(r"No run of the chapter|chapter has 0 characters", opened.heard)
    opened.require_clean()


def test_what_is_no_run_is_refused_in_a_line(opened: _Opened, tmp_path: Path) -> None:
    whole = json.loads(written(_older()))
    texts = {
        "<img src=/hit/1 onerror=h(1)>": "This is not JSON.",
        "[]": "This is no run in small.",
        "null": "This is no run in small.",
        '{"summary": NaN}': "This is not JSON.",
        '{"__proto__": {"summary": 1}}': "This is no run in small.",
        json.dumps({**whole, "summary": 2}): "This run is of version 2; this page reads 1.",
        json.dumps({**whole, "run_id": "f" * 12}): "the run id is not that of its manifest",
        json.dumps({**whole, "machine": {"a": "\u202e"}}): "a value in machine holds a control character",
        '{"summary": 1, "a": ' + "[" * 20_000: "This is not JSON.",
        " " * 5_000_000 + "{}": "This has 5,000,002 bytes",
    }
    told = opened.page.evaluate(_PASTE, list(texts))
    for (said, refused, hidden), expected in zip(told, texts.values(), strict=True):
        assert said.startswith(expected)
        assert refused
        assert hidden
    # What a browser gives for a folder that is dropped: a file that nobody can read.
    opened.page.evaluate(
        "() => { Blob.prototype.text = () => Promise.reject(new DOMException('', 'NotFoundError')); }"
    )
    opened.page.evaluate(_DROP, "")
    opened.page.wait_for_function(
        "document.querySelector('.gb-heard').textContent.startsWith('This is a folder')"
    )
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(50 * 2**20)
    # Its size alone is looked at.
    opened.page.evaluate("() => { Blob.prototype.text = () => window.hits.push('read'); }")
    opened.page.locator("#gb-run").set_input_files(large)
    opened.page.wait_for_function("document.querySelector('.gb-heard').textContent.includes('52,428,800')")
    opened.require_clean()


def test_hostile_contents_are_refused_or_shown_as_text(opened: _Opened) -> None:
    whole = json.loads(written(_older()))
    texts = []
    for _, harm in hostile_contents(whole, _HOSTILE, ("summary",)):
        content: dict[str, Any] = json.loads(written(_older()))
        harm(Path(), content)
        texts.append(json.dumps(content))
    told = opened.page.evaluate(_PASTE, texts)
    assert all(refused == hidden for _, refused, hidden in told)
    assert _HOSTILE / 2 < sum(refused for _, refused, _ in told) < _HOSTILE
    assert all(said and len(said) < 300 and "\n" not in said for said, _, _ in told)
    opened.require_clean()


def test_without_scripts_the_command_stands_there(browser: Browser, folder: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{folder.as_uri()}/notebooks/compare.html")
    assert "gapbook compare RUN" in page.locator(".gb-compare").inner_text()
    assert page.locator(".gb-drop").is_hidden()
    assert page.locator(".gb-beside").is_hidden()
    context.close()
