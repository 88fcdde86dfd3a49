"""What needs no library loads none: libraries take seconds, and help and refusals are wanted at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gapbook
from gapbook.paths import CHECKOUT

_HEAVY = {"altair", "jsonschema", "jupytext", "nbformat", "numpy", "papermill", "polars", "psycopg", "scipy"}
_RUN = "import contextlib, json, sys\nwith contextlib.suppress(SystemExit):\n    {}\njson.dump(sorted(sys.modules), sys.stderr)"


def _loaded(statement: str) -> set[str]:
    ended = subprocess.run(
        [sys.executable, "-c", _RUN.format(statement)],
        capture_output=True,
        text=True,
        cwd=CHECKOUT,
        timeout=120,
        check=True,
        encoding="utf-8",
    )
    modules: list[str] = json.loads(ended.stderr.splitlines()[-1])
    return set(modules) & _HEAVY


def _command(*words: Any) -> str:
    return f"from gapbook.cli import main; main({list(words)})"


@pytest.mark.parametrize(
    "statement",
    [
        "import gapbook",
        "import gapbook.deploy.setup",
        _command("--help"),
        _command("run", "--help"),
        _command("run", "fair", "-p", "alpha=-1"),
        _command("run", "fair", "-p", "unheard=1"),
        _command("run", "unheard"),
    ],
)
def test_what_needs_no_library_loads_none(statement: str) -> None:
    assert _loaded(statement) == set()


def test_statistics_are_loaded_by_what_computes_them() -> None:
    seen = "import sys; from gapbook import Chapter; assert 'scipy.stats' not in sys.modules"
    subprocess.run([sys.executable, "-c", seen], cwd=CHECKOUT, timeout=120, check=True)


def test_pictures_alone_load_what_draws_them_and_draw_them_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAPBOOK_CACHE", str(tmp_path))
    assert not {"altair", "jsonschema"} & _loaded("from gapbook import Chapter, Factor, claim")
    drawn = "from gapbook.charts import Provenance, missing; missing('x', 'y', provenance={})"
    seen = [_loaded(drawn.format("Provenance('run', 'method')")) for _ in range(2)]
    assert ["altair" in loaded for loaded in seen] == [True, False]


def test_public_names_are_found_by_import_and_by_attribute() -> None:
    assert all(getattr(gapbook, name).__name__ == name for name in gapbook.__all__)
    with pytest.raises(AttributeError, match="unheard"):
        gapbook.unheard  # noqa: B018
