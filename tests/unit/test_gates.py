"""Each gate passes what it should and refuses what it must."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gapbook.model.report import Report
from gapbook.model.workload import AuditResult
from gapbook.trial import gates
from gapbook.trial.audit import Audit
from tests.reports import report_of

AGREED = Audit(1000, 1000, 1000, AuditResult("50 balances", rows=50, differing=0, in_doubt=0))


def test_reconciled_refuses_one_transfer_too_few() -> None:
    assert gates.reconciled(AGREED).passed
    refused = gates.reconciled(replace(AGREED, committed=999))
    assert not refused.passed
    assert "1,000 acknowledged but 999 committed" in refused.text


@pytest.mark.parametrize(("in_flight", "passed"), [(50.0, True), (45.1, True), (44.0, False), (56.0, False)])
def test_depth_is_what_was_declared_within_a_tenth(in_flight: float, passed: bool) -> None:
    assert gates.depth(in_flight, 50.0).passed is passed


@pytest.mark.parametrize(("in_flight", "passed"), [(1.0, True), (0.69, True), (0.49, False), (1.2, False)])
def test_one_request_at_a_time_leaves_the_client_time_for_its_own_work(
    in_flight: float, passed: bool
) -> None:
    gate = gates.depth(in_flight, 1.0)
    assert gate.passed is passed
    assert (gate.name, gate.limit) == (("own work", 0.5) if in_flight <= 1 else ("depth", 0.1))


def test_an_open_loop_keeps_no_depth_that_could_be_judged() -> None:
    gate = gates.depth(7.0, None)
    assert gate.passed is None
    assert gate.value is None


def test_settings_name_what_differs() -> None:
    gate = gates.settings_as_declared(
        {"jit": "off", "x": "1"}, {"jit": "on", "x": "1"}, True, "durability ok"
    )
    assert not gate.passed
    assert "jit is on, declared off" in gate.text


def test_unproven_durability_is_refused() -> None:
    assert not gates.settings_as_declared({}, {}, False, "durability none, declared fsync-per-commit").passed


def report(**changed: Any) -> Report:
    said: dict[str, Any] = {
        "attempted": 10_000,
        "failed": {"insufficient": 0, "error": 0},
        "window": {"acknowledged": 9_000},
    }
    return report_of(**{**said, **changed})


def test_failures_allow_one_in_a_thousand() -> None:
    assert gates.within_failures(report(failed={"insufficient": 10, "error": 0})).passed
    assert not gates.within_failures(report(failed={"insufficient": 10, "error": 1})).passed


def test_a_lost_connection_or_an_empty_window_is_refused() -> None:
    assert not gates.within_failures(report(lost_connections=1)).passed
    empty = gates.within_failures(report(window={"acknowledged": 0}))
    assert not empty.passed
    assert empty.text.endswith("nothing acknowledged within the window")
    assert not gates.within_failures(report(attempted=0)).passed


def test_a_ramp_is_refused_and_noise_is_not() -> None:
    rng = np.random.default_rng(4)
    noise = rng.poisson(1000, 20)
    ramp = noise * np.linspace(0.8, 1.2, 20)
    warmup = [0] * 10
    assert gates.steady([*warmup, *noise.tolist(), 0], 1.0, 2.0).passed is True
    gate = gates.steady([*warmup, *ramp.astype(int).tolist(), 0], 1.0, 2.0)
    assert gate.passed is False
    assert gate.text.startswith("+")


@pytest.mark.parametrize("answered", [9, 18, 20])
def test_a_count_that_ends_with_the_last_answer_is_judged_over_the_whole_window(answered: int) -> None:
    ends_early = [0] * 10 + [100 - tenth for tenth in range(answered)]
    whole = ends_early + [0] * (20 - answered)
    assert gates.steady(ends_early, 1.0, 2.0) == gates.steady(whole, 1.0, 2.0)


def _answers(*every: int) -> list[int]:
    """A minute after one second of warm-up, in equal parts, with an answer in every so-manieth tenth of a second."""
    part = 600 // len(every)
    return [0] * 10 + [int(tenth % step == 0) for step in every for tenth in range(part)] + [0]


def test_a_slow_server_that_slows_down_is_refused_though_most_tenths_are_empty() -> None:
    assert gates.steady(_answers(10), 1.0, 60.0).passed is True
    gate = gates.steady(_answers(4, 6, 10, 15), 1.0, 60.0)
    assert gate.passed is False
    assert gate.text.startswith("-")
    few = gates.steady(_answers(60), 1.0, 60.0)
    assert few.passed is None
    assert few.text == "not assessed: 10 answered in the window"


@pytest.mark.parametrize(("series", "window_s"), [([100] * 40, 1.9), ([0] * 40, 2.0)])
def test_what_was_not_assessed_has_not_passed(series: list[int], window_s: float) -> None:
    gate = gates.steady(series, 1.0, window_s)
    assert gate.passed is None
    assert "not assessed" in gate.text
    assert gate.value is None


@pytest.mark.parametrize(("other", "passed"), [(1.0, True), (2.5, False), (-0.3, True)])
def test_a_busy_machine_is_refused(other: float, passed: bool) -> None:
    gate = gates.quiet(other, 10.0, 2)
    assert gate.passed is passed
    assert gate.value == other / 20


@pytest.mark.parametrize(("stolen", "passed"), [(0.1, True), (0.2 + 1e-12, True), (0.3, False)])
def test_one_percent_may_be_stolen(stolen: float, passed: bool) -> None:
    assert gates.steal(stolen, 10.0, 2, 0.0).passed is passed


@pytest.mark.parametrize(("stolen", "passed"), [(0.7, True), (0.8, True), (0.9, False)])
def test_what_a_contestant_makes_the_hypervisor_do_refuses_nothing(stolen: float, passed: bool) -> None:
    gate = gates.steal(stolen, 10.0, 2, 0.03)
    assert gate.passed is passed
    assert gate.value == pytest.approx(stolen / 20 - 0.03)
    assert "3.00% is usual for this contestant (limit 1% beyond that)" in gate.text


@pytest.mark.parametrize(("waited", "passed"), [(0.1, True), (0.2, True), (0.3, False)])
def test_a_window_in_which_a_quota_kept_work_waiting_is_refused(waited: float, passed: bool) -> None:
    gate = gates.throttled(waited, 10.0, 2)
    assert (gate.name, gate.passed, gate.value) == ("throttled", passed, waited / 20)


def test_what_nobody_could_read_is_not_assessed() -> None:
    for gate in (
        gates.quiet(math.nan, 10.0, 2),
        gates.steal(math.nan, 10.0, 2, 0.0),
        gates.throttled(math.nan, 10.0, 2),
    ):
        assert gate.passed is None
        assert "not assessed" in gate.text


def test_beside_the_client_of_a_server_elsewhere_a_machine_can_fail_and_not_pass() -> None:
    seen = [gates.quiet(0.1, 10.0, 2), gates.steal(0.0, 10.0, 2, 0.0), gates.reconciled(AGREED)]
    assert [gates.of_client_alone(gate).passed for gate in seen] == [None, None, True]
    busy = gates.quiet(5.0, 10.0, 2)
    assert gates.of_client_alone(busy) == busy
    assert busy.passed is False


def test_a_promise_that_nobody_can_read_is_not_assessed_unless_a_setting_is_off() -> None:
    unread = gates.settings_as_declared({"a": "1"}, {"a": "1"}, None, "durability cannot be read")
    assert unread.passed is None
    assert "durability cannot be read" in unread.text
    assert (
        gates.settings_as_declared({"a": "1"}, {"a": "2"}, None, "durability cannot be read").passed is False
    )
