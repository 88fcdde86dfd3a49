"""What a chapter states is asked of its own code before a kernel starts: nothing wrong gets by, nothing right is
refused."""

from __future__ import annotations

from typing import Any

import pytest

from gapbook import cli
from gapbook.book import stated
from gapbook.book.chapters import chapters
from gapbook.book.plans import planned_chapters, published_plans
from gapbook.book.stated import require_stated
from gapbook.errors import ParameterError


@pytest.mark.parametrize("chapter", chapters())
def test_every_chapter_takes_its_own_contestants_and_refuses_others(chapter: str) -> None:
    with pytest.raises(ParameterError, match="'no-such' is unknown; allowed: ") as caught:
        require_stated(chapter, {"contestants": "no-such"})
    allowed = str(caught.value).partition("allowed: ")[2].split(", ")
    require_stated(chapter, {"contestants": ",".join(allowed), "blocks": 1})
    with pytest.raises(ParameterError, match=rf"; did you mean {allowed[0]}\?"):
        require_stated(chapter, {"contestants": f"{allowed[0]}x"})


@pytest.mark.parametrize("chapter", planned_chapters())
def test_every_plan_is_taken(chapter: str) -> None:
    (plan,) = published_plans([chapter])
    require_stated(chapter, {**plan.given, "source": "session"})


def test_a_mistyped_contestant_is_told_before_anything_is_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "install_on_demand", lambda _chapter: pytest.fail("installed"))
    assert cli.main(["run", "calibration", "-p", "contestants=base,slower-1o"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("gapbook: contestants: 'slower-1o' is unknown; allowed: base, base-again, ")
    assert line.endswith("; did you mean slower-10?")


@pytest.mark.parametrize(
    "cells",
    [
        ["chapter.measure(1 / 0)"],
        ["chapter.measure("],
        ["raise OSError('no such file')", "chapter.measure()"],
        ["raise ParameterError('never executed')"],
    ],
)
def test_what_else_is_wrong_with_a_chapter_is_left_to_its_kernel(
    cells: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def code(_chapter: str, **_: Any) -> list[str]:
        return cells

    monkeypatch.setattr(stated, "code_cells", code)
    require_stated("calibration", {"blocks": 1})
