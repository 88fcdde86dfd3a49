"""An executed notebook as a reader downloads it: with its values in its prose, and without the machine that made it.

The narrow drawings of charts, which Jupyter never shows, are left out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from gapbook import charts

__all__ = ["GLUED", "glued_values", "offered", "with_values"]

GLUED = re.compile(r"\{glue:text\}`([^`:]+)[^`]*`")
_MADE_BY = "papermill"
_HTML = "text/html"
_TEXT = "application/papermill.record/text/plain"


def offered(notebook: Mapping[str, Any]) -> dict[str, Any]:
    """The notebook in the order in which it runs. Where a page glues a value into a sentence, the value stands there;
    what is not known stays a role."""
    values = glued_values(notebook)
    return {
        **notebook,
        "metadata": {name: told for name, told in notebook["metadata"].items() if name != _MADE_BY},
        "cells": [_readable(cell, values) for cell in notebook["cells"]],
    }


def glued_values(notebook: Mapping[str, Any]) -> dict[str, str]:
    """What a notebook makes available to its prose, by name."""
    return dict(value for cell in notebook["cells"] for value in _values_of(cell))


def with_values(prose: str, values: Mapping[str, str]) -> str:
    """Prose with its values where it glues them; what is not known stays a role."""
    return GLUED.sub(lambda role: values.get(role[1], role[0]), prose)


def _values_of(cell: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Name and text of what a cell makes available to the prose."""
    return [
        (output["metadata"]["scrapbook"]["name"], str(ast.literal_eval("".join(output["data"][_TEXT]))))
        for output in cell.get("outputs", [])
        if "scrapbook" in output.get("metadata", {}) and _TEXT in output["data"]
    ]


def _readable(cell: Mapping[str, Any], values: Mapping[str, str]) -> dict[str, Any]:
    metadata = {name: told for name, told in cell["metadata"].items() if name != _MADE_BY}
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        source = with_values(source, values)
    shown = {"outputs": list(map(_as_jupyter_shows, cell["outputs"]))} if "outputs" in cell else {}
    return {**cell, "metadata": metadata, "source": source, **shown}


def _as_jupyter_shows(output: Mapping[str, Any]) -> Mapping[str, Any]:
    data = output.get("data", {})
    if _HTML not in data:
        return output
    return {**output, "data": {**data, _HTML: charts.without_narrow("".join(data[_HTML]))}}
