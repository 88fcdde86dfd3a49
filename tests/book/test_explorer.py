"""The explorer in a browser: two sides set by keyboard, kept in the address, and every pair as its chapter has it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from gapbook.pages.explorer import Explorer, HeldCell
from gapbook.paths import CHECKOUT
from gapbook.record.published import measurement_of

_STATIC = CHECKOUT / "book" / "_static"
_MOST_BYTES = 50_000
_MOST_WORDS = 40
_EXAMPLE = ("Waits", "both-optimized", "spacetimedb-2-waits-deep", "postgres-waits-deep", 0.5)
_OF_ALL_PAIRS = """() => {
  const { cells } = document.querySelector(".gb-explorer").explorer;
  const found = [];
  for (const loaded of cells.loaded) {
    const sides = [...loaded.bySide.keys()].map((index) => cells.sides[index]);
    for (const left of sides) for (const right of sides) {
      if (left === right) continue;
      const state = { sides: [left, right], exponent: loaded.exponent, load: loaded.load };
      const asked = cells.read(`#${cells.address(state)}`);
      const answer = cells.answer(asked.state, "https://example.org/explorer.html");
      for (const held of answer.held) {
        const { run, treatment } = held.loaded;
        if (held.loaded !== loaded) continue;
        const cited = held.told ? cells.citation(state, held, held, "https://example.org/explorer.html") : "";
        found.push([run.id, Number(treatment), ...held.cells.map(({ name }) => name), held.short, cited]);
      }
    }
  }
  return found;
}"""


@pytest.fixture(scope="module")
def explorer() -> Explorer:
    return Explorer()


@pytest.fixture(scope="module")
def file(explorer: Explorer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The form and the table with the book's own styles and scripts, and nothing round them."""
    path = tmp_path_factory.mktemp("explorer") / "explorer.html"
    form = explorer.page("where-the-gap-comes-from", "spacetimedb-rust-deep", "drizzle-rpc-typescript", 0.5)
    sheets, scripts = (
        [(_STATIC / f"{name}.{kind}").as_uri() for name in ("gapbook", "explorer")] for kind in ("css", "js")
    )
    path.write_text(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Explorer</title>"
        "<meta name=viewport content='width=device-width'><style>*{box-sizing:border-box}body{margin:0}</style>"
        + "".join(f"<link rel=stylesheet href='{sheet}'>" for sheet in sheets)
        + "".join(f"<script defer src='{script}'></script>" for script in scripts)
        + f"<main class='bd-content'>{form.html}{explorer.examples(_EXAMPLE).html}{explorer.table().html}</main>",
        encoding="utf-8",
    )
    return path


@pytest.fixture
def opened(browser: Browser, file: Path, request: pytest.FixtureRequest) -> Iterator[Page]:
    width, script = getattr(request, "param", (1440, True))
    context = browser.new_context(viewport={"width": width, "height": 800}, java_script_enabled=script)
    page = context.new_page()
    page.goto(file.as_uri())
    yield page
    context.close()


def _by_keyboard(page: Page, fieldset: str, label: str, words: str) -> None:
    """Chooses as one who has no mouse: goes to the list and types what it says."""
    found = page.locator("fieldset", has_text=fieldset).get_by_label(label, exact=True)
    found.focus()
    page.keyboard.type(words)


def test_two_sides_are_set_by_keyboard_and_the_address_restores_them(opened: Page) -> None:
    status, pick = opened.locator(".gb-result"), "Pick one that was measured"
    expect(status).to_contain_text("times")
    _by_keyboard(
        opened,
        "Side A",
        pick,
        "SpacetimeDB 2.8.3, Rust client, stored procedure, 40 in flight, on disk later",
    )
    _by_keyboard(
        opened, "Side B", pick, "Postgres 18.6, Rust client, stored procedure, 40 in flight, on disk later"
    )
    _by_keyboard(opened, "For both", "How many want one account", "63 %")
    _by_keyboard(opened, "For both", "Connections and transfers", "64 connections")
    said = status.inner_text()
    assert said.startswith("SpacetimeDB 2.8.3 (side A) does ")
    assert "times [" in said
    rates = opened.locator(".gb-rates dt").all_inner_texts()
    assert [rate[:8] for rate in rates] == ["Side A: ", "Side B: "]
    assert all("]/s in 4 blocks" in rate for rate in rates)
    assert "63 % of transfers want the busiest account" in opened.locator(".gb-details").inner_text()
    address = opened.url.partition("#")[2]
    assert address == (
        "a=spacetimedb-2.8.3_rust_direct_one-call_40_delayed&b=postgres-18.6_rust_direct_one-call_40_delayed"
        "&alpha=1.5&load=64-1-destination"
    )
    assert opened.locator(".gb-cite-this .gb-code").inner_text().endswith(opened.url)
    assert "-p contestants=" in opened.locator(".gb-again .gb-code").inner_text()

    opened.goto("about:blank")
    opened.go_back()
    expect(status).to_have_text(said)
    lists = opened.locator("fieldset", has_text="Side A").locator("select")
    assert lists.nth(5).evaluate("one => one.selectedOptions[0].textContent") == "40"


