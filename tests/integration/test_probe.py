"""The probe of the machine: what it tells of a window, and of a whole run; it leaves nothing behind."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.probe import Probe, probe_of_machine
from gapbook.errors import StackError
from gapbook.method.findings import Findings
from gapbook.model.event import Event, Progress
from gapbook.pages.precision import aa_trials
from gapbook.record.durability import Durability
from gapbook.record.own_metric import PROBE_ARITHMETIC, PROBE_MEMORY
from gapbook.trial.campaign import measurement_of
from gapbook.trial.contestant import Contestant
from gapbook.trial.scenario import Scenario
from tests.bank import alphas, bank

_WINDOW_S = 0.3


def _through_a_window(probe: Probe) -> None:
    probe.on_event(Event("window_start"))
    time.sleep(_WINDOW_S)
    probe.on_event(Progress(elapsed_s=1.0, acknowledged=1))
    probe.on_event(Event("window_end"))


def test_it_tells_how_long_both_pieces_took_inside_the_window(deployment: Deployment) -> None:
    with probe_of_machine(deployment) as probe:
        _through_a_window(probe)
        told = probe.finish()
    assert set(told) == {PROBE_ARITHMETIC, PROBE_MEMORY}
    assert all(one.value > 0 and one.unit == "µs" for one in told.values())
    assert not probe.process.running


def test_a_window_that_never_opened_has_no_reading(deployment: Deployment) -> None:
    with (
        probe_of_machine(deployment) as probe,
        pytest.raises(StackError, match="read nothing inside the window"),
    ):
        probe.finish()


def test_a_probe_that_was_killed_is_one_line(deployment: Deployment) -> None:
    with probe_of_machine(deployment) as probe:
        _through_a_window(probe)
        probe.process.kill()
        with pytest.raises(StackError, match=r"^probe of the machine: "):
            probe.finish()


def test_each_valid_trial_of_a_probed_run_carries_both_readings(runs_folder: Path) -> None:
    del runs_folder
    contestants = (
        Contestant("probed", "plant", "base", "direct", "rust", 1, probed=True),
        Contestant("left-alone", "plant", "base", "direct", "rust", 1),
    )
    scenario = Scenario(
        chapter="probed",
        contestants=contestants,
        workload=bank(1000),
        treatment=alphas(0.0),
        connections=4,
        window_s=_WINDOW_S,
        warmup_s=0.1,
        durability=Durability("delayed", 500.0),
        seed=1,
    )
    twice = {one.name: 2 for one in contestants}
    run = measurement_of(
        scenario,
        blocks=1,
        choices={},
        sessions=1,
        trials_per_block=twice,
        say=lambda _: None,
    ).run("live")
    found = Findings(run, "probed")
    probed = run.trials.filter(run.trials["contestant"] == "probed")["trial"].to_list()
    for name in (PROBE_ARITHMETIC, PROBE_MEMORY):
        assert sorted(run.metrics.filter(run.metrics["name"] == name)["trial"]) == sorted(probed)
    trials = aa_trials(found, found.scenario.contestants, [0.1])
    assert len(trials) == run.trials["valid"].sum()
    for one in trials:
        assert ({PROBE_ARITHMETIC, PROBE_MEMORY} <= one.covariates.keys()) is one.cell.startswith("probed")
