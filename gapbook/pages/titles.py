"""What the contents of the book call its chapters."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from gapbook.paths import CHECKOUT

__all__ = ["chapter_titles"]


@cache
def chapter_titles() -> Mapping[str, str]:
    """The title of each page by its address."""
    contents: dict[str, Any] = yaml.safe_load((CHECKOUT / "_toc.yml").read_text(encoding="utf-8"))
    return {Path(one["file"]).name: one["title"] for part in contents["parts"] for one in part["chapters"]}
