"""A gap on several machines: its parts multiply to it on each, and their changes to the change of the whole."""

from __future__ import annotations

import math
import re
from collections import Counter

import pytest

from gapbook.method.factors import Factor
from gapbook.method.findings import Findings
from gapbook.method.same import load_of
from gapbook.method.travelled import gap_over_runs, on_processors
from gapbook.pages.exhibits.travelled import travelled
from gapbook.record.published import published_runs
from gapbook.record.run import latest_published

_CHAPTER = "both-optimized"
_LOW = 0.5


@pytest.fixture(scope="module")
def found() -> Findings:
    return Findings(latest_published(_CHAPTER), _CHAPTER)


def _factors(found: Findings) -> tuple[Factor, ...]:
    fast = found.scenario.find("spacetimedb-2-rust-deep")
    assert fast is not None
    return (
        Factor("ORM", "access", "Drizzle", "SQL statements", "wire"),
        Factor("Round trips", "access", "SQL statements", "one call", "wire"),
        Factor("Load client", "client", "typescript", "rust", "stack"),
        Factor("HTTP server", "tier", "rpc", "direct", "stack"),
        Factor("Pipelining", "in flight", "1", "40", "wire"),
        Factor("Engine residual", "system", "postgres", fast.level("system"), "residual"),
    )


def test_on_each_processor_the_parts_multiply_to_the_gap(found: Findings) -> None:
    by_processor = on_processors(found, _factors(found), _LOW)
    assert len(by_processor) > 1
    assert [one.gap for one in by_processor] == sorted(one.gap for one in by_processor)
    for one in by_processor:
        assert math.prod(one.shares) == pytest.approx(one.gap, rel=1e-9)


def test_runs_are_compared_over_the_same_orders_of_the_steps(found: Findings) -> None:
    by_processor = on_processors(found, _factors(found), _LOW)
    (orderings,) = {parts.orderings for one in by_processor for parts in one.each}
    own = found.decompose(_factors(found), _LOW)
    assert own is not None
    assert 0 < orderings < own.orderings, "some run here measured fewer combinations than the page's"


def test_every_published_run_of_both_ends_under_the_same_load_counts_and_no_other(found: Findings) -> None:
    ends = ("drizzle-rpc", "spacetimedb-2-rust-deep")
    wanted = {load_of(found.scenario, one, _LOW) for name in ends if (one := found.scenario.find(name))}

    def same(other: Findings) -> bool:
        held = [other.scenario.find(name) for name in ends]
        return (
            _LOW in other.treatments
            and {load_of(other.scenario, one, _LOW) for one in held if one is not None} == wanted
        )

    runs = [
        run for run in published_runs() if run.manifest.chapter == _CHAPTER and same(Findings(run, _CHAPTER))
    ]
    by_processor = on_processors(found, _factors(found), _LOW)
    counted = {one.processor: len(one.each) for one in by_processor}
    assert counted == Counter(run.manifest.machine.processor for run in runs)


def test_a_whole_gap_over_runs_is_what_each_run_takes_apart_for_itself(found: Findings) -> None:
    over_runs = gap_over_runs(found, _factors(found), _LOW)
    assert over_runs is not None
    assert over_runs.runs >= len({one.processor for one in on_processors(found, _factors(found), _LOW)})
    for one in over_runs.each:
        run = Findings(one.run, one.run.manifest.chapter)
        parts = run.decompose(_factors(run if run.scenario.chapter == _CHAPTER else found), _LOW)
        assert parts is not None
        assert one.interval == parts.gap
    ratios = [
        run.ratio("spacetimedb-2-rust-deep", "drizzle-rpc", _LOW)
        for one in over_runs.each
        if (run := Findings(one.run, one.run.manifest.chapter)).scenario.chapter == _CHAPTER
    ]
    ends = sorted(ratio.estimate for ratio in ratios if ratio)
    assert ends[0] == pytest.approx(over_runs.least, rel=0.1)


def test_a_gap_that_its_run_does_not_close_has_no_range(found: Findings) -> None:
    factors = (*_factors(found), Factor("None", "isolation", "the server's own", "no such level", "promise"))
    assert gap_over_runs(found, factors, _LOW) is None


def test_the_printed_changes_multiply_to_that_of_the_whole(found: Findings) -> None:
    page = str(travelled(found, _factors(found), _LOW))
    *changes, whole = [
        float(last) for last in re.findall(r"×([\d.]+)</td></tr>", re.sub(r"\s+</tr>", "</tr>", page))
    ]
    assert len(changes) == len(_factors(found))
    assert math.prod(changes) == pytest.approx(whole, rel=0.02)


def test_a_gap_that_one_processor_closed_is_not_compared(
    found: Findings, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = on_processors(found, _factors(found), _LOW)[:1]
    monkeypatch.setattr("gapbook.pages.exhibits.travelled.on_processors", lambda *_: alone)
    assert not travelled(found, _factors(found), _LOW)
