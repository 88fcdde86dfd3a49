"""The register of claims in a browser: filtered by a script, whole without one, cards on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from gapbook.pages.register import Register
from gapbook.paths import CHECKOUT

_STATIC = CHECKOUT / "book" / "_static"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The register with the book's own style and script, and nothing round it."""
    register = Register("keynote")
    path = tmp_path_factory.mktemp("register") / "claims.html"
    path.write_text(
        "<!doctype html><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<style>body{{margin:0}}{(_STATIC / 'gapbook.css').read_text(encoding='utf-8')}</style>"
        f"<script>{(_STATIC / 'gapbook.js').read_text(encoding='utf-8')}</script>"
        f"<main class='bd-content'>{register.tally().html}{register.table().html}</main>",
        encoding="utf-8",
    )
    return path


@pytest.fixture
def opened(browser: Browser, file: Path, request: pytest.FixtureRequest) -> Iterator[Page]:
    width, script = getattr(request, "param", (688, True))
    context = browser.new_context(viewport={"width": width, "height": 800}, java_script_enabled=script)
    page = context.new_page()
    page.goto(file.as_uri())
    yield page
    context.close()


def _shown(page: Page) -> int:
    return page.locator(".gb-register tbody tr:visible").count()


def test_a_button_shows_its_verdict_and_the_address_keeps_it(opened: Page) -> None:
    every = _shown(opened)
    pill = opened.locator(".gb-pill[data-verdict=refuted]")
    expected = int(pill.locator("span").inner_text())
    pill.click()
    assert 0 < _shown(opened) == expected < every
    assert opened.evaluate("location.hash") == "#v=refuted"
    assert pill.get_attribute("aria-pressed") == "true"
    assert opened.locator(".gb-showing").inner_text() == f"Showing {expected} of {every}."

    opened.reload()
    assert _shown(opened) == expected
    opened.locator(".gb-pill").first.click()
    assert _shown(opened) == every
    assert opened.evaluate("location.hash") == ""


def test_words_are_searched_in_all_of_an_entry(opened: Page) -> None:
    opened.locator(".gb-search").fill("ORM round")
    found = opened.locator(".gb-register tbody tr:visible")
    assert 0 < found.count() < opened.locator(".gb-register tbody tr").count()
    for text in found.all_text_contents():
        assert "orm" in text.lower()
        assert "round" in text.lower()
    opened.evaluate("location.hash = 'v=confirmed&q=serializable'")
    opened.wait_for_function("document.querySelector('.gb-search').value === 'serializable'")
    verdicts = found.evaluate_all("rows => rows.map((row) => row.dataset.verdict)")
    assert verdicts
    assert set(verdicts) == {"confirmed"}


def test_an_unknown_view_or_an_anchor_shows_everything(opened: Page, file: Path) -> None:
    every = opened.locator(".gb-register tbody tr").count()
    opened.goto(f"{file.as_uri()}#v=nonsense")
    assert _shown(opened) == every
    opened.goto(f"{file.as_uri()}#keynote-note-hot-row-bound")
    assert _shown(opened) == every
    assert opened.evaluate("window.scrollY") > 0


def test_a_link_to_an_entry_that_is_filtered_out_leads_to_it(opened: Page) -> None:
    opened.locator(".gb-pill[data-verdict=undecided]").click()
    opened.locator("#keynote-stdb-rust-tps-alpha05 .gb-why a").click()
    target = opened.locator("#keynote-rust-gap-alpha05")
    target.wait_for(state="visible")
    top = target.evaluate("row => row.getBoundingClientRect().top")
    assert 0 <= top < 800


@pytest.mark.parametrize("opened", [(688, False), (328, False)], indirect=True)
def test_without_a_script_everything_is_there_and_no_control_is(opened: Page) -> None:
    assert _shown(opened) == opened.locator(".gb-register tbody tr").count() > 0
    assert opened.locator(".gb-filter").is_hidden()


@pytest.mark.parametrize("opened", [(688, True), (328, True)], indirect=True)
def test_nothing_is_wider_than_the_page(opened: Page) -> None:
    opened.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
    width = opened.evaluate("innerWidth")
    columns = opened.locator(".gb-register tbody tr").first.evaluate(
        "row => new Set([...row.cells].map((cell) => cell.getBoundingClientRect().left)).size"
    )
    assert columns == (1 if width == 328 else 4)
    clipped = opened.evaluate(
        "[...document.querySelectorAll('.gb-table')].some((t) => t.scrollWidth > t.clientWidth)"
    )
    assert not clipped
