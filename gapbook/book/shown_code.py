"""Code that a page shows without its outcome: what stands between two paragraphs is one fold, not a row of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["one_fold_each"]

_FOLDED = "hide-input"
_SHOWN_OTHERWISE = frozenset({"remove-input", "remove-cell", "first-screen", "proof", "documents"})
_FACTS = "application/papermill.record/"
"""Outputs of this kind are facts for the prose, and show nothing."""


def one_fold_each(cells: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cells of a page, where each row of code cells that show nothing but their code is one folded cell, in their
    order. What a page offers to download keeps them apart."""
    laid_out: list[dict[str, Any]] = []
    for cell in cells:
        if not _shows_code_alone(cell):
            laid_out.append(cell)
        elif laid_out and _shows_code_alone(laid_out[-1]):
            laid_out[-1] = _joined(laid_out[-1], cell)
        else:
            laid_out.append(_folded(cell, cell["metadata"].get("tags", [])))
    return laid_out


def _shows_code_alone(cell: dict[str, Any]) -> bool:
    return (
        cell["cell_type"] == "code"
        and not _SHOWN_OTHERWISE & set(cell["metadata"].get("tags", []))
        and all(_is_silent(output, cell) for output in cell["outputs"])
    )


def _is_silent(output: dict[str, Any], cell: dict[str, Any]) -> bool:
    if output["output_type"] == "stream":
        return "remove-stdout" in cell["metadata"].get("tags", [])
    data = output.get("data", {})
    return bool(data) and all(kind.startswith(_FACTS) for kind in data)


def _joined(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    tags = [*first["metadata"]["tags"], *second["metadata"].get("tags", [])]
    source = "\n\n".join("".join(cell["source"]).strip("\n") for cell in (first, second))
    outputs = [*first["outputs"], *second["outputs"]]
    return _folded({**first, "source": source, "outputs": outputs}, tags)


def _folded(cell: dict[str, Any], tags: Iterable[str]) -> dict[str, Any]:
    return {**cell, "metadata": {**cell["metadata"], "tags": list(dict.fromkeys([*tags, _FOLDED]))}}
