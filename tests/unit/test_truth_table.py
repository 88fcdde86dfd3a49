"""Whether an interval holds the truth is not decided by the last binary digit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from gapbook.method.factors import Factor
from gapbook.method.findings import Findings
from gapbook.pages.exhibits.calibration import calibration_facts, cores_together, truth_table
from gapbook.record.run import latest_published
from gapbook.record.scenario import RecordedContestant
from tests.unit import stored_runs as runs


def test_an_interval_without_width_holds_the_rate_that_all_its_trials_counted() -> None:
    found = Findings(latest_published("calibration"), "calibration")
    names = ("slower-300", "service-200-far-1")
    exact, off = (found.scenario.find(name) for name in names)
    assert exact is not None
    assert off is not None
    interval = found.goodput(exact.name, found.treatments[0])
    assert interval is not None
    assert interval.high / interval.low - 1 < 1e-9
    shown = re.findall(r"<td[^>]*>([^<]*)</td>", truth_table(found, [exact, off]))
    assert shown[3:5] == ["0 %", "yes"]
    assert re.fullmatch(r"-\d\.\d+ %", shown[8])
    assert shown[9] == "no"


def _gap(named: Mapping[str, RecordedContestant]) -> tuple[list[Factor], list[RecordedContestant]]:
    """The gap that the chapter takes apart, by the cells that it is taken apart over."""
    factors = [
        Factor("Service time", "access", "200 us", "100 us", "stack"),
        Factor("Distance", "tier", "far", "direct", "wire"),
        Factor("Pipelining", "in flight", "1", "8", "wire"),
    ]
    return factors, [one for name, one in named.items() if name.startswith("service-")]


@pytest.mark.parametrize(
    ("lacking", "taken_apart"), [("service-200-direct-1", True), ("service-100-direct-8", False)]
)
def test_a_gap_without_a_cell_is_held_against_the_truth_of_the_others(
    lacking: str, taken_apart: bool, tmp_path: Path
) -> None:
    whole = Findings(latest_published("calibration"), "calibration")
    named = {one.name: one for one in whole.scenario.contestants}
    found = Findings(runs.without(whole.run, lacking, tmp_path), "calibration", [named[lacking]])
    of_all, facts = (calibration_facts(one, [named["base"]], [], *_gap(named)) for one in (whole, found))
    assert of_all is not None
    assert facts is not None
    assert facts.held == of_all.held
    assert bool(facts.factors_held) == bool(facts.factors_off) == taken_apart
    if taken_apart:
        farthest = [float(told.factors_off.removesuffix(" %")) for told in (of_all, facts)]
        assert farthest[1] < 2 * farthest[0]


def test_servers_on_the_cores_of_their_client_are_counted_apart() -> None:
    found = Findings(latest_published("calibration"), "calibration")
    named = {one.name: one for one in found.scenario.contestants}
    pair = [named["computing-both"], named["computing-both-slower-100"]]
    competing = (pair, [("lead", pair[0], pair[1])])
    alone = calibration_facts(found, [named["base"]], [], *_gap(named))
    both = calibration_facts(found, [named["base"]], [], *_gap(named), competing)
    assert alone is not None
    assert both is not None
    assert alone.competing_off == ""
    held, of = (
        sum(map(int, ends))
        for ends in zip(*(told.split(" of ") for told in (alone.held, alone.factors_held)), strict=True)
    )
    assert alone.all_held == f"{held} of {of}"
    assert both._replace(competing_off="", all_held=alone.all_held, all_off=alone.all_off) == alone
    off = [
        abs(interval.estimate / truth - 1)
        for interval, truth in (
            (found.goodput(pair[0].name, found.treatments[0]), 20_000),
            (found.goodput(pair[1].name, found.treatments[0]), 10_000),
            (found.ratio(pair[0].name, pair[1].name, found.treatments[0]), 2),
        )
        if interval is not None
    ]
    assert both.all_held.endswith(f" of {of + 3}")
    assert both.competing_off == f"{100 * max(off):.1f} %"
    together = cores_together(found, pair)
    assert together is not None
    assert 1 < together < found.run.manifest.machine.processors
    assert cores_together(found, []) is None
