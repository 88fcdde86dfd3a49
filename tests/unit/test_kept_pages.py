"""An executed notebook is used again as long as it would come out the same, whatever is written between its cells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gapbook import notebook_text
from gapbook.book.kept_pages import (
    INJECTED,
    hash_of_what_pages_depend_on,
    is_kept,
    keep_page,
    kept_page,
    key_of,
)
from gapbook.book.kernel import read_text_notebook
from gapbook.errors import GapbookError
from gapbook.pages.bibtex import ADDRESS

_TEXT = """# A chapter

What it asks.

```{code-cell} ipython3
:tags: [parameters]

blocks = 1
```

What it computes.

```{code-cell} ipython3
:tags: [first-screen]

blocks + 1
```
"""


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The text of a notebook that was executed and kept."""
    monkeypatch.setattr(notebook_text, "NOTEBOOKS", tmp_path)
    monkeypatch.setenv("GAPBOOK_BUILD", str(tmp_path / "build"))
    text = tmp_path / "chapter.md"
    text.write_text(_TEXT, encoding="utf-8")
    executed = json.loads(read_text_notebook(text))
    code = [cell for cell in executed["cells"] if cell["cell_type"] == "code"]
    code[1]["outputs"] = [{"output_type": "execute_result", "data": {"text/plain": ["3"]}}]
    place = executed["cells"].index(code[0]) + 1
    executed["cells"].insert(
        place, {"cell_type": "code", "metadata": {"tags": [INJECTED]}, "source": "blocks = 2", "outputs": []}
    )
    kept_page("chapter").parent.mkdir(parents=True)
    kept_page("chapter").write_text(json.dumps(executed), encoding="utf-8")
    keep_page("chapter", key_of("chapter", "shared"))
    return text


def _cells() -> list[tuple[str, str, Any]]:
    cells = json.loads(kept_page("chapter").read_text(encoding="utf-8"))["cells"]
    return [(cell["cell_type"], "".join(cell["source"]), cell.get("outputs")) for cell in cells]


def _is_kept() -> bool:
    return is_kept("chapter", key_of("chapter", "shared"))


def test_other_prose_is_set_between_what_was_computed(text: Path) -> None:
    before = _cells()
    text.write_text(_TEXT.replace("What it computes.", "Other words.\n\n## And a heading"), encoding="utf-8")
    assert _is_kept()
    after = _cells()
    assert [cell for cell in after if cell[0] == "code"] == [cell for cell in before if cell[0] == "code"]
    assert [kind for kind, _, _ in after] == ["markdown", "code", "code", "markdown", "code"]
    assert after[3][1] == "Other words.\n\n## And a heading"


def test_prose_with_a_typed_number_is_refused_here_too(text: Path) -> None:
    text.write_text(_TEXT.replace("What it asks.", "It is 17 times faster."), encoding="utf-8")
    with pytest.raises(GapbookError, match="has the typed number '17'"):
        _is_kept()
    with pytest.raises(GapbookError, match="has the typed number '17'"):
        _is_kept()


@pytest.mark.parametrize(("was", "now"), [("blocks + 1", "blocks + 2"), ("[first-screen]", "[]")])
def test_other_code_or_another_tag_is_executed(text: Path, was: str, now: str) -> None:
    assert _is_kept()
    text.write_text(_TEXT.replace(was, now), encoding="utf-8")
    assert not _is_kept()


def test_what_depends_on_something_else_is_executed(text: Path) -> None:
    assert text.is_file()
    assert not is_kept("chapter", key_of("chapter", "another library"))
    kept_page("chapter").unlink()
    assert not _is_kept()


def test_what_cites_the_book_at_another_address_is_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gapbook.book.kept_pages._SOURCES", ())
    monkeypatch.setattr("gapbook.pages.bibtex._citation_file", lambda: {"authors": [{"name": "A"}]})
    shared = []
    for address in ("", "https://example.org/book", "https://example.org/other"):
        monkeypatch.setenv(ADDRESS, address)
        shared += [hash_of_what_pages_depend_on(), hash_of_what_pages_depend_on()]
    assert shared[::2] == shared[1::2]
    assert len({*shared}) == 3
