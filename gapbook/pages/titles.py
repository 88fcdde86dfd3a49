"""The contents of the book as they are stored, and what they call its chapters."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from gapbook.paths import CHECKOUT

__all__ = ["chapter_titles", "table_of_contents"]


def table_of_contents() -> dict[str, Any]:
    """What ``_toc.yml`` holds."""
    contents: dict[str, Any] = yaml.safe_load((CHECKOUT / "_toc.yml").read_text(encoding="utf-8"))
    return contents


@cache
def chapter_titles() -> Mapping[str, str]:
    """The title of each page by its address."""
    return {
        Path(one["file"]).name: one["title"]
        for part in table_of_contents()["parts"]
        for chapter in part["chapters"]
        for one in (chapter, *chapter.get("sections", []))
    }
