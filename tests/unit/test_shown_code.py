"""Code cells in a row are one fold of a page, and whatever shows something stays as it is."""

from __future__ import annotations

from typing import Any

from gapbook.book.shown_code import one_fold_each

_FACT = {
    "output_type": "display_data",
    "data": {"application/papermill.record/text/plain": "'5'"},
    "metadata": {},
}
_SAID = {"output_type": "stream", "name": "stdout", "text": "trial 1 of 2"}
_CHART = {"output_type": "display_data", "data": {"text/html": "<svg>"}, "metadata": {}}


def _code(source: str, *tags: str, outputs: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    return {"cell_type": "code", "source": source, "metadata": {"tags": list(tags)}, "outputs": list(outputs)}


_PROSE = {"cell_type": "markdown", "source": "So.", "metadata": {}}


def test_code_in_a_row_is_one_fold_with_the_facts_of_all() -> None:
    cells = [
        _code("a = 1", "parameters", "hide-input"),
        _code("a = 2", "injected-parameters", "hide-input"),
        _code("found = measure()", "remove-stdout", outputs=(_SAID, _FACT)),
        _PROSE,
        _code("b = 3"),
    ]
    first, prose, last = one_fold_each(cells)
    assert first["source"] == "a = 1\n\na = 2\n\nfound = measure()"
    assert first["metadata"]["tags"] == ["parameters", "hide-input", "injected-parameters", "remove-stdout"]
    assert first["outputs"] == [_SAID, _FACT]
    assert prose == _PROSE
    assert last["metadata"]["tags"] == ["hide-input"]


def test_what_shows_something_is_no_part_of_a_fold() -> None:
    shown = [
        _code("chart", outputs=(_CHART,)),
        _code("said", outputs=(_SAID,)),
        _code("table", "remove-input"),
        _code("facts", "remove-cell", outputs=(_FACT,)),
        _code("screen", "first-screen"),
        _code("proof", "proof"),
    ]
    apart = [one for cell in shown for one in (cell, _code("code", "hide-input"))]
    assert one_fold_each(apart) == apart
