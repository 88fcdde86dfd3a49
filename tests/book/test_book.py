"""The built book as a reader meets it: in a real browser, with and without scripts, without a network."""

from __future__ import annotations

import gzip
import hashlib
import html
import json
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import product
from pathlib import Path
from typing import Literal

import msgspec
import papermill
import pytest
import yaml
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page

from gapbook.book import build
from gapbook.book.chapters import chapters, declared_parameters, overviews
from gapbook.book.kernel import read_text_notebook
from gapbook.charts._tokens import TOKENS
from gapbook.cli import main
from gapbook.method.stated import known_numbers
from gapbook.pages.short_citation import FORMS, place_of
from gapbook.paths import CHECKOUT
from gapbook.record.run import latest_published, published_folder
from gapbook.record.view import View, write_view
from tests.book.book_site import CHAPTER, Open, Site, Visit, gapbook
from tests.book.book_site import build as build_site
from tests.drawn import drawn

NUMBER = re.compile(r"×\d")
ANSWERED = re.compile(r"\d times\b")


COMPARED = (
    ("spacetimedb-2-waits-deep", "postgres-waits-deep"),
    ("spacetimedb-2-rust-deep", "postgres-rust-deep"),
)
"""The contestants of each comparison in the chapter's answer."""
OLDER = ("spacetimedb-rust-deep", "postgres-rust-deep")
"""Compared in the answer of a run that has no newer version."""


_MOST_BYTES = 400_000, 60_000
"""Of a page, and of it compressed."""
_MOST_BYTES_OF_BOOK = 25_000_000
"""Without the data of the runs; of it some five are pages, cards and data of single numbers, and files of figures."""


def answers_of(site: Site) -> list[bool]:
    """For each comparison of the answer whose contestants were measured: has it a common block at each α?"""
    measured = set(site.run.trials["contestant"])
    newer_ran = COMPARED[1][0] in measured
    compared = COMPARED if newer_ran else (*COMPARED, OLDER)
    return [_has_common_blocks(site, pair) for pair in compared if measured.issuperset(pair)]


def _has_common_blocks(site: Site, pair: tuple[str, str]) -> bool:
    rows = site.run.trials.filter(site.run.trials["valid"])
    for alpha in set(site.run.trials["treatment"]):
        over, under = (
            set(rows.filter((rows["contestant"] == name) & (rows["treatment"] == alpha))["block"])
            for name in pair
        )
        if not over & under:
            return False
    return True


# --- the pages ------------------------------------------------------------------------------------
def _is_clean(found: Visit) -> None:
    assert found.errors == []
    assert found.outside == []
    assert found.page.locator("article h1").count() == 1
    assert found.page.locator("article table:not(:has(> caption))").count() == 0


def test_every_page_opens_clean_from_a_file_and_its_links_have_targets(site: Site, visit: Open) -> None:
    for path in site.pages:
        found = visit(site, path, from_file=True)
        _is_clean(found)
        links = found.page.evaluate("""() => [...document.querySelectorAll("a[href]")]
            .map((link) => [link.href, link.getAttribute("href")])""")
        for absolute, written in links:
            if not absolute.startswith("file:"):
                continue
            target, _, fragment = absolute.removeprefix("file://").partition("#")
            file = Path(target.partition("?")[0])
            assert file.is_file(), f"{path} links to {written}"
            if fragment:
                assert _ids_of(file)[fragment] == 1, f"{path} links to {written}"


_PAST_THEIR_PANEL = """() => [...document.querySelectorAll(".gb-panel :is(input, select, button)")]
    .filter((one) => one.getBoundingClientRect().right > one.closest(".gb-panel").getBoundingClientRect().right)
    .map((one) => one.outerHTML)"""


def test_every_page_opens_clean_from_a_server_and_none_scrolls_sideways(site: Site, visit: Open) -> None:
    for path in site.pages:
        found = visit(site, path, width=390)
        _is_clean(found)
        for width, scheme in product((390, 1280), ("light", "dark")):
            found.page.set_viewport_size({"width": width, "height": 800})
            found.page.emulate_media(color_scheme=scheme)
            _fits_its_width(found.page)
        found.page.wait_for_function(
            """() => [...document.querySelectorAll(".gb-table")].every((one) => one.scrollWidth <= one.clientWidth
                || (one.tabIndex === 0 && one.role === "region" && one.ariaLabel.length > 9))"""
        )
        found.page.set_viewport_size({"width": 390, "height": 800})


