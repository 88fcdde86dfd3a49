"""Each gate passes what it should and refuses what it must."""

import math
from dataclasses import replace
from typing import Any

import pytest

from gapbook import gates
from gapbook.audit import Audit

AGREED = Audit(1000, 1000, 0, 0, 50, 500, 500)


def test_reconciled_refuses_one_transfer_too_few() -> None:
    assert gates.reconciled(AGREED).passed
    refused = gates.reconciled(replace(AGREED, committed=999))
    assert not refused.passed
    assert "1,000 acknowledged but 999 committed" in refused.text


@pytest.mark.parametrize(("in_flight", "passed"), [(50.0, True), (52.4, True), (53.0, False), (47.0, False)])
def test_littles_law_allows_five_percent(in_flight: float, passed: bool) -> None:
    window = {"completed": 10_000, "mean_service_time_s": 0.05, "mean_in_flight": in_flight}
    assert gates.littles_law(window, 10.0).passed is passed


def test_littles_law_refuses_a_window_in_which_nothing_ended() -> None:
    window = {"completed": 0, "mean_service_time_s": 0.0, "mean_in_flight": 50.0}
    assert not gates.littles_law(window, 10.0).passed


def test_settings_name_what_differs() -> None:
    gate = gates.settings_as_declared(
        {"jit": "off", "x": "1"}, {"jit": "on", "x": "1"}, True, "durability ok"
    )
    assert not gate.passed
    assert "jit is on, declared off" in gate.text


def test_unproven_durability_is_refused() -> None:
    assert not gates.settings_as_declared({}, {}, False, "durability none, declared fsync-per-commit").passed


def report(**changes: Any) -> dict[str, Any]:
    return {
        "attempted": 10_000,
        "failed": {"insufficient": 0, "error": 0},
        "first_error": None,
        "lost_connections": 0,
        "window": {"acknowledged": 9_000},
    } | changes


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
    ramp = [0, 0, *range(100, 1100, 100), 0]
    noise = [0, 0, 990, 1010, 1000, 980, 1020, 1000, 1005, 995, 1001, 999, 0]
    assert not gates.steady(ramp, 2.0, 10.0).passed
    assert gates.steady(noise, 2.0, 10.0).passed


def test_a_short_window_says_that_it_was_not_assessed() -> None:
    gate = gates.steady([1, 100, 200, 300], 1.0, 3.0)
    assert gate.passed
    assert "not assessed" in gate.text
    assert gate.as_dict()["value"] is None


@pytest.mark.parametrize(
    ("other", "steal", "passed"), [(1.0, 0.5, True), (2.5, 0.0, False), (0.0, 1.5, False)]
)
def test_a_busy_machine_is_refused(other: float, steal: float, passed: bool) -> None:
    assert gates.noise(other, steal, 10.0, 2).passed is passed


def test_a_server_that_is_not_ours_to_watch_is_not_called_busy() -> None:
    gate = gates.noise(math.nan, 0.1, 10.0, 2)
    assert gate.passed
    assert "other processes not assessed" in gate.text
    assert not gates.noise(math.nan, 1.5, 10.0, 2).passed


def test_labels() -> None:
    quiet: dict[str, Any] = {
        "goodput_per_s": 100.0, "ceiling_per_s": 1000.0, "client_cpu_s": 1.0, "client_threads": 1,
        "window_s": 10.0, "catch_up_s": 0.5, "loaded_s": 12.0, "durability_s": 0.5,
    }  # fmt: skip
    assert gates.labels(**quiet) == []
    assert gates.labels(**quiet | {"goodput_per_s": 801.0}) == ["client-bound"]
    assert gates.labels(**quiet | {"client_cpu_s": 9.5}) == ["client-bound"]
    assert gates.labels(**quiet | {"catch_up_s": 3.0}) == ["not sustained: 3.0 s to catch up"]
