"""What every page says of its run: each version once, and why a count of commits is missing."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gapbook.method.findings import Findings, versions_of
from gapbook.pages.first_screen import cite_panels, own_run_banner
from gapbook.pages.proof import proof
from gapbook.pages.proof.audited import uncounted
from gapbook.pages.provenance import method_words, provenance_parts, run_facts
from gapbook.pages.sentence import sentence, times
from gapbook.pages.short_citation import FORMS
from gapbook.record.schema import System
from gapbook.trial.contestant import Contestant
from tests.unit import stored_runs as runs
from tests.unit.stored_runs import DRIZZLE, PROCEDURE


def test_every_version_of_a_system_is_a_fact_of_the_prose(tmp_path: Path) -> None:
    systems = {
        "postgres": System("18.6", "", {}),
        "spacetimedb 1.2.0": System("1.2.0", "", {}),
        "spacetimedb 2.8.3 (fsync-per-commit)": System("2.8.3", "", {}),
    }
    assert versions_of(systems) == {"postgres": ["18.6"], "spacetimedb": ["1.2.0", "2.8.3"]}
    shown = Findings(runs.store(tmp_path / runs.CHAPTER, runs.whole(2)), runs.CHAPTER)
    for system, versions in versions_of(shown.run.manifest.systems).items():
        assert run_facts(shown)[f"{system}_version"] == " and ".join(versions)


def test_a_trial_without_a_commit_count_says_whether_the_engine_or_a_rollback_is_why(tmp_path: Path) -> None:
    embedded = Contestant("embedded", "sqlite", "drizzle", "rpc", "typescript", 1)
    contestants = (DRIZZLE, PROCEDURE, embedded)
    scenario = replace(runs.SCENARIO, contestants=contestants, varies=("durability", "isolation"))
    rows = [
        runs.valid(planned, 1e3, **({} if planned.contestant == "procedure" else {"committed": None}))
        for planned in runs.planned_trials(2, scenario)
    ]
    shown = Findings(runs.store(tmp_path / runs.CHAPTER, rows, scenario=scenario), runs.CHAPTER)
    assert uncounted(shown) == (
        "their own count agreed in 4 of 12 valid trials; 8 had no commit count to compare, 4 because transactions "
        "of the trial were rolled back, whose updates the engine counts too, and 4 because the engine keeps no commit count"
    )


def test_a_run_in_which_every_commit_was_counted_says_so(tmp_path: Path) -> None:
    shown = Findings(runs.store(tmp_path / runs.CHAPTER, runs.whole(2)), runs.CHAPTER)
    assert uncounted(shown).endswith("agreed in all 28 valid trials")


@pytest.mark.parametrize(("blocks", "alone"), [(1, True), (2, False)])
def test_a_reader_whose_run_has_single_trials_reads_how_to_get_intervals(
    tmp_path: Path, blocks: int, alone: bool
) -> None:
    shown = Findings(runs.store(tmp_path / runs.CHAPTER, runs.whole(blocks)), runs.CHAPTER)
    said = str(own_run_banner(shown))
    assert shown.run.run_id in said
    assert (f"<code>gapbook run {runs.CHAPTER} -p blocks=" in said) is alone


def test_what_of_the_shell_reached_nobody_is_told_once_and_by_name(tmp_path: Path) -> None:
    def told(**deployed: object) -> str:
        rows = [{"session": 0, "started_unix_s": 1.0}, {"session": 1, "started_unix_s": 2.0, **deployed}]
        run = runs.store(tmp_path / runs.CHAPTER, runs.whole(2), deployments=rows)
        (servers,) = (
            one for one in proof(Findings(run, runs.CHAPTER)).sections if one.title == "The servers"
        )
        return " ".join(map(str, servers.parts))

    ignored = {"variables": {"LANG": "C.UTF-8"}, "ignored": ["PGOPTIONS", "GOGC"]}
    assert "which are known to change one of them: GOGC, PGOPTIONS." in told(environment=ignored)
    assert "known to change" not in told(environment={**ignored, "ignored": []})
    assert "known to change" not in told()


def test_every_place_that_tells_cores_tells_those_that_the_run_could_use(tmp_path: Path) -> None:
    usable = {"processors": [1], "quota_cores": 0.5, "memory_bytes": None}
    run = runs.store(tmp_path / runs.CHAPTER, runs.whole(2), machine={**runs.MACHINE, "usable": usable})
    shown = Findings(run, runs.CHAPTER)
    told = [
        method_words(shown),
        *provenance_parts(shown),
        cite_panels(shown, sentence("It is {lead}.", lead=times(shown, runs.SPACETIMEDB, runs.DRIZZLE))).html,
    ]
    assert run_facts(shown)["processors"] == "0.5 of 2"
    assert sum(text.count("Zen 2, 0.5 of 2 cores") for text in told) == 2 + len(FORMS)
    assert not any("Zen 2, 2 cores" in text for text in told)


def test_the_line_of_a_run_names_the_chapters_that_have_its_trials(tmp_path: Path) -> None:
    def told(**manifest: Any) -> list[str]:
        run = runs.store(tmp_path / runs.CHAPTER, runs.whole(2), **manifest)
        return [part for part in provenance_parts(Findings(run, runs.CHAPTER)) if "same measurement" in part]

    assert not told()
    together = {"run": "0123456789ab", "chapters": ["contention", runs.CHAPTER, "fair"]}
    assert told(measured_with=together) == [
        "the same measurement as contention and fair: equal numbers there are the same trials"
    ]
