"""What a reader gets in ten seconds: the limits of a first screen, on every page that has one."""

from __future__ import annotations

import html
import re

import pytest

from gapbook.book.chapters import chapters
from gapbook.record.run import latest_published
from tests.book.book_site import Site

_MOST_WORDS, _MOST_NUMBERS, _MOST_ROWS = 90, 12, 8
_PARTS = re.compile(
    r'<(h1|p class="gb-(?:claim|verdict|sentence|conditions)[^"]*")>(.*?)</(?:h1|p)>', re.DOTALL
)
_NO_QUANTITIES = re.compile(
    r"\d{4}-\d\d(?:-\d\d)?|\d+(?:\.\d+){2,}|#\d+|[A-Za-z]+\d+|(?:Litestream|walsync) [\d.]+"
)
"""Dates, versions, the numbers of pull requests, and names such as V8."""
_NUMBER = re.compile(r"\d[\d,.]*")
_ROW, _CELL = (re.compile(rf"<{tag}\b[^>]*>(.*?)</{tag}>", re.DOTALL) for tag in ("tr", "t[hd]"))
_PAGES = [f"notebooks/{name}.html" for name in ("front", *chapters())]
_SAID = re.compile(r'<p class="gb-(?:sentence|conditions)">(.*?)</p>', re.DOTALL)
_OF_ALL = {
    "version": re.compile(r"\d+\.\d+\.\d+|\bPostgres \d+\.\d+|\bno version\b"),
    "promise about the disk": re.compile(r"\bdisk\b|\bnothing is stored\b"),
    "machine": re.compile(r"(client and server|writer, replicator and storage) on \d+ cores"),
}
_WANTED = re.compile(r"\bwant (?:the same|one) account\b|\ball accounts wanted alike\b")
_LOAD = re.compile(
    r"\b\d+ (?:users|connections|databases|requests at a time)\b|\b[Oo]ne (?:database|request at a time)\b"
)
"""What stands in the place of accounts where there are none."""


def first_screen_of(site: Site, page: str) -> tuple[str, str]:
    """The text of a page outside its first chart, and that chart's HTML."""
    shown = (site.folder / page).read_text(encoding="utf-8")
    screen, _, rest = shown.partition('<figure class="gb-fig"')
    # The title stands twice: the first is that of print.
    title = screen.rpartition("<h1>")
    parts = [html.unescape(re.sub(r"<[^>]*>", "", part)) for _, part in _PARTS.findall("".join(title[1:]))]
    return " ".join(" ".join(parts).removesuffix("#").split()), rest.partition("</figure>")[0]


def rows_of(chart: str) -> list[str]:
    """What a chart draws on a row of its own, by its data: a line once, and of a waterfall not the gap that its steps make."""
    head, *rows = (
        [html.unescape(re.sub(r"<[^>]*>", "", cell)) for cell in _CELL.findall(row)]
        for row in _ROW.findall(chart)
    )
    if head[0] == "line":
        return list(dict.fromkeys(row[0] for row in rows))
    return [" ".join(row[:2]) for row in rows if row[0] != "whole gap"]


@pytest.mark.parametrize("page", _PAGES)
def test_a_first_screen_is_read_in_ten_seconds(published_site: Site, page: str) -> None:
    text, chart = first_screen_of(published_site, page)
    words, numbers = text.split(), _NUMBER.findall(_NO_QUANTITIES.sub("", text))
    assert 20 < len(words) <= _MOST_WORDS, text
    assert 0 < len(numbers) <= _MOST_NUMBERS, numbers
    assert 0 < len(rows_of(chart)) <= _MOST_ROWS, rows_of(chart)


@pytest.mark.parametrize("page", _PAGES)
def test_a_first_screen_says_under_which_conditions_its_numbers_hold(published_site: Site, page: str) -> None:
    shown = (published_site.folder / page).read_text(encoding="utf-8")
    said = " ".join(html.unescape(re.sub(r"<[^>]*>", "", part)) for part in _SAID.findall(shown))
    missing = [named for named, pattern in _OF_ALL.items() if not pattern.search(said)]
    chapter = page.removeprefix("notebooks/").removesuffix(".html").replace("front", "todays-headline")
    has_accounts = latest_published(chapter).scenario.workload.accounts
    if not (_WANTED if has_accounts else _LOAD).search(said):
        missing.append("how many want the same account" if has_accounts else "load")
    assert not missing, said


def test_a_first_screen_leads_to_the_source_of_its_claim(published_site: Site) -> None:
    led = 0
    for page in _PAGES:
        shown = (published_site.folder / page).read_text(encoding="utf-8")
        for claim in re.findall(r'<p class="gb-claim">(.*?)</p>', shown):
            assert re.search(r'<a href="https://[^"]+">', claim), (page, claim)
            led += 1
    assert led > len(_PAGES) / 3
