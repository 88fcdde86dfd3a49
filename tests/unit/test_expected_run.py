"""How long a run is expected to take that a reader asks for, and that the command says it before it measures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gapbook import cli
from gapbook.book import expected
from gapbook.book.expected import duration_words, seconds_asked_for, seconds_of
from gapbook.book.plans import PublishedPlan
from gapbook.book.stated import stated
from gapbook.errors import GapbookError, RecordError
from gapbook.load.null_server import CEILING_WINDOW_S
from gapbook.trial.asked import Asked
from gapbook.trial.contestant import Contestant
from tests.unit import stored_runs as runs


def _asked(*contestants: Contestant, **changed: int) -> Asked:
    scenario = replace(runs.SCENARIO, contestants=contestants, warmup_s=1.5)
    usual: dict[str, Any] = {"blocks": 3, "sessions": 1, "attempts": 2, "kills": 0, "cuts": 0}
    return Asked(scenario, {}, parameters={}, **{**usual, **changed})


def test_a_run_takes_its_windows_what_lay_around_them_its_ceilings_and_its_kills(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Trials took 4 s with a warm-up and window of 2.5 s, so 1.5 s lay around them."""
    rows = [{**row, "started_unix_s": 4.0 * place} for place, row in enumerate(runs.whole(2))]
    published = runs.store(tmp_path, rows, started_unix_s=0, kills=1, finished_unix_s=4.0 * len(rows) + 70)
    monkeypatch.setattr(expected, "latest_published", lambda chapter: published)
    waits = replace(runs.PROCEDURE, name="waits", durability="fsync-per-commit")
    embedded = Contestant("embedded", "sqlite", "sql", "in-process", "rust", 1, durability="none")
    minute = replace(runs.PROCEDURE_RUST, name="minute", window_s=60.0)
    ceiling_s = 1.5 + CEILING_WINDOW_S
    for contestants, windows_s, ceilings in (
        ([runs.PROCEDURE], 2.0, 1),
        # Two that differ in their server alone have one ceiling, and an engine inside its client none.
        ([runs.PROCEDURE, waits], 4.0, 1),
        ([runs.PROCEDURE, runs.DRIZZLE], 4.0, 2),
        ([runs.PROCEDURE, minute], 62.0, 2),
        ([embedded], 2.0, 0),
    ):
        scenario = replace(
            runs.SCENARIO, contestants=tuple(contestants), warmup_s=1.5, varies=("durability", "isolation")
        )
        asked = replace(_asked(runs.PROCEDURE), scenario=scenario)
        trials_s = 3 * 2 * (windows_s + len(contestants) * (1.5 + 1.5))
        assert seconds_asked_for(asked) == pytest.approx(trials_s + 3 * ceilings * ceiling_s)
    # All contestants were killed once in 70 s: a seventh of them, twice.
    killed = _asked(runs.PROCEDURE, kills=2)
    assert seconds_asked_for(killed) == pytest.approx(3 * 2 * 5.0 + 3 * ceiling_s + 2 * 70 / 7)


def test_a_chapter_that_was_measured_with_others_takes_its_trials_and_its_part_of_their_ceilings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Between its trials lay those of others, each of them a minute here."""
    rows = [{**row, "started_unix_s": 60.0 * place} for place, row in enumerate(runs.whole(2))]
    ceilings = [{"block": 0, "key": f"{rate}", "rate_per_s": rate} for rate in (1.0, 2.0, 3.0, 4.0, None)]
    together = {"run": "0" * 12, "chapters": ["synthetic", "other"]}
    run = runs.store(tmp_path, rows, started_unix_s=0, ceilings=ceilings, measured_with=together)
    monkeypatch.setattr(expected, "latest_published", lambda chapter: run)
    plan = PublishedPlan("synthetic", {}, {"blocks": 2, "warmup_s": 0.5, "window_s": 2.0})
    assert seconds_of(plan) == pytest.approx(4.0 * len(rows) + 4 * (0.5 + CEILING_WINDOW_S) / 2)


def test_the_command_says_before_it_measures_how_many_trials_there_are_and_how_long_they_take(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GAPBOOK_BUILD", str(tmp_path / "build"))
    monkeypatch.setenv("GAPBOOK_RUNS", str(tmp_path / "runs"))

    def refuse(*_: object, **__: object) -> Path:
        raise GapbookError("not measured")

    monkeypatch.setattr(cli, "install_on_demand", lambda chapter: None)
    monkeypatch.setattr("gapbook.book.execute.execute_chapter", refuse)
    fair = stated("fair", {"source": "live"})
    assert fair is not None
    seconds = seconds_asked_for(fair)
    assert seconds is not None
    assert cli.main(["run", "fair"]) == 2
    line = f"fair: {len(fair.plan())} trials, about {duration_words(seconds)}; longer where "
    assert capsys.readouterr().out.startswith(line)
    assert cli.main(["run", "fair", "-p", "blocks=1", "-p", "sessions=1"]) == 2
    assert capsys.readouterr().out.startswith(f"fair: {len(fair.plan()) // 2} trials, about ")
    assert cli.main(["run", "fair", "-p", "source=published"]) == 2
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(expected, "latest_published", _nothing_published)
    assert cli.main(["run", "fair"]) == 2
    assert capsys.readouterr().out.startswith(f"fair: {len(fair.plan())} trials; nobody has published ")


def _nothing_published(_chapter: str) -> None:
    raise RecordError("none")
