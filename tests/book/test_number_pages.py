"""The pages of single numbers: whole without a script, with data, card, and what a link to them shows."""

from __future__ import annotations

import csv
import html
import json
import re
import struct
from pathlib import Path

from gapbook.book.figures import known_figures
from gapbook.charts import CARD_HEIGHT, CARD_WIDTH
from gapbook.method.stated import known_numbers
from tests.book.book_site import Open, Site
from tests.drawn import drawn

_LOOKED_AT = 4
_PNG_SIZE = slice(16, 24)
"""Width and height in the header of a PNG."""


def test_every_number_has_its_page_its_data_and_its_card(published_site: Site) -> None:
    folder, known = published_site.folder / "n", known_numbers()
    made = {path.stem for path in folder.glob("*.html")}
    assert made == known.numbers.keys() | known.withdrawn.keys()
    for identifier, number in known.numbers.items():
        page = html.unescape((folder / f"{identifier}.html").read_text(encoding="utf-8"))
        assert "<script" not in page
        assert len(re.findall(r"<table><caption[^>]*>.", page)) == page.count("<table"), identifier
        assert f'property="og:title" content="{number.sentence}"' in page
        assert f'property="og:image" content="{identifier}.png"' in page
        data = json.loads((folder / f"{identifier}.json").read_text(encoding="utf-8"))
        parts = data["number"].get("parts", [{"quantity": number.quantity, "value": number.value}])
        assert number.quantity == "; ".join(part["quantity"] for part in parts)
        told = [text for part in parts for text in part.values()]
        for text in (*told, number.value, number.run, number.date, f"n/{identifier}.html"):
            assert text in page, (identifier, text)
        for target in re.findall(r'(?:href|src|srcset)="(\.[^"#]*|[\w-][\w.-]*)"', page):
            assert (folder / target).is_file(), (identifier, target)
        assert struct.unpack(">II", (folder / f"{identifier}.png").read_bytes()[_PNG_SIZE]) == (
            CARD_WIDTH,
            CARD_HEIGHT,
        )
        assert data["identifier"] == identifier
        head, *rows = csv.reader((folder / f"{identifier}.csv").read_text(encoding="utf-8").splitlines())
        assert rows
        assert len(rows) == len(data["number"].get("rows", parts))
        assert all(len(row) == len(head) for row in rows)


def test_every_chart_of_a_page_leads_to_its_files_under_the_name_that_is_kept(published_site: Site) -> None:
    folder, known = published_site.folder / "figures", known_figures().figures
    assert {path.stem for path in folder.glob("*.png")} == known.keys()
    for page in {one.page for one in known.values()}:
        shown = (published_site.folder / "notebooks" / f"{page}.html").read_text(encoding="utf-8")
        own = [name for name, one in known.items() if one.page == page]
        assert shown.count('<figure class="gb-fig"') == len(own), page
        for name in own:
            for kind in ("svg", "png", "csv", "json"):
                assert shown.count(f'href="../figures/{name}.{kind}"') == 1, name
                assert (folder / f"{name}.{kind}").stat().st_size > 0, name
            columns = next(csv.reader((folder / f"{name}.csv").read_text(encoding="utf-8").splitlines()), [])
            assert tuple(columns) == known[name].columns


def test_figures_and_chapters_say_what_a_link_shows(published_site: Site) -> None:
    chapters = {number.page for number in known_numbers().numbers.values()} - {"front", "claims"}
    for chapter in chapters:
        assert (published_site.folder / "figures" / f"{chapter}-phone.svg").stat().st_size > 0, chapter
        page = (published_site.folder / "notebooks" / f"{chapter}.html").read_text(encoding="utf-8")
        head = html.unescape(page.partition("</head>")[0])
        for name in ("description", "citation_title", "citation_author", "citation_publication_date"):
            assert len(re.findall(rf'<meta name="{name}" content="[^"]+', head)) == 1, (chapter, name)
        dates = {number.date for number in known_numbers().numbers.values() if number.page == chapter}
        assert f'name="citation_publication_date" content="{max(dates).replace("-", "/")}"' in head, chapter
        card = re.search(r'property="og:image" content="([^"]+)"', head)
        assert card is not None, chapter
        assert Path(published_site.folder / "notebooks" / card[1]).is_file()


def test_pages_of_numbers_open_clean_on_a_phone(published_site: Site, visit: Open) -> None:
    for identifier in drawn(sorted(known_numbers().numbers), _LOOKED_AT):
        found = visit(published_site, f"n/{identifier}.html", width=390, scripts=False)
        assert found.errors == []
        assert found.outside == []
        assert found.page.locator("h1").count() == 1
        assert found.page.evaluate("document.documentElement.scrollWidth") <= 390, identifier
