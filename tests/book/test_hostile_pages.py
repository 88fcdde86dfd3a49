"""No text of a foreign run does anything but be read: each chapter, in the browser.

In one run of each chapter every text that the record may hold is script, handler, style, link and open comment at
once. `make test` takes two chapters, other ones each day; ``GAPBOOK_DRAW=all`` takes all.
"""

from __future__ import annotations

import contextlib
import functools
import html
import http.server
import io
import itertools
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jupytext
import pytest
from IPython.core.interactiveshell import InteractiveShell
from playwright.sync_api import Browser, Page

from gapbook.book.chapters import chapters
from gapbook.claims.entries import Entry, Place
from gapbook.pages.page import claim_line
from gapbook.pages.register.documents import document_body
from gapbook.pages.register.table import register_section
from gapbook.paths import CHECKOUT
from gapbook.record.run import published_folder
from tests.book.hostile import Attacks, payload, write_hostile_run
from tests.drawn import drawn

_MEASURED = [name for name in chapters() if any(published_folder(name).glob("*/manifest.json"))]
_LEAST_FIELDS = 30
_STATIC = ("gapbook.css", "gapbook.js", "claims.js")
_INSIDE = """() => {
  const found = [];
  for (const one of document.querySelectorAll("main *")) {
    if (["SCRIPT", "STYLE", "META", "IFRAME", "IMG", "OBJECT", "EMBED", "BASE", "LINK"].includes(one.tagName))
      found.push(one.outerHTML.slice(0, 200));
    for (const {name, value} of one.attributes)
      if (name.startsWith("on") || (["href", "src", "xlink:href"].includes(name) && /^\\s*(javascript|data):/i.test(value)))
        found.push(one.outerHTML.slice(0, 200));
  }
  return found;
}"""


class _Server(http.server.SimpleHTTPRequestHandler):
    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        super().do_GET()

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str, list[str]]]:
    """A folder, its address on this machine, and what was asked of it."""
    folder = tmp_path / "served"
    asked: list[str] = []
    folder.mkdir()
    handler = type("Handler", (_Server,), {"asked": asked})
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(handler, directory=folder)
    ) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()
        thread.join()


def _opened(
    browser: Browser, served: tuple[Path, str, list[str]], body: str
) -> tuple[list[object], list[str]]:
    """What ran and what was asked for when a page with that body was open, and what of it could run later."""
    folder, address, asked = served
    for name in _STATIC:
        (folder / name).write_bytes((CHECKOUT / "book" / "_static" / name).read_bytes())
    (folder / "page.html").write_text(
        '<!doctype html><html><head><meta charset="utf-8"><link rel="stylesheet" href="gapbook.css">'
        '<script defer src="gapbook.js"></script><script defer src="claims.js"></script></head>'
        f"<body><main>{body}</main></body></html>",
        encoding="utf-8",
    )
    page: Page = browser.new_page()
    try:
        page.add_init_script("window.hits = []; window.h = (n) => window.hits.push(n);")
        page.goto(f"{address}/page.html", wait_until="networkidle")
        for button in page.locator("main button:visible, main summary").all()[:20]:
            button.click(timeout=2_000, force=True)
        ran = [*page.evaluate("window.hits"), *page.evaluate(_INSIDE)]
        # What is shown of the register stands behind the sign; another page does not.
        assert page.url.partition("#")[0] == f"{address}/page.html"
    finally:
        page.close()
    own = {"/page.html", "/favicon.ico", *(f"/{name}" for name in _STATIC)}
    return ran, [path for path in asked if path not in own]


def _shown(chapter: str, run_id: str) -> str:
    """The outputs of a chapter's page as it shows a run; where a cell ends in an error, that as text."""
    outputs: list[str] = []
    InteractiveShell.clear_instance()
    shell: Any = InteractiveShell.instance()
    shell.display_formatter.active_types = list(shell.display_formatter.format_types)

    def keep(data: dict[str, object], *_more: object, **_named: object) -> None:
        told = {
            kind: content
            for kind, content in data.items()
            if kind != "application/papermill.record/text/html"
        }
        text = str(told.get("text/html") or "")
        outputs.append(text or f"<p>{html.escape(str(next(iter(told.values()), '')))}</p>")

    shell.displayhook.write_format_data = keep
    shell.display_pub.publish = keep
    cells = jupytext.read(CHECKOUT / "notebooks" / f"{chapter}.md").cells
    for cell in cells:
        if cell.cell_type != "code":
            continue
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            result = shell.run_cell(cell.source, store_history=False)
            if "parameters" in cell.metadata.get("tags", []):
                shell.run_cell(f"source = {run_id!r}")
        if result.error_in_exec is not None:
            outputs.append(f"<pre>{html.escape(str(result.error_in_exec))}</pre>")
        assert "<script" not in printed.getvalue() or result.error_in_exec is not None
    InteractiveShell.clear_instance()
    return "\n".join(outputs)


@pytest.mark.parametrize("chapter", drawn(_MEASURED, 2))
def test_no_text_of_a_foreign_run_runs_or_calls_out(
    chapter: str,
    browser: Browser,
    served: tuple[Path, str, list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GAPBOOK_RUNS", str(tmp_path / "runs"))
    monkeypatch.chdir(CHECKOUT)
    attacks = Attacks()
    run_id = write_hostile_run(chapter, tmp_path / "runs", attacks)
    body = _shown(chapter, run_id)
    seen = {number for number in attacks.fields.values() if f"h({number})" in html.unescape(body)}
    assert len(attacks.fields) >= _LEAST_FIELDS
    assert seen
    if told := os.environ.get("GAPBOOK_ATTACKS"):
        with Path(told).open("a", encoding="utf-8") as file:
            file.write(json.dumps([chapter, len(attacks.fields), len(seen)]) + "\n")
    assert _opened(browser, served, body) == ([], [])


def test_the_browser_would_show_an_attack(browser: Browser, served: tuple[Path, str, list[str]]) -> None:
    ran, asked = _opened(browser, served, f"<p>{payload(7)}</p>")
    assert 7 in ran
    assert "/hit/7" in asked


def test_no_text_of_a_claim_runs_or_calls_out(browser: Browser, served: tuple[Path, str, list[str]]) -> None:
    texts = map(payload, itertools.count(1))
    place = Place(
        quantity=next(texts),
        ours=next(texts),
        expected=next(texts),
        outcome="fails",
        chapter=next(texts),
        run=next(texts),
        spread=next(texts),
    )
    claim = Entry(
        id=next(texts),
        says=next(texts),
        quote=next(texts),
        kind="ratio",
        published=next(texts),
        value=1,
        verdict="refuted",
        word=next(texts),
        reason=next(texts),
        evidence="measured",
        source=next(texts),
        title=next(texts),
        where=next(texts),
        by=next(texts),
        date=next(texts),
        address=next(texts),
        systems=(next(texts),),
        names_systems=False,
        chapter=next(texts),
        page=next(texts),
        ours=next(texts),
        why=next(texts),
        check=next(texts),
        rule="band",
        places=(place,),
        famous=1,
    )
    line = claim_line(
        next(texts),
        next(texts),
        why=next(texts),
        where=next(texts),
        verdict=("refuted", next(texts)),
        basis=next(texts),
        summary=next(texts),
        address=next(texts),
    )
    body = register_section([claim], {}) + document_body([claim], {}, {}) + line
    assert payload(1) in html.unescape(body)
    assert _opened(browser, served, body.html) == ([], [])
