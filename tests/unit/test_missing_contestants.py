"""A reader's run may lack any contestant that a first screen compares: the screen then says so in one sentence.

Each chapter's own cells are executed up to its first screen, on its published run without one contestant.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from gapbook import chapter as chapter_module
from gapbook.book.chapters import chapters
from gapbook.charts import _kept
from gapbook.markup import Html
from gapbook.method.cells import Cells, Named
from gapbook.method.factors import Factor
from gapbook.method.findings import Findings
from gapbook.notebook_text import code_cells
from gapbook.pages import exhibits, glued
from gapbook.pages.sentence import MOST_WORDS, Sentence
from gapbook.record.run import Run, latest_published
from gapbook.record.scenario import RecordedContestant
from tests.drawn import drawn
from tests.unit import stored_runs as runs

_MISSING = re.compile(r"Not (?:answered by this run|in this run|measured here)[:,] .+\.")
_FEW = 8
"""Of a run that has no more, every contestant counts as compared."""
_MOST = 24
"""So many of a chapter's are left out, one at a time, others each day; all, where ``GAPBOOK_DRAW`` is ``all``."""
_WHY = "its version is not here"


@dataclasses.dataclass(frozen=True)
class _Screen:
    """What a chapter's first screen was given, and the page that it made of it."""

    sentence: Sentence
    word: str
    shown: str


@pytest.fixture(name="screen_of")
def _screen_of(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[[Mapping[str, CodeType], Run], _Screen]:
    """Executes a chapter's cells on a run; nothing is drawn."""
    monkeypatch.setenv("GAPBOOK_BUILD", str(tmp_path))
    monkeypatch.setattr(_kept, "kept_svg", lambda *_: "<svg></svg>")
    monkeypatch.setattr(exhibits, "glue", lambda *_, **__: None)
    monkeypatch.setattr(glued, "glue_facts", lambda *_: None)
    make, made = exhibits.first_screen, []

    def kept(found: Any, **given: Any) -> Html:
        shown = make(found, **given)
        made.append(_Screen(given["sentence"], given.get("word", ""), shown.html))
        return shown

    monkeypatch.setattr(exhibits, "first_screen", kept)

    def screen(cells: Mapping[str, CodeType], run: Run) -> _Screen:
        monkeypatch.setattr(chapter_module, "stored_run", lambda *_: run)
        names: dict[str, Any] = {}
        for cell in cells.values():
            exec(cell, names)
            if "source" in names:
                names["source"] = "published"
        return made.pop()

    return screen


def _cells_of(chapter: str) -> dict[str, CodeType]:
    cells = code_cells(chapter)
    last = next(place for place, cell in enumerate(cells) if "\nfirst_screen(" in cell)
    return {cell: compile(cell, chapter, "exec") for cell in cells[: last + 1]}


@pytest.mark.parametrize("chapter", chapters())
def test_a_first_screen_says_in_one_sentence_which_contestant_its_run_lacks(
    chapter: str,
    screen_of: Callable[[Mapping[str, CodeType], Run], _Screen],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    whole, cells = latest_published(chapter), _cells_of(chapter)
    compared = _compared(whole, lambda: screen_of(cells, whole), monkeypatch)
    assert compared
    for place, name in enumerate(drawn(compared, _MOST, chapter)):
        screen = screen_of(cells, runs.without(whole, name, tmp_path, why=_WHY if place % 2 else ""))
        said = screen.sentence
        told = said.plain
        assert len(told.split()) <= MOST_WORDS or not said.cited, name
        assert "nan" not in told.split(), name
        if not said.cited:
            assert _MISSING.fullmatch(told), (name, told)
            assert "gb-conditions" not in screen.shown, name
            assert not screen.word or screen.word not in screen.shown, name


def _compared(whole: Run, make: Callable[[], _Screen], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The contestants of a run that its first screen asks for."""
    asked: dict[str, None] = {}
    contestant, decompose = Cells.contestant, Findings.decompose

    def recorded(self: Cells, named: Named) -> RecordedContestant:
        asked[named.name] = None
        return contestant(self, named)

    def taken_apart(self: Findings, factors: Sequence[Factor], *given: Any, **more: Any) -> Any:
        asked.update(dict.fromkeys(one.name for one in self.between(factors)))
        return decompose(self, factors, *given, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Cells, "contestant", recorded)
        patch.setattr(Findings, "decompose", taken_apart)
        assert make().sentence.cited
    contestants = whole.scenario.contestants
    return [one.name for one in contestants if one.name in asked or len(contestants) <= _FEW]
