"""The table of contents of a book with a reader's own page."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from gapbook.book import build, figures
from gapbook.book.contents import pages_of, with_pages_below, without_pages
from gapbook.book.document_pages import document_notebooks, titles_of_documents
from gapbook.book.kept_pages import keep_page
from gapbook.book.timings import Timings
from gapbook.errors import RecordError
from gapbook.paths import CHECKOUT

_LISTED = yaml.safe_load((CHECKOUT / "_toc.yml").read_text(encoding="utf-8"))
_NOTEBOOK = {
    "cells": [{"cell_type": "markdown", "metadata": {}, "source": ["# A chapter"]}],
    "metadata": {},
}


def _pages(contents: dict[str, Any]) -> list[dict[str, str]]:
    """The pages of all parts, none of which is empty, and of the sections below them."""
    assert all(part["chapters"] and part["caption"] for part in contents["parts"])
    return pages_of(contents)


@pytest.fixture(name="staged_pages")
def _staged_pages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The pages that the renderer is given when a chapter of the reader's is built, and where its page is."""

    def render(staged: Path) -> Path:
        site = staged.parent / "_build" / "html"
        (site / "_sources" / "notebooks").mkdir(parents=True, exist_ok=True)
        return site

    def pages(chapter: str) -> tuple[list[dict[str, str]], Path]:
        executed = tmp_path / f"{chapter}.ipynb"
        executed.write_text(json.dumps(_NOTEBOOK), encoding="utf-8")
        page = build.build_with(chapter, executed, tmp_path / "yours")
        contents = yaml.safe_load((tmp_path / "yours" / "source" / "_toc.yml").read_text(encoding="utf-8"))
        return _pages(contents), page

    monkeypatch.setattr(build, "chapters", lambda: ["fair", "original", "unlisted"])
    monkeypatch.setattr(build, "_is_published", lambda chapter: False)
    monkeypatch.setattr(build, "_render", render)
    monkeypatch.setenv("GAPBOOK_BUILD", str(tmp_path))
    return pages


def test_chapter_that_the_contents_do_not_list_has_the_last_page(staged_pages: Any) -> None:
    pages, page = staged_pages("unlisted")
    files = [one["file"] for one in pages]
    assert files.count("notebooks/unlisted") == 1
    assert files[-1] == f"notebooks/{page.stem}"
    assert not {"notebooks/fair", "notebooks/original"} & set(files)


def test_chapter_of_the_contents_keeps_its_place_and_title(staged_pages: Any) -> None:
    pages, _ = staged_pages("fair")
    kept = [one["file"] for one in _pages(_LISTED) if one["file"] != "notebooks/original"]
    documents = [f"notebooks/{name}" for name in titles_of_documents()]
    assert [one["file"] for one in pages if one["file"] not in documents] == kept
    place = [one["file"] for one in pages].index("notebooks/claims") + 1
    assert [one["file"] for one in pages[place : place + len(documents)]] == documents


def test_sections_take_the_place_of_a_page_that_goes() -> None:
    below = {"file": "below", "title": "Below"}
    contents = {"parts": [{"caption": "A", "chapters": [{"file": "above", "sections": [below]}]}]}
    assert without_pages(contents, {"above"})["parts"] == [{"caption": "A", "chapters": [below]}]
    assert without_pages(contents, {"below"})["parts"] == [{"caption": "A", "chapters": [{"file": "above"}]}]
    assert without_pages(contents, {"above", "below"})["parts"] == []
    more = {"file": "more", "title": "More"}
    assert with_pages_below(contents, "below", [more])["parts"] == [
        {"caption": "A", "chapters": [{"file": "above", "sections": [{**below, "sections": [more]}]}]}
    ]


