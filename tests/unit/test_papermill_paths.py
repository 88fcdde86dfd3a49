"""papermill reads our text notebooks by whatever path, and writes none over them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click import ClickException
from papermill.iorw import load_notebook_node, write_ipynb

from gapbook.paths import CHECKOUT

pytestmark = pytest.mark.filterwarnings("ignore:The specified file")

_NAME = "fair.md"
_SPELLINGS = [
    (CHECKOUT, f"notebooks/{_NAME}"),
    (CHECKOUT, f"./notebooks/{_NAME}"),
    (CHECKOUT, f"notebooks/../notebooks//{_NAME}"),
    (CHECKOUT / "notebooks", _NAME),
    (CHECKOUT / "notebooks", f"./{_NAME}"),
    (CHECKOUT / "results", f"../notebooks/{_NAME}"),
    (Path("/"), str(CHECKOUT / "notebooks" / _NAME)),
]


@pytest.mark.parametrize(("folder", "path"), _SPELLINGS)
def test_a_chapter_is_read_by_any_path(folder: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    notebook = load_notebook_node(path)
    assert any("parameters" in cell.metadata.tags for cell in notebook.cells)


def test_what_is_no_notebook_is_said_with_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CHECKOUT)
    with pytest.raises(
        ClickException, match=r"^notebooks/fiar.md: no such notebook; did you mean fair.md\?$"
    ):
        load_notebook_node("notebooks/fiar.md")


def test_results_are_not_written_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CHECKOUT)
    notebook = load_notebook_node(f"notebooks/{_NAME}")
    with pytest.raises(ClickException, match=r"out.md: a text notebook cannot hold results; name the output"):
        write_ipynb(notebook, str(tmp_path / "out.md"))
    assert not (tmp_path / "out.md").exists()
    write_ipynb(notebook, str(tmp_path / "out.ipynb"))
    assert load_notebook_node(str(tmp_path / "out.ipynb")).cells == notebook.cells
