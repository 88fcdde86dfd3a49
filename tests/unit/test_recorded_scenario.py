"""A stored run tells all of its contestants by itself: no stack and no module is asked, and none needs to be there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from gapbook.chapter import Chapter
from gapbook.deploy import stack
from gapbook.errors import ParameterError
from gapbook.load import client as load_client
from gapbook.method.factors import Factor
from gapbook.method.findings import Findings
from gapbook.pages.exhibits.comparisons import comparisons_chart
from gapbook.pages.exhibits.gap import waterfall
from gapbook.pages.exhibits.latencies import latency_chart
from gapbook.pages.exhibits.rates import catch_up_table
from gapbook.pages.losses.kills import kill_table
from gapbook.pages.proof.gates import gates_chart
from gapbook.pages.proof.processor import processor_table
from gapbook.pages.proof.servers import systems_table
from gapbook.pages.proof.warmth import warmth_table
from gapbook.pages.rerun import rerun_panel
from gapbook.paths import CHECKOUT
from gapbook.record.older import has_threaded_client, upgraded_manifest
from gapbook.record.published import published_runs
from gapbook.record.run import Run, canonical, latest_published, load_run, run_id_of
from gapbook.record.schema import manifest_schema
from gapbook.trial import contestant as live
from tests.unit import stored_runs as runs
from tests.unit.test_parameters import GOOD
from tests.unit.test_scenario import postgres, scenario

_GONE = "no-such-database"
_PUBLISHED = "both-optimized"


def _without_its_system(run: Run, system: str, parent: Path) -> Run:
    """A copy of a run that was measured of a system which is nowhere under that name."""
    folder = shutil.copytree(run.folder, parent / "copied")
    manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    del manifest["run_id"]
    for contestant in manifest["scenario"]["contestants"]:
        for named in (contestant, contestant.get("settings", {})):
            if named.get("system") == system:
                named["system"] = _GONE
    systems = manifest["systems"]
    manifest["systems"] = {name.replace(system, _GONE): said for name, said in systems.items()}
    run_id = run_id_of(manifest)
    (folder / "manifest.json").write_bytes(canonical({**manifest, "run_id": run_id}))
    return load_run(folder.rename(parent / run_id))


@pytest.fixture(name="nobody_is_asked")
def _nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks a stack or a module fails."""

    def ask(*_named: Any) -> Any:
        raise AssertionError("a stored run asked for what is deployed today")

    monkeypatch.setattr(stack, "discover_stacks", ask)
    monkeypatch.setattr(live, "load_module", ask)


def _shown(run: Run) -> list[str]:
    """What a page shows of any run, by name of its contestants alone."""
    shown = Findings(run, run.scenario.chapter)
    first, last = run.scenario.contestants[0], run.scenario.contestants[-1]
    gap = (Factor("Engine", "system", first.level("system"), last.level("system"), "residual"),)
    value = shown.treatments[0]
    figures = (
        latency_chart(shown, value, [first, last]),
        comparisons_chart(shown, [("pair", last, first)]),
        waterfall(shown, gap, value),
        gates_chart(shown),
    )
    tables = (
        runs.answer_ratio(shown, last, first),
        kill_table(shown),
        systems_table(shown),
        warmth_table(shown),
        processor_table(shown),
        catch_up_table(shown),
        rerun_panel(shown),
    )
    return [*(figure.html for figure in figures), *(table.html for table in tables)]


@pytest.mark.usefixtures("nobody_is_asked")
def test_a_published_run_asks_nobody() -> None:
    assert all(_shown(latest_published(_PUBLISHED)))


def _oldest_published() -> Run:
    """The first run of a chapter, stored in the first format."""
    of_chapter = (run for run in published_runs() if run.scenario.chapter == _PUBLISHED)
    run = min(of_chapter, key=lambda run: run.manifest.started_unix_s)
    assert json.loads((run.folder / "manifest.json").read_text(encoding="utf-8"))["format"] == 1
    return run


@pytest.mark.parametrize("older", [True, False], ids=["of an older format", "of today's format"])
def test_a_run_whose_system_is_gone_is_shown_with_its_numbers(older: bool, tmp_path: Path) -> None:
    run = _oldest_published() if older else runs.store(tmp_path / runs.CHAPTER, runs.whole())
    gone = _without_its_system(run, "postgres", tmp_path)
    system = next(one for one in gone.scenario.contestants if one.system == _GONE)
    # An older run left its label to its reader, who knows no other name for it now.
    assert system.system_label == (_GONE if older else "Postgres")
    text = "".join(_shown(gone))
    assert (_GONE if older else "Postgres") in text
    before, after = Findings(run, run.scenario.chapter), Findings(gone, run.scenario.chapter)
    for one in run.scenario.contestants:
        assert before.goodput(one.name, before.treatments[0]) == after.goodput(one.name, after.treatments[0])


def test_a_chapter_states_a_contestant_that_only_its_stored_run_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAPBOOK_RUNS", str(tmp_path))
    run = runs.store(tmp_path / "measured" / runs.CHAPTER, runs.whole())
    gone = _without_its_system(run, "postgres", tmp_path / "gone")
    shutil.copytree(gone.folder, tmp_path / runs.CHAPTER / gone.run_id)
    chapter = Chapter(runs.CHAPTER, {**GOOD, "source": gone.run_id})
    levels: dict[str, Any] = {"access": "procedure", "client": "rust", "in_flight": 1}
    stated = chapter.contestant("procedure-rust", _GONE, **levels)
    found = chapter.measure(stated, chapter.contestant("drizzle", _GONE, **levels))
    assert "1.00 times" in runs.answer_ratio(found, stated, stated).html
    assert found.contestant(stated).system_label == "Postgres"
    with pytest.raises(ParameterError, match=_GONE):
        chapter.contestant("never-measured", _GONE, **levels)
    with pytest.raises(ParameterError, match=_GONE):
        Chapter(runs.CHAPTER, {**GOOD, "source": "live"}).contestant("procedure-rust", _GONE, **levels)