def test_a_document_has_a_page_of_what_the_register_shows_of_it() -> None:
    def shown(data: dict[str, list[str]], **metadata: str) -> dict[str, Any]:
        return {"output_type": "display_data", "metadata": metadata, "data": data}

    outputs = [
        shown({"text/markdown": ["# First"]}, page="claims-first"),
        shown({"text/html": ["<p>a</p>"]}),
        shown({"text/markdown": ["# Second"]}, page="claims-second"),
        shown({"text/html": ["<p>b</p>"]}),
    ]
    cell = {
        "cell_type": "code",
        "metadata": {"tags": ["remove-cell", "documents"]},
        "source": "",
        "outputs": outputs,
    }
    other = {**cell, "metadata": {"tags": ["remove-input"]}}
    pages = document_notebooks({**_NOTEBOOK, "cells": [*_NOTEBOOK["cells"], other, cell]})
    assert list(pages) == ["claims-first", "claims-second"]
    title, body = pages["claims-second"]["cells"]
    assert title["source"] == "# Second"
    assert [output["data"] for output in body["outputs"]] == [{"text/html": ["<p>b</p>"]}]
    assert "remove-cell" not in body["metadata"]["tags"]
    assert document_notebooks(_NOTEBOOK) == {}


def test_a_document_whose_page_was_not_made_has_one_that_says_so(staged_pages: Any, tmp_path: Path) -> None:
    staged_pages("fair")
    for name, title in titles_of_documents().items():
        text = (tmp_path / "yours" / "source" / "notebooks" / f"{name}.md").read_text(encoding="utf-8")
        assert text.startswith(f"# {title}\n")
        assert "`gapbook book`" in text


def test_readers_page_waits_for_no_other_and_those_not_executed_say_so(
    staged_pages: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build, "_is_published", lambda chapter: chapter == "original")
    monkeypatch.setattr(build, "overviews", lambda: ["front"])
    monkeypatch.setattr(build, "execute_chapters", lambda *_: pytest.fail("executed another"))
    kept = tmp_path / "executed-published" / "original.ipynb"
    kept.parent.mkdir()
    kept.write_text(json.dumps(_NOTEBOOK), encoding="utf-8")
    staged = tmp_path / "yours" / "source" / "notebooks"
    for key, executed in (("of other sources", False), (build._wanted(["original"])["original"].key, True)):
        keep_page("original", key)
        pages, _ = staged_pages("fair")
        assert {"notebooks/fair", "notebooks/original"} < {one["file"] for one in pages}
        assert (staged / "original.ipynb").is_file() == executed
        assert (staged / "original.md").is_file() != executed
        assert f"book: {1 if executed else 2} of its other pages" in capsys.readouterr().out
        title, _, words = (staged / "front.md").read_text(encoding="utf-8").splitlines()
        assert title == _heading("notebooks/front")
        assert "`gapbook book`" in words


@pytest.mark.parametrize("page", _pages(_LISTED), ids=lambda page: page["file"])
def test_entry_of_the_contents_is_the_pages_title_or_a_shortening_in_its_words(page: dict[str, str]) -> None:
    words = iter(_words(_heading(page["file"])))
    assert all(word in words for word in _words(page["title"]))


def _words(text: str) -> list[str]:
    return re.findall(r"[\w']+", text.lower())


def _heading(file: str) -> str:
    text = (CHECKOUT / f"{file}.md").read_text(encoding="utf-8")
    return next(line for line in text.splitlines() if line.startswith("# "))


@pytest.mark.usefixtures("staged_pages")
def test_published_book_asks_for_a_run_of_every_chapter_of_the_contents_and_of_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    executed: list[str] = []

    def execute(names: Sequence[str], _timings: Timings) -> dict[str, Path]:
        executed.extend(names)
        return {}

    monkeypatch.setenv("GAPBOOK_BUILD", str(tmp_path))
    monkeypatch.setattr(build, "_execute_published", execute)
    for addresses in (build, figures):
        monkeypatch.setattr(addresses, "require_lasting", lambda _told: None)
    monkeypatch.setattr(build, "_is_published", lambda chapter: chapter != "unlisted")
    build.build_published(Timings())
    assert executed == ["fair", "original"]
    monkeypatch.setattr(build, "_is_published", lambda chapter: chapter != "original")
    with pytest.raises(RecordError, match=r"^book: chapter original has no published run"):
        build.build_published(Timings())
