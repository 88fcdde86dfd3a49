"""What a chapter says while it is executed."""

from __future__ import annotations

import copy
from pathlib import Path

import jupytext
import pytest
from traitlets.config import Config

from gapbook.book.told_cells import CellsTold

_MEASURED = """---
jupytext: {text_representation: {format_name: myst}}
kernelspec: {name: python3, display_name: Python 3}
---

# Is it fast?

```{code-cell}
chapter = Chapter("short", globals())
```

## What is compared

```{code-cell}
found = chapter.measure(one, other)
```

```{code-cell}
answer(found)
```

More of the same.

## Where does it come from?

Two cells.

```{code-cell}
waterfall(found)
```

```{code-cell}
found.gap()
```
"""


def _said(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch, *, failing: str = "") -> list[str]:
    """The lines of an execution in which nothing is executed, and which ends at the cell that has this code."""
    monkeypatch.setattr("gapbook.notebook_text.NOTEBOOKS", folder)
    (folder / "short.md").write_text(text, encoding="utf-8")
    said: list[str] = []
    configured = Config()
    CellsTold("short", {}, said.append).configure(configured)
    # As the library that executes notebooks does.
    hooks = copy.deepcopy(configured).NotebookClient
    for index, cell in enumerate(jupytext.reads(text, fmt="md:myst").cells):
        hooks.on_cell_start(cell=cell, cell_index=index)
        if cell.cell_type == "code":
            fails = bool(failing) and failing in cell.source
            reply = {"content": {"status": "error" if fails else "ok"}}
            hooks.on_cell_executed(cell=cell, cell_index=index, execute_reply=reply)
            if fails:
                break
    return said


def test_a_chapter_says_that_its_trials_are_done_and_each_section_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _said(_MEASURED, tmp_path, monkeypatch) == [
        "short: the trials are done; from them the page is computed, 3 cells",
        "short: cell 4 of 5: Where does it come from?",
    ]


def test_a_page_that_measures_nothing_says_every_section(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = _MEASURED.replace("chapter.measure(one, other)", "found()")
    assert _said(text, tmp_path, monkeypatch) == [
        "short: cell 1 of 5: Is it fast?",
        "short: cell 2 of 5: What is compared",
        "short: cell 4 of 5: Where does it come from?",
    ]


def test_trials_that_failed_are_not_said_to_be_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _said(_MEASURED, tmp_path, monkeypatch, failing="chapter.measure") == []