# --- older formats ----------------------------------------------------------------------------
def _older(**settings: Any) -> dict[str, Any]:
    """A manifest of format 2, as far as its scenario is concerned, with one contestant."""
    contestant = {
        "name": "one",
        "system": "postgres",
        "access": "drizzle",
        "tier": "rpc",
        "client": "typescript",
        "in_flight": 1,
        **settings,
    }
    scenario = {
        "chapter": "c",
        "contestants": [contestant],
        "workload": {"accounts": 100, "initial_balance": 10, "amount_max": 5, "name": "transfer"},
        "alphas": [0.0, 1.5],
        "connections": 8,
        "window_s": 2.0,
        "warmup_s": 0.5,
        "durability": "delayed(500 ms)",
        "seed": 7,
    }
    return {"format": 2, "scenario": scenario}


def test_an_older_run_is_read_with_the_words_of_its_time() -> None:
    scenario = upgraded_manifest(_older(durability="none", version="18.6"))["scenario"]
    (contestant,) = scenario["contestants"]
    assert contestant["system_label"] == "Postgres 18.6"
    assert contestant["detail_label"] == (
        "TypeScript client · Node RPC · Drizzle · 1 in flight · durability none"
    )
    assert contestant["server"] == "postgres 18.6 (none)"
    assert contestant["levels"]["access"] == "Drizzle"
    assert contestant["protocol"] == "http"
    assert scenario["workload"]["label"] == "Bank transfers"
    assert scenario["workload"]["parameters"]["accounts"] == 100
    assert (scenario["treatment"]["name"], scenario["treatment"]["values"]) == ("alpha", [0.0, 1.5])


def test_what_is_not_kept_of_an_older_run_is_called_by_its_raw_name() -> None:
    unknown = {"system": "duck", "access": "quack", "tier": "pond", "client": "zig"}
    (contestant,) = upgraded_manifest(_older(**unknown))["scenario"]["contestants"]
    assert (contestant["system_label"], contestant["colour"]) == ("duck", "duck")
    assert contestant["detail_label"] == "zig client · pond · quack · 1 in flight"
    assert contestant["levels"]["access"] == "quack"


@pytest.mark.parametrize(
    "manifest", sorted((CHECKOUT / "results").glob("*/*/manifest.json")), ids=lambda path: path.parent.name
)
def test_every_published_run_has_a_word_for_each_of_its_contestants(manifest: Path) -> None:
    """What ``older.toml`` does not hold would be called by a raw name.

    A run that was stored with its labels needs no other word: walsync's makers write its name as its folder's.
    """
    stored = json.loads(manifest.read_text(encoding="utf-8"))["scenario"]["contestants"]
    labelled = {one["name"] for one in stored if one.get("system_label")}
    run = load_run(manifest.parent)
    for contestant in run.scenario.contestants:
        assert contestant.name in labelled or contestant.system_label != contestant.system, contestant.name
        assert contestant.protocol, contestant.name
        assert contestant.planted or not contestant.simulated, contestant.name
        assert contestant.server in run.manifest.systems, contestant.name


# --- what format 3 did not hold from its beginning --------------------------------------------
@pytest.mark.parametrize(
    ("client", "recorded", "threaded"),
    [
        ("k6", None, True),
        ("rust", None, False),
        ("zig", None, False),
        ("k6", False, False),
        ("rust", True, True),
    ],
)
def test_a_client_is_what_its_run_recorded_and_else_what_is_kept_of_it(
    client: str, recorded: bool | None, threaded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = runs.SCENARIO.recorded().contestants[0]
    settings = msgspec.structs.replace(one.settings, client=client)
    measured = msgspec.structs.replace(one, settings=settings, client_threaded=recorded)
    monkeypatch.setattr(
        load_client, "discover_clients", lambda: pytest.fail("a stored run asked for a client")
    )
    assert has_threaded_client(measured) is threaded


def test_a_run_of_today_records_whether_its_client_has_several_threads() -> None:
    behind = postgres("behind", access="sql", tier="rpc", client="k6")
    assert [one.client_threaded for one in scenario(postgres(), behind).recorded().contestants] == [
        False,
        True,
    ]


# --- the schema -------------------------------------------------------------------------------
def test_the_schema_of_a_manifest_is_current() -> None:
    """To write it anew: ``python -c "from gapbook.record.schema import manifest_schema; print(manifest_schema(), end='')" > gapbook/record/manifest.schema.json``."""
    committed = (CHECKOUT / "gapbook" / "record" / "manifest.schema.json").read_text(encoding="utf-8")
    assert committed == manifest_schema()


def test_a_run_that_is_stored_today_keeps_the_schema(tmp_path: Path) -> None:
    run = runs.store(tmp_path / runs.CHAPTER, runs.whole(1))
    written = json.loads((run.folder / "manifest.json").read_text(encoding="utf-8"))
    jsonschema.validate(written, json.loads(manifest_schema()))
    written["scenario"]["contestants"][0]["levels"] = None
    with pytest.raises(jsonschema.ValidationError, match="None is not of type"):
        jsonschema.validate(written, json.loads(manifest_schema()))
