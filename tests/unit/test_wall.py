"""The wall between what runs servers and what is said of a run: its contracts are in pyproject.toml."""

import sys

import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

from gapbook.paths import CHECKOUT


def test_no_room_imports_what_it_may_not_know(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))  # to which the linter adds
    status = lint_imports(config_filename=str(CHECKOUT / "pyproject.toml"), no_cache=True, no_logo=True)
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out
