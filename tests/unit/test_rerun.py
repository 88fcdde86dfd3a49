"""The command that a page prints repeats the run that it stands beside."""

from __future__ import annotations

import html
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gapbook.book.chapters import chapters
from gapbook.load.client import Client
from gapbook.method.findings import Findings
from gapbook.notebook_text import code_cells
from gapbook.pages import exhibits
from gapbook.pages.rerun import assigned, parameters_of, rerun_panel
from gapbook.parameters import chapter_parameters, check_parameters, parse_assignment
from gapbook.paths import CHECKOUT
from gapbook.record.run import latest_published, published_folder
from gapbook.trial import campaign, measured
from tests.unit import stored_runs as runs


def cells(chapter: str, until: str) -> Iterator[tuple[str, bool]]:
    """The code of a chapter's cells up to the one with this text, and which of them sets the parameters."""
    free = code_cells(chapter, without_parameters=True)
    for source in code_cells(chapter):
        yield source, source not in free
        if until in source:
            return


def execute(chapter: str, given: Mapping[str, Any], until: str = "chapter.measure(") -> dict[str, Any]:
    """The names of a chapter that was executed with these parameters, up to a cell: the one that measures."""
    names: dict[str, Any] = {}
    for source, is_parameters in cells(chapter, until):
        exec(compile(source, chapter, "exec"), names)
        if is_parameters:
            names.update(given)
    return names


def printed(found: Findings) -> dict[str, Any]:
    """The parameters of the command on the page, as the command line reads them."""
    panel = rerun_panel(found).html
    command = re.search(r"<pre[^>]*gb-command[^>]*>(.*?)</pre>", panel, re.DOTALL)
    assert command is not None
    words = shlex.split(html.unescape(command[1]))
    assert words[:2] == ["gapbook", "run"]
    return dict(parse_assignment(word) for word in words[4::2])


class _PlannedError(Exception):
    """Carries the campaign that would have run."""


