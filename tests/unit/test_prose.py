"""Typed numbers in prose are refused; numbers that come from a run, code and link targets are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from gapbook.book.chapters import chapters, overviews
from gapbook.book.prose import printed_limits, require_no_typed_numbers
from gapbook.errors import GapbookError
from gapbook.paths import CHECKOUT

_HEAD = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  name: python3
  display_name: Python 3
  language: python
---

# Title

"""


def _notebook(folder: Path, prose: str) -> Path:
    path = folder / "chapter.md"
    path.write_text(_HEAD + prose + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("prose", "number"),
    [
        ("It is 14 times as fast.", "14"),
        ("It is 14× as fast.", "14"),
        ("It is faster by 3.5.", "3.5."),
        ("A gain of +20 %.", "+20"),
        ("It fell to −3.", "−3."),
        ("With 100,000 accounts.", "100,000"),
        ("- item\n- another with 7 of them", "7"),
        ("See {glue:text}`x` and 9 more.", "9"),
        ("See `code` and 9 more.", "9"),
        ("| a | b |\n| --- | --- |\n| x | 12 |", "12"),
        ("It came out up to a seventh below.", "a seventh"),
        ("It begins at nine tenths.", "nine tenths"),
        ("Node begins at about half of its rate.", "half"),
        ("It does twice as much.", "twice"),
        ("It needs three seconds.", "three seconds"),
        ("It has two cores.", "two cores"),
        ("It is fourteen times as fast.", "fourteen times"),
        ("Dozens of trials.", "Dozens"),
        ("Ninety percent of it.", "Ninety percent"),
    ],
)
def test_typed_number_is_refused_with_its_place(tmp_path: Path, prose: str, number: str) -> None:
    with pytest.raises(GapbookError) as caught:
        require_no_typed_numbers(_notebook(tmp_path, prose))
    message = str(caught.value)
    assert message.startswith(f"chapter.md: cell 1 has the typed number '{number}'")
    assert "claims.toml" in message
    assert "\n" not in message


def test_the_cell_is_named_by_its_place(tmp_path: Path) -> None:
    prose = "Fine.\n\n```{code-cell}\nx = 5\n```\n\nNow 5 is typed."
    with pytest.raises(GapbookError, match=r"cell 3 has the typed number '5'"):
        require_no_typed_numbers(_notebook(tmp_path, prose))


@pytest.mark.parametrize(
    "prose",
    [
        "It is {glue:text}`ratio:.2f` times as fast.",
        "Cited {cite}`smith2011`.",
        "`wal_writer_delay = 166` is a setting.",
        "```{code-cell}\nx = 5\n```",
        "```toml\nport = 5432\n```",
        "[the page](https://example.org/2024/11#4)",
        "(section-2)=\n## Section",
        "<!-- 12 trials, not shown -->",
        "SpacetimeDB2 and p99 are names.",
        "one, two, three",
        "two systems and three counts",
        "## Is it fourteen times as fast?",
        "the second half of the window divided by the first half",
        "it counts once, timed from its first attempt",
        "the third column, and the fifth row",
        "1. the first item",
    ],
)
def test_glue_code_and_targets_are_allowed(tmp_path: Path, prose: str) -> None:
    require_no_typed_numbers(_notebook(tmp_path, prose))


@pytest.mark.parametrize("name", sorted(path.name for path in (CHECKOUT / "book").glob("*.md")))
def test_pages_of_the_book_state_limits_of_the_code_and_no_other_number(name: str) -> None:
    require_no_typed_numbers(CHECKOUT / "book" / name, printed_limits())


def test_a_limit_is_allowed_as_it_is_in_the_code(tmp_path: Path) -> None:
    page = _notebook(tmp_path, "Refused above 20 %.")
    require_no_typed_numbers(page, printed_limits())
    with pytest.raises(GapbookError, match="'21'"):
        require_no_typed_numbers(_notebook(tmp_path, "Refused above 21 %."), printed_limits())


@pytest.mark.parametrize("chapter", [*chapters(), *overviews()])
def test_chapters_have_no_typed_number(chapter: str) -> None:
    require_no_typed_numbers(CHECKOUT / "notebooks" / f"{chapter}.md")
