"""The history of a printed headline: whole, in order, linked, and one with the register of claims."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gapbook.claims.claim import claim
from gapbook.errors import DeclarationError, ParameterError
from gapbook.pages.published.headlines import headline_history, history_chart, history_table

_HISTORY = headline_history()
_PAIR = {"over": "spacetimedb", "under": "postgres"}


def test_every_commit_is_whole_and_linked() -> None:
    table = history_table(_HISTORY, **_PAIR).html
    for change in _HISTORY.changes:
        assert re.fullmatch(r"[0-9a-f]{40}", change.commit)
        assert f'href="https://github.com/{_HISTORY.repository}/commit/{change.commit}"' in table
        assert f"/pull/{change.number}" in table


def test_the_last_table_is_that_of_the_register() -> None:
    last = _HISTORY.changes[-1]
    for name, rate in last.table.items():
        assert rate.uncontended == claim(f"today-tps-{name}-alpha0").value
        assert rate.contended == claim(f"today-tps-{name}-alpha15").value
    ratio = last.ratio(**_PAIR)
    assert ratio is not None
    assert round(ratio) == claim("today-note-ratio-postgres-alpha15").value


def test_a_table_stands_until_the_next() -> None:
    first, *between, _ = _HISTORY.changes
    unchanged = [change for change in between if not change.printed_new]
    assert unchanged
    assert all(change.table == first.table for change in unchanged if change.date.month < 5)


def test_the_picture_tells_both_ends_and_keeps_its_words_apart() -> None:
    figure = history_chart(_HISTORY, **_PAIR)
    assert "×37.0 on 11 Feb and ×316 on 14 May" in figure.title
    assert not figure.wide.problems()
    assert not figure.phone.problems()
    assert "Postgres, Node.js 2,798 at 11 Feb, 961 at 14 May" in figure.description
    assert "run " not in re.sub(r"<[^>]*>", " ", figure.wide.svg)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "date = 2026-05-14",
            "date = 2026-01-14",
            "is older than the change before it; put the changes in order",
        ),
        (
            "[change.table]\nspacetimedb = {",
            "[change.table]\noracle = {",
            "has rows that [rows] does not name: oracle",
        ),
        (
            "number = 4997",
            'number = "4997"',
            'change[9].number: "4997" is not allowed; allowed: a whole number',
        ),
        ("[rows]", "[[rows", "not TOML: "),
    ],
)
def test_a_file_that_says_something_else_is_refused_in_one_line(
    tmp_path: Path, old: str, new: str, says: str
) -> None:
    text = (Path(__file__).parents[2] / "book" / "headline-history.toml").read_text(encoding="utf-8")
    path = tmp_path / "headline-history.toml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises((DeclarationError, ParameterError)) as refused:
        headline_history(path)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)