def test_what_was_not_measured_has_no_ratio_and_leads_to_the_nearest(opened: Page) -> None:
    status = opened.locator(".gb-result")
    _by_keyboard(opened, "Side B", "Client", "Python")
    _by_keyboard(opened, "Side B", "Requests in flight on each connection", "256")
    assert status.inner_text() == "No measurement under this load: side B."
    assert opened.locator(".gb-cite-this:visible, .gb-again:visible").count() == 0
    offers = opened.locator(".gb-offers button")
    assert offers.count() > 1
    told = [(text.count(", System"), text.count(" instead of ")) for text in offers.all_inner_texts()]
    # Those of the two systems come first, and of them the nearest.
    assert told == sorted(told)
    assert told[0] == (0, 1)
    offers.first.press("Enter")
    said = status.inner_text()
    expect(status).to_contain_text("×" if "cannot tell" in said or "Too wide" in said else "times")
    expect(status).to_be_focused()


def test_links_of_the_page_set_both_sides_and_lead_to_rows(opened: Page, explorer: Explorer) -> None:
    link = opened.locator("main > ul a")
    number = link.inner_text().partition(": ")[2]
    link.click()
    status = opened.locator(".gb-result")
    expect(status).to_contain_text(number)
    said = status.inner_text()
    (key, *_) = explorer.by_key
    row = opened.locator(f"#cell-{key}")
    expect(row).to_be_hidden()
    opened.evaluate(f"location.hash = 'cell-{key}'")
    expect(row).to_be_in_viewport()
    assert status.inner_text() == said


def test_every_measured_side_is_one_choice_away_and_none_is_called_like_another(
    opened: Page, explorer: Explorer
) -> None:
    texts = opened.locator("select").first.locator("option").all_inner_texts()
    assert len(set(texts)) == len(texts) == 1 + len({cell.side for cell in explorer.cells})


def test_a_side_that_draws_its_accounts_otherwise_stands_under_its_own_exponent(explorer: Explorer) -> None:
    own = [cell for cell in explorer.cells if "alpha" in cell.contestant.settings.parameters]
    assert own
    assert {cell.exponent for cell in own} == {1.5}
    assert not [cell for cell in explorer.cells for choice in cell.side if "alpha" in choice.words]
    assert all(one.exponent == other.exponent for one, other in explorer.pairs())


def test_address_of_another_version_shows_the_nearest_name_and_says_so(opened: Page) -> None:
    asked = opened.url + "#a=postgres-18.5_rust_direct_one-call_64_delayed&b=nonsense&alpha=1.5&load=50-1000"
    opened.goto(asked)
    details = opened.locator(".gb-details").inner_text()
    assert "“postgres-18.5”" in details
    assert "“nonsense”" in details
    assert (
        opened.locator("select").nth(1).evaluate("one => one.selectedOptions[0].textContent")
        == "Postgres 18.6"
    )


@pytest.mark.parametrize("opened", [(390, True), (390, False), (1440, False)], indirect=True)
def test_fits_a_phone_and_is_whole_without_a_script(opened: Page, explorer: Explorer) -> None:
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
    opened.locator(".gb-cells summary").click()
    assert opened.locator(".gb-cells tbody tr").count() == len(explorer.by_key)
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_data_is_small(opened: Page) -> None:
    data = opened.locator(".gb-explorer").get_attribute("data-cells")
    assert data is not None
    assert 10_000 < len(data.encode()) <= _MOST_BYTES


def test_every_pair_is_what_its_chapter_has_and_its_citation_is_short(
    opened: Page, explorer: Explorer
) -> None:
    told = {(run, at, one, other): rest for run, at, one, other, *rest in opened.evaluate(_OF_ALL_PAIRS)}
    wrong, long = [], []
    # Chapters that were measured together hold the same pair; the page has it once, as one of them.
    alike: dict[tuple[str, str, str], list[tuple[HeldCell, HeldCell]]] = {}
    for one, other in explorer.pairs():
        for left, right in ((one, other), (other, one)):
            pair = measurement_of(left.found.run), left.key, right.key
            alike.setdefault(pair, []).append((left, right))
    for of_chapters in alike.values():
        shown = [
            (left, right, place)
            for left, right in of_chapters
            if (
                place := (
                    left.found.run.run_id,
                    left.treatment,
                    left.contestant.name,
                    right.contestant.name,
                )
            )
            in told
        ]
        assert len(shown) == 1
        for left, right, place in shown:
            short, cited = told.pop(place)
            expected, stands_alone = _as_the_chapter_has_it(left, right)
            if not short.startswith(expected) or bool(cited) != stands_alone:
                wrong.append(f"{place}: {short}, not {expected}")
            if len(cited.partition(" https://")[0].split()) > _MOST_WORDS:
                long.append(cited)
    assert not told, "pairs that no run holds"
    assert not wrong, f"{len(wrong)}: {wrong[:5]}"
    assert not long, f"{len(long)}: {long[:5]}"


def _as_the_chapter_has_it(one: HeldCell, other: HeldCell) -> tuple[str, bool]:
    """The faster one over the slower one, and whether that may be named."""
    over, under = one.contestant.name, other.contestant.name
    ratio = one.found.ratio(over, under, one.treatment)
    if ratio and ratio.estimate < 1:
        ratio = one.found.ratio(under, over, one.treatment)
    assert ratio is not None
    jams = one.jams or other.jams
    return "jams" if jams else f"{ratio.as_factor()}, ", ratio.tells and not jams
