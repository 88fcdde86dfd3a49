"""The register of claims in a browser: searched and filtered by a script, whole without one, cards on a phone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, product
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from gapbook.claims.look_up import looked_up
from gapbook.errors import ParameterError
from gapbook.pages.register.page import Register
from gapbook.paths import CHECKOUT
from tests.claims_typed import TYPED

_STATIC = CHECKOUT / "book" / "_static"
_TERMS = ("stored procedure", "durability", "HTTP")
"""Words that lead to the glossary where they first stand, as in the book."""
_AS_TYPED_TOO = (
    *_TERMS,
    *(
        "70 x",
        "70×",
        "316X",
        "x47",
        "14 times",
        "MB 12",
        "PAYLOAD 70x",
        "60,400",
        "60 400",
        "8.3",
        "node.js drizzle",
    ),
    *("litestream 600", "is spacetimedb faster than postgres", "the", "α = 1.5", "<b>", "nothing of this"),
)


@pytest.fixture(scope="module")
def register() -> Register:
    return Register()


@pytest.fixture(scope="module")
def file(register: Register, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The register with the book's own style and script, and nothing round it."""
    folder = tmp_path_factory.mktemp("register")
    (folder / "_static").mkdir()
    for name in ("gapbook.css", "gapbook.js", "claims.css", "claims.js"):
        (folder / "_static" / name).write_bytes((_STATIC / name).read_bytes())
    cards, table, rows = register.page().html.partition("<tbody>")
    for term in _TERMS:
        before, said, after = rows.partition(f" {term} ")
        assert said
        rows = f'{before} <a class="gb-term" href="words.html">{term}</a> {after}'
    path = folder / "notebooks" / "claims.html"
    path.parent.mkdir()
    path.write_text(
        "<!doctype html><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        "<link rel=stylesheet href=../_static/gapbook.css><link rel=stylesheet href=../_static/claims.css>"
        "<script src=../_static/gapbook.js></script><script defer src=../_static/claims.js></script>"
        f"<body style='margin:0'><main class='bd-content'>{register.total().html}{cards}{table}{rows}</main>",
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


def _shown(page: Page) -> list[str]:
    shown: list[str] = page.locator(".gb-register tbody tr").evaluate_all(
        "rows => rows.filter((row) => !row.hidden).map((row) => row.id.replace('claim-', ''))"
    )
    return shown


def _first_result(page: Page) -> str:
    """The claim of the first card or row that can be seen."""
    first: str = page.locator(".gb-register :is(.gb-card, tbody tr):visible").first.evaluate(
        "one => (one.dataset.claim ?? one.id).replace('claim-', '')"
    )
    return first


@pytest.mark.parametrize("opened", [(688, True), (390, True)], indirect=True)
def test_what_people_type_finds_its_card_first(opened: Page, file: Path) -> None:
    search = opened.get_by_label("Search the claims")
    for typed, claim in TYPED.items():
        search.press("ControlOrMeta+a")
        search.press_sequentially(typed)
        assert _first_result(opened) == claim, typed
        card = opened.locator(".gb-card:visible").first
        assert card.get_by_role("link").count() >= 3
        box = card.bounding_box()
        assert box is not None
        assert box["y"] < 800
    address = opened.url
    opened.goto("about:blank")
    opened.goto(address)
    assert _first_result(opened) == claim
    opened.goto(f"{file.as_uri()}?q=70x")
    assert _shown(opened) == ["trailbase-insert-vs-payload"]


_FOUND = """(asked) => asked.map(([name, value]) => {
  const form = document.querySelector(".gb-filter");
  const control = form.querySelector(name === "words" ? ".gb-search" : `[data-filter=${name}]`);
  control.value = value;
  control.dispatchEvent(new Event(name === "words" ? "input" : "change"));
  const rows = [...document.querySelectorAll(".gb-register tbody tr")];
  const found = rows.filter((row) => !row.hidden).map((row) => row.id.replace("claim-", ""));
  control.value = "";
  return [name, value, name === "words" ? "" : control.querySelector(`[value="${value}"]`).text, found];
})"""


def test_page_and_command_line_find_the_same(opened: Page, register: Register) -> None:
    choices = opened.locator("[data-filter]").evaluate_all(
        "all => all.flatMap((select) => [...select.options].map((one) => [select.dataset.filter, one.value]))"
    )
    asked = [*(("words", words) for words in (*TYPED, *_AS_TYPED_TOO)), *(one for one in choices if one[1])]
    for name, value, label, found in opened.evaluate(_FOUND, asked):
        words, chosen = (value, {}) if name == "words" else ("", {name: value})
        assert sorted(found) == sorted(_looked_up(register, words, chosen)), value
        if chosen:
            assert label.endswith(f"({len(found)})")


def _looked_up(register: Register, words: str, chosen: Mapping[str, str]) -> list[str]:
    try:
        return [one.id for one in looked_up(words, chosen, register.entries)]
    except ParameterError:
        return []


def test_filters_and_words_stand_in_the_address(opened: Page) -> None:
    opened.locator("[data-filter=verdict]").select_option("refuted")
    opened.get_by_label("Search the claims").fill("ORM postgres")
    narrow = _shown(opened)
    assert opened.evaluate("location.hash") == "#q=ORM+postgres&verdict=refuted"
    opened.reload()
    assert _shown(opened) == narrow
    opened.evaluate("location.hash = 'q=serializable&evidence=source'")
    opened.wait_for_function("document.querySelector('.gb-search').value === 'serializable'")
    rows = opened.locator(".gb-register tbody tr:visible")
    assert set(rows.evaluate_all("rows => rows.map((row) => row.dataset.e)")) == {"source"}
    every = opened.locator(".gb-register tbody tr").count()
    assert (
        opened.get_by_role("status").inner_text()
        == f"Showing {rows.count()} of {every} entries: published claims and our notes."
    )
    opened.get_by_role("button", name="show all").press("Enter")
    opened.wait_for_function("location.hash === ''")
    assert len(_shown(opened)) == every


def test_what_nobody_has_is_said(opened: Page, file: Path) -> None:
    opened.get_by_label("Search the claims").fill("unheard")
    assert _shown(opened) == []
    assert "No claim has all of this." in opened.get_by_role("status").inner_text()
    opened.goto("about:blank")
    opened.goto(f"{file.as_uri()}#verdict=nonsense&q=47x")
    assert _first_result(opened) == "convex-headline-47x"
    assert "There is no verdict=nonsense." in opened.get_by_role("status").inner_text()


@pytest.mark.parametrize("anchor", ["claim-keynote-note-hot-row-bound", "keynote-note-hot-row-bound"])
def test_an_anchor_leads_to_its_claim_whatever_was_searched(opened: Page, file: Path, anchor: str) -> None:
    """That of a link made before anchors began with what they are of, too."""
    opened.get_by_label("Search the claims").fill("payload")
    opened.evaluate(f"location.hash = '{anchor}'")
    row = opened.locator("#claim-keynote-note-hot-row-bound")
    row.wait_for(state="visible")
    opened.wait_for_function("document.querySelector('tr:target')")
    assert 0 <= row.evaluate("row => row.getBoundingClientRect().top") < 800
    assert (
        row.get_by_role("link", name="why").get_attribute("href")
        == "claims-pr-4432.html#claim-keynote-note-hot-row-bound"
    )
    opened.goto("about:blank")
    opened.goto(f"{file.as_uri()}#{anchor}")
    assert opened.evaluate("window.scrollY") > 0


@pytest.mark.parametrize("opened", [(688, False), (390, False)], indirect=True)
def test_without_a_script_everything_is_there_and_no_control_is(opened: Page, register: Register) -> None:
    assert opened.locator(".gb-register tbody tr:visible").count() == len(register.entries)
    assert opened.locator(".gb-card:visible").count() == sum(one.famous > 0 for one in register.entries)
    assert opened.locator(".gb-filter").is_hidden()


_LEAST_FINGER_PX = 24
_LINKS_OF_CARDS = """() => [...document.querySelectorAll(".gb-card")].map((card) =>
  [...card.querySelectorAll(".gb-source a")].map((link) =>
    [...link.getClientRects()].map(({left, right, top, bottom}) => [left, right, top, bottom])))"""


@pytest.mark.parametrize("opened", [(688, True), (390, True), (320, True)], indirect=True)
def test_a_finger_hits_one_link_of_a_card(opened: Page) -> None:
    cards = opened.evaluate(_LINKS_OF_CARDS)
    assert sum(map(len, cards)) > 2 * len(cards)
    for links in cards:
        lines = [line for link in links for line in link]
        assert min(bottom - top for _, _, top, bottom in lines) >= _LEAST_FINGER_PX
        for one, other in combinations(links, 2):
            for (left, right, *heights), (others_left, others_right, *others_heights) in product(one, other):
                beneath = left < others_right and others_left < right
                assert not beneath or abs(sum(heights) - sum(others_heights)) / 2 >= _LEAST_FINGER_PX


@pytest.mark.parametrize("opened", [(688, True), (390, True), (320, True)], indirect=True)
def test_nothing_is_wider_than_the_page(opened: Page) -> None:
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
    width = opened.evaluate("innerWidth")
    columns = opened.locator(".gb-register tbody tr").first.evaluate(
        "row => new Set([...row.cells].map((cell) => cell.getBoundingClientRect().left)).size"
    )
    assert columns == (4 if width == 688 else 1)
    clipped = opened.evaluate(
        "[...document.querySelectorAll('.gb-table')].some((t) => t.scrollWidth > t.clientWidth)"
    )
    assert not clipped
