"""How long a chapter may be, first screen, code and what is folded away left out."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from gapbook.book.chapters import chapters
from tests.book.book_site import Open, Site

_SCREEN_PX = 900
_MEASURE = """() => {
  const main = document.querySelector("article");
  const left_out = "figure, details:not([open]), script, style, .cell_input, .tag_first-screen";
  const texts = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  let words = 0;
  while (texts.nextNode())
    if (!texts.currentNode.parentElement.closest(left_out))
      words += texts.currentNode.data.split(/\\s+/).filter((word) => /[\\p{L}\\p{N}]/u.test(word)).length;
  const tables = [...main.querySelectorAll("table")].filter((table) => !table.closest(left_out));
  const rows = tables.map((table) => table.querySelectorAll("tbody tr").length);
  return [words, main.querySelectorAll("figure.gb-fig").length, tables.length, Math.max(0, ...rows),
          document.documentElement.scrollHeight];
}"""


@dataclass(frozen=True)
class _Length:
    """Words, charts, tables, rows of the longest table, and screens of 900 px on a desktop."""

    words: int
    charts: int
    tables: int
    rows: int
    screens: float


_MOST = _Length(1500, 4, 3, 12, 8)


def test_chapters_are_as_short_as_they_promise(published_site: Site, visit: Open) -> None:
    too_long = []
    for name in chapters():
        page = visit(published_site, f"notebooks/{name}.html", width=1440, from_file=True).page
        words, charts, tables, rows, height_px = page.evaluate(_MEASURE)
        found = _Length(words, charts, tables, rows, round(height_px / _SCREEN_PX, 1))
        too_long += [
            f"{name}.html: {value} {field}, at most {allowed}"
            for field, value, allowed in zip(
                _Length.__dataclass_fields__, astuple(found), astuple(_MOST), strict=True
            )
            if value > allowed
        ]
    assert not too_long, "\n".join(too_long)
