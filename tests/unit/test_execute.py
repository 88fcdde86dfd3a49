"""What is said of a kernel that ended: how to go on, where there is something to go on with."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import papermill
import pytest
from nbclient.exceptions import DeadKernelError

from gapbook.book import execute
from gapbook.errors import GapbookError


@pytest.mark.parametrize(
    ("chapter", "parameters", "resumes"),
    [
        ("both-optimized", {}, True),
        ("both-optimized", {"source": "live"}, True),
        ("both-optimized", {"source": "published"}, False),
        ("claims", {}, False),
    ],
)
def test_only_what_measures_is_to_be_resumed(
    chapter: str, parameters: dict[str, Any], resumes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object, **__: object) -> None:
        raise DeadKernelError("Kernel died")

    monkeypatch.setattr(papermill, "execute_notebook", killed)
    kernel: Any = SimpleNamespace(
        config=None,
        manager=None,
        forget=lambda: None,
        process=SimpleNamespace(ending=lambda: "was killed (SIGKILL)"),
    )
    with pytest.raises(GapbookError) as ended:
        execute.execute_chapter(chapter, parameters, folder=tmp_path, kernel=kernel)
    assert str(ended.value).startswith(f"chapter {chapter}: its kernel was killed (SIGKILL)")
    assert ("source=resume" in str(ended.value)) is resumes
