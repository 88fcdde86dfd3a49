"""CPU inside the window is the difference of both edges, and unknown when an edge is."""

import math
import os

import pytest

from gapbook.deploy import usage
from gapbook.trial.window_cpu import WindowCpu, WindowSampler


class _ThisProcess:
    """The test itself, as something that runs."""

    name = "this"
    running = True

    def cpu_s(self) -> float:
        return usage.cpu_s([os.getpid()])

    def memory_bytes(self) -> int:
        return usage.proportional_memory_bytes([os.getpid()])

    def require_running(self) -> None:
        """It runs."""

    def kill(self) -> None:
        raise AssertionError("nobody kills the test")


class _Far(_ThisProcess):
    """What runs where nobody can look."""

    def cpu_s(self) -> None:  # type: ignore[override]
        return None


def spin() -> None:
    total = 0
    for number in range(3_000_000):
        total += number


def test_cpu_between_the_edges_is_seen() -> None:
    sampler = WindowSampler([_ThisProcess()], [])
    sampler.on_event({"event": "window_start"})
    spin()
    sampler.on_event({"event": "progress"})
    sampler.on_event({"event": "window_end"})
    window = sampler.window_cpu()
    assert window.server_s >= 0.02
    assert window.harness_s >= 0.02
    assert window.tier_s == 0.0


def test_one_edge_alone_gives_no_number() -> None:
    sampler = WindowSampler([_ThisProcess()], [])
    sampler.on_event({"event": "window_start"})
    assert math.isnan(sampler.window_cpu().steal_s)


def test_an_engine_inside_its_client_uses_no_cpu_of_its_own() -> None:
    sampler = WindowSampler([], [])
    sampler.on_event({"event": "window_start"})
    spin()
    sampler.on_event({"event": "window_end"})
    window = sampler.window_cpu()
    assert window.server_s == 0.0
    assert math.isfinite(window.other_s(0.0))


def test_a_server_that_nobody_may_watch_makes_the_rest_unknown() -> None:
    sampler = WindowSampler(None, [])
    sampler.on_event({"event": "window_start"})
    sampler.on_event({"event": "window_end"})
    assert math.isnan(sampler.window_cpu().other_s(0.0))


def test_a_part_that_nobody_can_read_makes_the_whole_unknown() -> None:
    sampler = WindowSampler([_ThisProcess(), _Far()], [])
    sampler.on_event({"event": "window_start"})
    sampler.on_event({"event": "window_end"})
    assert math.isnan(sampler.window_cpu().server_s)


def test_other_is_what_nobody_of_the_trial_used_with_its_sign() -> None:
    assert WindowCpu(1.0, 0.5, 0.1, 3.0, 0.0).other_s(0.4) == pytest.approx(1.0)
    assert WindowCpu(1.0, 0.5, 0.1, 1.0, 0.0).other_s(0.4) == pytest.approx(-1.0)
