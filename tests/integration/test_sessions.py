"""Sessions: blocks spread over fresh deployments, each block with its own ceilings; resumed by session."""

from __future__ import annotations

from pathlib import Path

import pytest

from gapbook.errors import ParameterError
from gapbook.record.durability import Durability
from gapbook.record.run import Run
from gapbook.trial.campaign import obtain_run
from gapbook.trial.ceilings import median_ceilings
from gapbook.trial.contestant import Contestant
from gapbook.trial.scenario import Scenario
from tests.bank import alphas, bank

_BLOCKS, _SESSIONS = 3, 2
_SCENARIO = Scenario(
    chapter="sessions",
    contestants=(Contestant("postgres-rust", "postgres", "procedure", "direct", "rust", 1),),
    workload=bank(1000),
    treatment=alphas(0.5),
    connections=4,
    window_s=0.5,
    warmup_s=0.2,
    durability=Durability("delayed", 500.0),
    seed=1,
)


class _StoppedError(Exception):
    """Stands for whatever ends a run between two trials."""


def _run(source: str, say: list[str], *, stop_at: str = "nowhere") -> Run:
    def told(line: str) -> None:
        say.append(line)
        if line.startswith(stop_at):
            raise _StoppedError

    return obtain_run(_SCENARIO, source=source, blocks=_BLOCKS, choices={}, sessions=_SESSIONS, say=told)


def test_a_run_of_two_sessions_deploys_twice_and_resumes_by_session(runs_folder: Path) -> None:
    first, second = list[str](), list[str]()
    with pytest.raises(_StoppedError):
        _run("live", first, stop_at="trial 1/")
    assert len(list(runs_folder.glob("*/incomplete-*/trial-*.json"))) == 1
    run = _run("resume", second)
    assert [line for line in first + second if line.startswith("starting")] == ["starting postgres"] * 2
    assert run.trials["session"].to_list() == [0, 1, 1]
    assert [row["session"] for row in run.manifest["deployments"]] == [0, 1]
    assert run.manifest["sessions"] == _SESSIONS


def test_every_block_has_a_ceiling_of_its_own(runs_folder: Path) -> None:
    run = _run("live", [])
    ceilings = run.manifest["ceilings"]
    assert [row["block"] for row in ceilings] == [0, 1, 2]
    assert run.trials["ceiling_per_s"].to_list() == [row["rate_per_s"] for row in ceilings]
    assert run.manifest["ceilings_per_s"] == median_ceilings(ceilings)
    assert runs_folder.is_dir()


def test_more_sessions_than_blocks_are_refused_before_any_server_starts(runs_folder: Path) -> None:
    with pytest.raises(ParameterError, match=r"sessions: 3 of 2 blocks; allowed: at most one for each block"):
        obtain_run(_SCENARIO, source="live", blocks=2, choices={}, sessions=3, say=lambda _line: None)
    assert not runs_folder.exists()