@pytest.fixture(name="no_server")
def _no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is started: what would have run is raised."""

    def run(self: Any, source: str) -> None:
        del source
        raise _PlannedError(self)

    monkeypatch.setattr(campaign.Measurement, "run", run)
    monkeypatch.setattr(Client, "resolved_command", lambda self: [])
    monkeypatch.setattr(campaign, "require_servers", lambda *told: None)
    # Every version and tier counts as here, as where the runs were measured; no image is looked for: the runs that are
    # stored have none of these.
    monkeypatch.setattr(
        measured,
        "absent_here",
        lambda choices, contestants: {
            one.name: "no image" for one in contestants if one.stack.only_in_containers()
        },
    )
    monkeypatch.setattr(exhibits, "glue", lambda found, **more: None)


@pytest.mark.usefixtures("no_server")
@pytest.mark.parametrize("chapter", chapters())
def test_printed_command_has_the_plan_of_its_run(chapter: str) -> None:
    if not any(published_folder(chapter).glob("*/manifest.json")):
        pytest.skip(f"{chapter} has no published run")
    found = execute(chapter, {"source": "published"})["found"]
    if parameters_of(found)[1]:
        pytest.skip(f"run {found.run.run_id} was stored without all of its parameters, and its page says so")
    with pytest.raises(_PlannedError) as caught:
        execute(chapter, {**printed(found), "source": "live"})
    campaign, manifest = caught.value.args[0], json.loads(msgspec.json.encode(found.run.manifest))
    planned, stored = campaign.scenario.recorded(), found.run.scenario
    # Labels may be others today; what was asked of each contestant may not.
    stated = {one.name for one in planned.contestants}
    # What a chapter states no longer may only be what never counted in its run.
    gone = [one.name for one in stored.contestants if one.name not in stated]
    assert not any(found.values(name, value) for name in gone for value in found.treatments)
    kept = [one.settings for one in stored.contestants if one.name in stated]
    assert [one.settings for one in planned.contestants] == kept
    for name in set(stored.__struct_fields__) - {"contestants"}:
        assert getattr(planned, name) == getattr(stored, name), name
    described = json.loads(json.dumps(campaign.described))
    del described["scenario"]
    if found.run.manifest.measured_with:
        # Numbers and order are those of all that were measured together, each cell as often as who wants it most.
        own, of_all = ({tuple(trial[1:]) for trial in plan.pop("trials")} for plan in (described, manifest))
        assert own <= of_all
    assert described == {"attempts": 1, "kills": 0, "sessions": 1} | {
        key: manifest[key] for key in described if key in manifest
    }


@pytest.mark.usefixtures("no_server")
@pytest.mark.parametrize(("timeout_s", "drain_s"), [(2, 30.0), (300, 300.0)])
def test_an_answer_that_may_still_come_is_waited_for(timeout_s: float, drain_s: float) -> None:
    with pytest.raises(_PlannedError) as caught:
        execute("trailbase-script", {"source": "live", "request_timeout_s": timeout_s})
    scenario = caught.value.args[0].scenario
    assert (scenario.request_timeout_s, scenario.drain_s) == (timeout_s, drain_s)


def test_parameters_that_were_kept_are_printed_as_they_were_given(tmp_path: Path) -> None:
    given = {
        "alpha": [0.5, 1.5],
        "connections": 50,
        "in_flight": 64,
        "window_s": 2.0,
        "warmup_s": 3,
        "blocks": 7,
        "end_trials": 3,
        "attempts": 2,
        "accounts": 100_000,
        "seed": 2**53 - 1,
        "durability": "delayed(500 ms)",
        "kills": 1,
        "contestants": "drizzle,procedure",
        "servers": "",
    }
    run = runs.store(tmp_path / runs.CHAPTER, runs.whole(), parameters=given)
    said = printed(Findings(run, runs.CHAPTER))
    assert check_parameters(said) == {name: value for name, value in given.items() if name != "servers"}


def test_a_run_that_did_not_keep_its_parameters_says_what_is_unknown(tmp_path: Path) -> None:
    run = runs.store(tmp_path / runs.CHAPTER, runs.whole())
    found = Findings(run, runs.CHAPTER)
    said = printed(found)
    assert "in_flight" not in said
    assert said["seed"] == runs.SCENARIO.seed
    assert said["contestants"].split(",") == [one.name for one in runs.SCENARIO.contestants]
    assert "did not record in_flight" in rerun_panel(found).html
    assert (
        "did not record"
        not in rerun_panel(Findings(run, runs.CHAPTER, given={"in_flight": 8, "end_trials": 1})).html
    )


@pytest.mark.parametrize(
    "assignment",
    [
        "alpha=0.1,1e-07,2",
        "alpha=0,5.0",
        "connections=1,50",
        "alpha=0.3",
        "window_s=1.0",
        "seed=9007199254740991",
        "servers=",
    ],
)
def test_a_value_is_written_as_it_is_read(assignment: str) -> None:
    name, value = parse_assignment(assignment)
    assert parse_assignment(f"{name}={assigned(value, chapter_parameters()[name])}") == (name, value)


def test_the_panel_of_the_book_leads_to_where_its_command_comes_from(tmp_path: Path) -> None:
    front = (CHECKOUT / "notebooks" / "front.md").read_text(encoding="utf-8")
    told = '<a href="front.html#measure-it-yourself">set up gapbook</a>'
    own = Findings(runs.store(tmp_path / runs.CHAPTER, runs.whole()), runs.CHAPTER)
    assert "\n## Measure it yourself\n" in front
    assert told in rerun_panel(Findings(latest_published("fair"), "fair")).html
    assert told not in rerun_panel(own).html


def test_the_panel_has_the_range_of_each_number(tmp_path: Path) -> None:
    given = {
        "alpha": [0.5, 1.5],
        "connections": 50,
        "window_s": 2.0,
        "durability": "delayed",
        "contestants": "all",
    }
    panel = rerun_panel(
        Findings(runs.store(tmp_path / runs.CHAPTER, runs.whole(), parameters=given), runs.CHAPTER)
    )
    ranges = dict(
        re.findall(
            r'data-input="(\w+)"[^>]*?data-low="([^"]*" data-high="[^"]*" data-whole="[^"]*)"', panel.html
        )
    )
    assert ranges == {
        "alpha": '0" data-high="5" data-whole="false',
        "connections": '1" data-high="10000" data-whole="true',
        "window_s": '0.5" data-high="3600" data-whole="false',
    }
