"""A notebook as a reader downloads it: its prose has its values, and nothing names the machine that made it."""

from __future__ import annotations

import json
from typing import Any

from gapbook.book.offered import offered


def _glued(name: str, text: str) -> dict[str, Any]:
    return {
        "data": {"application/papermill.record/text/plain": text},
        "metadata": {"scrapbook": {"name": name}},
    }


def test_values_stand_in_prose_and_code_stays_as_it_was() -> None:
    papermill = {"papermill": {"output_path": "/home/somebody/book.ipynb"}, "tags": ["a"]}
    code = {
        "cell_type": "code",
        "metadata": papermill,
        "source": ["glue", "(`{glue:text}`rate`)"],
        "outputs": [_glued("rate", "'1,890'"), _glued("why", '"it\'s slow"'), {"output_type": "stream"}],
    }
    prose = {
        "cell_type": "markdown",
        "metadata": {},
        "source": "{glue:text}`rate` {glue:text}`why`, {glue:text}`x`",
    }
    found = offered({"cells": [prose, code], "metadata": {"papermill": {}, "kernelspec": {}}, "nbformat": 4})
    assert found["cells"][0]["source"] == "1,890 it's slow, {glue:text}`x`"
    assert found["cells"][1] == {**code, "metadata": {"tags": ["a"]}, "source": "glue(`{glue:text}`rate`)"}
    assert found["metadata"] == {"kernelspec": {}}
    assert "somebody" not in json.dumps(found)