def _fits_its_width(page: Page) -> None:
    width = page.evaluate("innerWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= width, (page.url, width)
    assert page.evaluate(_PAST_THEIR_PANEL) == [], (page.url, width)


def test_two_pages_fit_the_narrowest_and_the_widest_screen(published_site: Site, visit: Open) -> None:
    for path, width in product(drawn(published_site.pages, 2, "widths"), (320, 1920)):
        _fits_its_width(visit(published_site, path, width=width).page)


def test_every_page_opens_clean_without_scripts(site: Site, visit: Open) -> None:
    for path in site.pages:
        _is_clean(visit(site, path, scripts=False, from_file=True))


@cache
def _ids_of(file: Path) -> Counter[str]:
    return Counter(re.findall(r'id="([^"]*)"', file.read_text(encoding="utf-8")))


def test_cite_button_leads_to_the_citation_or_to_why_there_is_none(site: Site, visit: Open) -> None:
    page = visit(site).page
    page.locator('.gb-buttons a[href="#cite"]').click()
    assert page.locator("#cite").count() == 1


def test_phone_without_scripts_has_the_contents_and_the_colours_of_the_system(
    published_site: Site, visit: Open
) -> None:
    page = visit(published_site, width=390, dark=True, scripts=False).page
    assert page.evaluate("getComputedStyle(document.body).color") == _rgb(TOKENS["ink"][1])
    assert page.locator(".gb-inputs:visible").count() == 0
    page.locator(".gb-to-contents").click()
    assert page.locator("#pst-primary-sidebar a:visible", has_text="Method").count() == 1


@pytest.mark.parametrize(
    ("words", "first"), [("316", "316"), ("kill", "after a kill"), ("Drizzle", "Words")], ids=lambda one: one
)
def test_search_finds_numbers_and_words_from_a_file_too(
    published_site: Site, visit: Open, words: str, first: str
) -> None:
    found = visit(published_site, f"search.html?q={words}", from_file=True)
    found.page.locator("#search-results ul.search li a").first.wait_for()
    assert first in found.page.locator("#search-results ul.search li a").first.inner_text()
    offer = found.page.get_by_role("link", name=f"Look up “{words}” among published claims")
    assert offer.get_attribute("href") == f"notebooks/claims.html?q={words}"
    assert found.errors == []


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
def test_contents_lead_through_the_page(site: Site, visit: Open, scripts: bool) -> None:
    page = visit(site, scripts=scripts).page
    entries = page.locator(".bd-toc nav a:visible").all_text_contents()
    headings = page.locator("article h2").evaluate_all(
        "(all) => all.map((heading) => heading.firstChild.textContent)"
    )
    assert [entry.strip() for entry in entries][: len(headings)] == headings
    assert page.locator(".bd-sidebar-primary a:visible", has_text="Method").count() == 1
    parts = page.locator(".bd-sidebar-primary .caption:visible").all_text_contents()
    listed = yaml.safe_load((CHECKOUT / "_toc.yml").read_text(encoding="utf-8"))["parts"]
    assert [part.strip() for part in parts] == [part["caption"] for part in listed]


def test_reader_finds_theme_switch_and_downloads(site: Site, visit: Open) -> None:
    page = visit(site).page
    assert page.locator("button.theme-switch-button:visible").count() == 1
    downloads = page.locator(".dropdown-download-buttons a")
    assert downloads.count() >= 1
    assert all(link.get_attribute("download") is not None for link in downloads.all())
    text = page.locator("body").inner_text()
    assert "Show code\n" in text
    assert "Show code cell" not in text


def test_parameters_of_the_run_are_folded_away_but_not_on_paper(site: Site, visit: Open) -> None:
    page = visit(site).page
    cell = page.locator(".tag_parameters")
    assert cell.count() == 1
    code = cell.locator("pre").first
    told = code.text_content() or ""
    assert f'source = "{site.run.run_id}"' in told
    assert f"\nblocks = {site.run.manifest.blocks}\n" in told
    assert not code.is_visible()
    for event, visible in (("beforeprint", True), ("afterprint", False)):
        page.evaluate("(name) => window.dispatchEvent(new Event(name))", event)
        assert code.is_visible() == visible


_AUDITED = (
    "notebooks/front.html",
    "notebooks/copies-after-a-kill.html",
    "notebooks/copies-after-a-kill-trials.html",
    "notebooks/run-again.html",
    "book/method.html",
    "book/words.html",
    "search.html",
)
"""A page of each kind, the shorter ones."""
_THEMES: Sequence[tuple[Literal["light", "dark"], dict[str, list[str]] | None]] = (
    ("light", None),
    ("dark", {"runOnly": ["color-contrast"]}),
)
"""With what axe is asked in each: but for its colours, the one is the other."""


_WIDTHS = (390, 1440)
_LONGER = [
    *(
        f"notebooks/{name}.html"
        for name in drawn([name for name in chapters() if "accounts" in declared_parameters(name)], 2, "axe")
    ),
    *(f"notebooks/{name}.html" for name in ("claims", "compare", "explorer")),
    *map(place_of, drawn(sorted(known_numbers().numbers), 1, "axe")),
]
"""Each takes seconds: so of chapters of transfers and pages of numbers others each day, and each at one width."""
_ROWS = 12


@pytest.mark.parametrize("width", _WIDTHS)
@pytest.mark.parametrize("path", _AUDITED)
def test_axe_finds_nothing_in_either_theme(published_site: Site, visit: Open, path: str, width: int) -> None:
    _can_be_used_by_all(visit(published_site, path, width=width).page)


@pytest.mark.parametrize(
    ("path", "width"), [(path, width) for path in _LONGER for width in drawn(_WIDTHS, 1, path)]
)
def test_axe_finds_nothing_on_longer_pages(published_site: Site, visit: Open, path: str, width: int) -> None:
    page = visit(published_site, path, width=width).page
    for table in page.locator("article tbody").all():
        rows = table.locator("tr")
        # Hundreds of rows are made alike by one function; for all of them axe takes a minute.
        rows.evaluate_all(
            "(rows, kept) => rows.forEach((row, place) => kept.includes(place) || row.remove())",
            list(drawn(range(rows.count()), _ROWS, "rows")),
        )
    _can_be_used_by_all(page)


def _can_be_used_by_all(page: Page) -> None:
    # A colour that is still on its way to the other theme's is no colour of either.
    page.add_style_tag(content="* { transition: none !important; }")
    for scheme, options in _THEMES:
        page.emulate_media(color_scheme=scheme)
        found = Axe().run(page, options=options)
        assert found.violations_count == 0, found.generate_report()


# --- the answer -----------------------------------------------------------------------------------
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
def test_answer_is_a_number_only_when_the_run_has_one(site: Site, visit: Open, scripts: bool) -> None:
    page = visit(site, scripts=scripts).page
    page.locator("details.gb-full summary").click()
    sentence = page.locator(".gb-answer").inner_text()
    answers = answers_of(site)
    assert answers
    alphas = set(site.run.trials["treatment"])
    assert len(ANSWERED.findall(sentence)) == sum(answers) * len({min(alphas), max(alphas)})
    assert ("Not answered by this run" in sentence) != all(answers)
    said = page.locator(".gb-sentence").inner_text()
    assert ("Not answered by this run" in said) != bool(page.locator(".gb-sentence .gb-number").count())


def test_refused_run_says_so_and_draws_no_number(refused_site: Site, visit: Open) -> None:
    page = visit(refused_site).page
    assert "Not answered by this run" in page.locator(".gb-sentence").inner_text()
    assert page.locator(".gb-conditions").count() == 0
    figure = page.locator("figure.gb-fig").first
    assert "No comparison was measured" in figure.inner_text()
    assert not NUMBER.search(figure.inner_text())
    assert page.locator(".gb-cite").count() == 0
    assert "has no number to cite" in page.locator("article").inner_text()
    page.locator(".gb-proof a", has_text="every trial").click()
    page.locator("details.gb-fold summary", has_text="refused").click()
    table = page.locator("table", has=page.locator("caption", has_text="Refused trials"))
    assert table.locator("tbody tr").count() == refused_site.run.trials.height


def test_a_reader_who_has_the_old_server_alone_gets_a_page_too(tmp_path: Path) -> None:
    """Of the published run what such a reader can measure."""
    whole, has, busy = latest_published(CHAPTER), (*OLDER, "postgres-batch"), 1.5
    scenario = whole.manifest.scenario
    view = View(
        scenario=msgspec.structs.replace(
            scenario,
            contestants=[one for one in scenario.contestants if one.name in has],
            treatment=msgspec.structs.replace(scenario.treatment, values=[busy]),
        ),
        names={name: name for name in has},
        at={name: [busy] for name in has},
        systems=["postgres", "spacetimedb 1.2.0"],
        modules=whole.manifest.modules,
        parameters={**(whole.manifest.parameters or {}), "alpha": busy, "contestants": ",".join(has)},
        absent={},
    )
    site = build_site(write_view(whole, view, [CHAPTER]), tmp_path / "site")
    shown = (site.folder / "notebooks" / f"{CHAPTER}.html").read_text(encoding="utf-8")
    said = shown.partition('<p class="gb-sentence">')[2].partition("</p>")[0]
    assert 'class="gb-number"' in said


def test_no_published_answer_has_a_number_that_tells_too_little(published_site: Site) -> None:
    answered = 0
    for page in published_site.pages:
        shown = (published_site.folder / page).read_text(encoding="utf-8")
        answer = " ".join(re.findall(r'<p class="gb-answer">(.*?)</p>', shown, re.DOTALL))
        ratios = re.findall(r"[\d.,]+ times \[([\d.,]+)–([\d.,]+)\]", answer)
        answered += len(ratios)
        # Printed bounds have three digits, so a bound is off by half a per cent at most.
        wide = [one for one in ratios if _number(one[1]) > 4.05 * _number(one[0])]
        assert not wide, page
        if ratios:
            assert "another may differ by more than the intervals" in answer, page
            cited = " ".join(re.findall(r'<section[^>]* id="cite.*?</section>', shown, re.DOTALL))
            assert cited, page
            assert not re.findall(r"n = [12]\b", cited), page
    assert answered


def test_each_published_page_cites_what_its_first_screen_says(published_site: Site) -> None:
    """The same numbers, in their order, each with its own address in every form, and no others."""
    for name in chapters():
        if not any(published_folder(name).glob("*/manifest.json")):
            continue
        shown = html.unescape(
            (published_site.folder / "notebooks" / f"{name}.html").read_text(encoding="utf-8")
        )
        sentence = shown.partition('<p class="gb-sentence">')[2].partition("</p>")[0]
        said = re.findall(r'<strong class="gb-number">([^<]*)</strong>', sentence)
        cited = re.findall(
            r'<section[^>]* id="cite[^"]*" aria-label="Cite ([^"]*)"(.*?)</section>', shown, re.DOTALL
        )
        assert said, name
        assert said == [number for number, _ in cited], name
        for number, panel in cited:
            (address,) = set(re.findall(r'href="\.\./(n/[\w.-]+\.html)"', panel))
            assert panel.count(address) == len(FORMS) + 1, name
            assert _digits(number)[0] in panel, name


def _digits(text: str) -> list[str]:
    return re.findall(r"\d[\d,.]*", text)


def _number(printed: str) -> float:
    return float(printed.replace(",", ""))


def test_first_screen_reaches_the_footer_of_its_chart(published_site: Site, visit: Open) -> None:
    page = visit(published_site).page
    box = page.locator("figure.gb-fig .gb-wide .gb-svg").first.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 800


# --- the figures ----------------------------------------------------------------------------------
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
def test_figures_are_drawn_for_the_width_at_hand(site: Site, visit: Open, scripts: bool) -> None:
    for width, drawn_px in ((1280, 688), (390, 328)):
        page = visit(site, width=width, scripts=scripts).page
        figures = page.locator("figure.gb-fig")
        assert figures.count() >= 3
        for index in range(figures.count()):
            shown = figures.nth(index).locator(".gb-svg:visible")
            assert shown.count() == 1
            box = shown.bounding_box()
            assert shown.get_attribute("width") == str(drawn_px)
            assert box is not None
            assert box["width"] == 688 if width == 1280 else 328 <= box["width"] <= 390 - 2 * 16


def test_figures_can_be_read_aloud(site: Site, visit: Open) -> None:
    page = visit(site).page
    for drawing in page.locator("figure.gb-fig .gb-svg").all():
        assert drawing.get_attribute("role") == "img"
        for attribute, tag in (("aria-labelledby", "title"), ("aria-describedby", "desc")):
            named = drawing.locator(f'{tag}[id="{drawing.get_attribute(attribute)}"]')
            assert named.count() == 1
            assert len(named.text_content() or "") > 20


def test_figures_take_the_colours_of_the_theme(site: Site, visit: Open) -> None:
    texts = {}
    for dark in (False, True):
        page = visit(site, dark=dark).page
        assert page.evaluate("document.documentElement.dataset.theme") == ("dark" if dark else "light")
        title = page.locator("figure.gb-fig .gb-svg:visible text").first
        texts[dark] = title.evaluate("(text) => getComputedStyle(text).fill")
    assert texts == {False: _rgb(TOKENS["ink"][0]), True: _rgb(TOKENS["ink"][1])}


def test_theme_switch_recolours_figures_at_once(site: Site, visit: Open) -> None:
    page = visit(site).page
    title = page.locator("figure.gb-fig .gb-svg:visible text").first
    seen = set()
    for _ in range(3):
        switch = page.locator("button.theme-switch-button:visible")
        switch.focus()
        page.keyboard.press("Enter")
        page.wait_for_function("(button) => document.activeElement === button", arg=switch.element_handle())
        seen.add(title.evaluate("(text) => getComputedStyle(text).fill"))
    assert seen == {_rgb(TOKENS["ink"][0]), _rgb(TOKENS["ink"][1])}


def _rgb(colour: str) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgb({red}, {green}, {blue})"


# --- the panels -----------------------------------------------------------------------------------
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
def test_citation_is_shown_in_each_of_its_forms(site: Site, visit: Open, scripts: bool) -> None:
    page = visit(site, scripts=scripts).page
    if not any(answers_of(site)):
        assert page.locator(".gb-cite").count() == 0
        return
    panel = page.locator(".gb-cite").first
    texts = []
    for label in ("BibTeX", "Markdown", "Text"):
        panel.locator("label", has_text=label).click()
        shown = panel.locator(".gb-code:visible")
        assert shown.count() == 1
        texts.append(shown.inner_text())
    assert site.run.run_id in texts[0]
    if site.run.published:
        # From where the page was opened, which a script knows; else from the book's first page on.
        address = page.locator(".gb-address").first.evaluate("(link) => link.href")
        address = address if scripts else address[address.index("/n/") + 1 :]
        assert all(address in text for text in texts)
    assert len(set(texts)) == 3
    assert texts[0].startswith("@")
    copy = panel.locator(".gb-copy")
    if not scripts:
        assert not copy.is_visible()
        return
    _copy(panel)
    assert page.evaluate("navigator.clipboard.readText()") == texts[-1]


def _copy(panel: Locator) -> None:
    """Press the button, and wait until it has said that it copied, which it says for two seconds only."""
    button = panel.locator(".gb-copy")
    button.evaluate(
        """(button) => {
            button.said = [];
            new MutationObserver(() => button.said.push(button.textContent)).observe(button, {childList: true});
        }"""
    )
    button.click()
    panel.page.wait_for_function("(button) => button.said.includes('copied')", arg=button.element_handle())
    assert panel.page.locator("main [role=status].gb-said").text_content() == "copied"


def test_command_follows_its_inputs(site: Site, visit: Open) -> None:
    page = visit(site).page
    panel = page.locator(".gb-rerun")
    panel.locator('[data-input="blocks"]').fill("9")
    panel.locator('[data-input="durability"]').fill("it's none")
    words = shlex.split(panel.locator(".gb-command").inner_text())
    assert words[:3] == ["gapbook", "run", CHAPTER]
    assert "blocks=9" in words
    assert "durability=it's none" in words
    _copy(panel)
    assert shlex.split(page.evaluate("navigator.clipboard.readText()")) == words


def test_a_value_that_would_be_refused_is_said_and_no_part_of_the_command(site: Site, visit: Open) -> None:
    panel = visit(site).page.locator(".gb-rerun")
    command, said = panel.locator(".gb-command"), panel.locator(".gb-invalid")
    before = command.inner_text()
    assert said.inner_text() == ""
    for name, value in (
        ("connections", "64abc; rm"),
        ("connections", "10001"),
        ("window_s", "0,5"),
        ("alpha", "1,6"),
    ):
        field = panel.locator(f'[data-input="{name}"]')
        was = field.input_value()
        field.fill(value)
        assert said.inner_text().startswith(f"{name}: {value} is not allowed; allowed: ")
        assert command.inner_text() == before
        assert panel.locator(".gb-copy").is_disabled()
        field.fill(was)
        assert (said.inner_text(), command.inner_text()) == ("", before)
    assert panel.locator(".gb-copy").is_enabled()


def test_command_is_that_of_the_run_without_scripts(site: Site, visit: Open) -> None:
    panel = visit(site, scripts=False).page.locator(".gb-rerun")
    words = shlex.split(panel.locator(".gb-command").inner_text())
    assert f"blocks={1 + max(site.run.trials['block'])}" in words
    assert not panel.locator(".gb-copy").is_visible()


# --- the files ------------------------------------------------------------------------------------
def test_downloads_are_the_run_itself(site: Site, visit: Open) -> None:
    page = visit(site).page
    linked = page.locator(".gb-buttons a[download]").evaluate_all(
        "(all) => all.map((link) => link.getAttribute('href'))"
    )
    folder = site.folder / "_static" / "runs" / site.run.run_id
    for href in linked:
        assert (site.folder / "notebooks" / href).resolve().parent == folder.resolve()
        with page.expect_download() as download:
            page.locator(f'.gb-buttons a[href="{href}"]').click()
        assert download.value.failure() is None
    for name in ("trials.parquet", "manifest.json"):
        assert f"../_static/runs/{site.run.run_id}/{name}" in linked
        assert (folder / name).read_bytes() == (site.run.folder / name).read_bytes()


def test_notebook_of_a_page_runs_as_it_is_offered(site: Site, visit: Open, tmp_path: Path) -> None:
    page = visit(site).page
    href = page.locator('.dropdown-download-buttons a[href$=".ipynb"]').get_attribute("href")
    assert href is not None
    offered = (site.folder / "notebooks" / href).resolve()
    again = tmp_path / offered.name
    papermill.execute_notebook(
        offered,
        again,
        parameters={"source": site.run.run_id},
        kernel_name="python3",
        progress_bar=False,
        start_timeout=300,
    )
    assert site.run.run_id in again.read_text(encoding="utf-8")


def test_notebooks_are_offered_in_the_order_in_which_they_run(site: Site) -> None:
    for name in (*chapters(), *overviews()):
        offered = site.folder / "_sources" / "notebooks" / f"{name}.ipynb"
        if offered.is_file():
            text = offered.read_text(encoding="utf-8")
            ran = [
                "".join(cell["source"])
                for cell in json.loads(text)["cells"]
                if "injected-parameters" not in cell["metadata"].get("tags", [])
            ]
            written = json.loads(read_text_notebook(CHECKOUT / "notebooks" / f"{name}.md"))["cells"]
            # Where the text glues a value, the notebook has the value itself.
            expected = [re.split(r"\{glue:text\}`[^`]*`", "".join(cell["source"])) for cell in written]
            assert all(
                re.fullmatch("[^{]*".join(map(re.escape, parts)), source)
                for parts, source in zip(expected, ran, strict=True)
            ), name
            assert str(CHECKOUT) not in text, "the machine that made the book"


def test_chapter_leads_to_the_explorer_set_to_its_first_comparison(published_site: Site, visit: Open) -> None:
    page = visit(published_site).page
    page.locator(".gb-proof").get_by_text("Set both sides otherwise").click()
    # Both sides were measured, so the page names the run that the chapter shows, or a newer one of the same two.
    page.locator(".gb-details a").first.wait_for()
    assert "/explorer.html?a=" in page.url
    assert page.locator(".gb-rates dt").count() == 2


def test_chapter_and_page_of_its_trials_lead_to_each_other(site: Site, visit: Open) -> None:
    page = visit(site).page
    line = page.locator(".gb-proof")
    valid, trials = int(site.run.trials["valid"].sum()), site.run.trials.height
    assert line.inner_text().startswith(f"{valid:,} of {trials:,} trials count: every trial.")
    line.get_by_text("every trial").click()
    assert page.locator("article h1").inner_text().startswith("Every trial: ")
    assert site.run.run_id in page.locator(".gb-provenance").inner_text()
    table = page.locator("#every-trial details table")
    assert table.locator("tbody tr").count() == trials
    page.locator(f'article p a[href="{CHAPTER}.html"]').click()
    assert page.url.endswith(f"/{CHAPTER}.html")


def test_page_names_the_run_that_it_shows(site: Site, visit: Open) -> None:
    page = visit(site).page
    page.locator("details.gb-full summary").click()
    assert site.run.run_id in page.locator(".gb-provenance").inner_text()
    assert page.locator(".gb-banner-own-run").count() == (0 if site.run.published else 1)


def test_pages_and_book_are_small(published_site: Site) -> None:
    for path in (*published_site.folder.glob("book/*.html"), *published_site.folder.glob("notebooks/*.html")):
        page = str(path.relative_to(published_site.folder))
        content = path.read_bytes()
        most, most_compressed = _MOST_BYTES
        assert len(content) <= most, page
        assert len(gzip.compress(content)) <= most_compressed, page
    assert not list((published_site.folder / "_static").rglob("*.map"))
    # Trials of runs, and beside them the numbers of runs that were replaced.
    data = {published_site.folder / "_static" / name for name in ("runs", "replaced")}
    files = [
        path for path in published_site.folder.rglob("*") if path.is_file() and not data & {*path.parents}
    ]
    assert sum(path.stat().st_size for path in files) <= _MOST_BYTES_OF_BOOK


# --- the build ------------------------------------------------------------------------------------
def test_run_whose_file_is_gone_is_refused_before_rendering(own_site: Site, tmp_path: Path) -> None:
    trials = own_site.run.folder / "trials.parquet"
    with _without(trials, tmp_path):
        done = gapbook("run", CHAPTER, "-p", f"source={own_site.run.run_id}")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1, done.stderr
    missing, what_to_do = done.stderr.split("; ")
    assert missing == f"gapbook: run {own_site.run.run_id}: trials.parquet is missing"
    assert what_to_do == "take a fresh copy of the run, or name another with source=\n"


def test_what_is_built_again_is_the_same_to_the_byte(published_site: Site) -> None:
    done = gapbook("book", "--timings", offline=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "are executed" not in done.stdout
    told = re.findall(r"^ +[\d.]+ s  (.+)$", done.stdout, re.MULTILINE)
    assert told == [
        "all chapters executed",
        "pages laid out",
        "pages rendered",
        "pages of numbers written",
        "the whole book",
    ]
    again = build.published_page()
    assert again is not None
    assert _contents(again.parent) == _contents(published_site.folder)


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).digest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_book_without_a_published_run_says_so_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build, "published_folder", lambda chapter: CHECKOUT / "results" / f"no-{chapter}")
    assert main(["book"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert re.fullmatch(rf"gapbook: book: chapter {CHAPTER} has no published run.*\n", said.err)


@contextmanager
def _without(path: Path, elsewhere: Path) -> Iterator[None]:
    """A file put aside for a while."""
    aside = elsewhere / path.name
    shutil.move(path, aside)
    try:
        yield
    finally:
        shutil.move(aside, path)
