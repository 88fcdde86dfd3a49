"""CPU inside the window is the difference of both edges, and unknown when an edge is."""

import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from gapbook.deploy import usage
from gapbook.deploy.usage import LivingCpu, MachineCpu
from gapbook.model.event import Event, Progress
from gapbook.trial import window_cpu
from gapbook.trial.window_cpu import WindowCpu, WindowSampler

_SPINS = "while True: pass"
_SPINS_A_WHILE = "import time\nwhile time.process_time() < 0.4: pass"
_FLUSHES = """
import os, sys
file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
while True:
    os.pwrite(file, bytes(100_000), 0)
    os.fsync(file)
    os.ftruncate(file, 0)
"""
_GRAIN_S = 0.15


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

    def last_words(self) -> str:
        return "(no log)"

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
    sampler.on_event(Event("window_start"))
    spin()
    sampler.on_event(Progress(elapsed_s=1.0, acknowledged=1))
    sampler.on_event(Event("window_end"))
    window = sampler.window_cpu()
    assert window.server_s >= 0.02
    assert window.harness_s >= 0.02
    assert window.tier_s == 0.0


def test_one_edge_alone_gives_no_number() -> None:
    sampler = WindowSampler([_ThisProcess()], [])
    sampler.on_event(Event("window_start"))
    assert math.isnan(sampler.window_cpu().steal_s)


def test_an_engine_inside_its_client_uses_no_cpu_of_its_own() -> None:
    sampler = WindowSampler([], [])
    sampler.on_event(Event("window_start"))
    spin()
    sampler.on_event(Event("window_end"))
    window = sampler.window_cpu()
    assert window.server_s == 0.0
    assert math.isfinite(window.other_s(0.0))


def test_a_server_that_nobody_may_watch_makes_the_rest_unknown() -> None:
    sampler = WindowSampler(None, [])
    sampler.on_event(Event("window_start"))
    sampler.on_event(Event("window_end"))
    assert math.isnan(sampler.window_cpu().other_s(0.0))


def test_a_part_that_nobody_can_read_makes_the_whole_unknown() -> None:
    sampler = WindowSampler([_ThisProcess(), _Far()], [])
    sampler.on_event(Event("window_start"))
    sampler.on_event(Event("window_end"))
    assert math.isnan(sampler.window_cpu().server_s)


def test_other_is_what_nobody_of_the_trial_used_with_its_sign() -> None:
    assert WindowCpu(1.0, 0.5, 0.1, 3.0, 9.0, 0.0).other_s(0.4) == pytest.approx(1.0)
    assert WindowCpu(1.0, 0.5, 0.1, 1.0, 9.0, 0.0).other_s(0.4) == pytest.approx(-1.0)


@contextmanager
def another_process(program: str, *words: str) -> Iterator[int]:
    """The id of a process of ours that runs until the block ends."""
    process = subprocess.Popen([sys.executable, "-c", program, *words])
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def sampled(seconds: float, server: Sequence[_ThisProcess] = ()) -> WindowCpu:
    sampler = WindowSampler(server, [])
    sampler.on_event(Event("window_start"))
    time.sleep(seconds)
    sampler.on_event(Event("window_end"))
    return sampler.window_cpu()


class _OfProcess(_ThisProcess):
    """A process that is a part of the trial."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def cpu_s(self) -> float:
        return usage.cpu_s([self.pid])


def test_a_busy_loop_in_another_process_is_seen() -> None:
    with another_process(_SPINS) as pid:
        before_s = usage.cpu_s([pid])
        time.sleep(0.2)
        sampler = WindowSampler([], [])
        sampler.on_event(Event("window_start"))
        start_s = usage.cpu_s([pid])
        time.sleep(0.5)
        spun_s = usage.cpu_s([pid]) - start_s
        sampler.on_event(Event("window_end"))
    assert start_s > before_s
    assert sampler.window_cpu().other_s(0.0) >= spun_s - _GRAIN_S


def test_what_starts_and_ends_inside_the_window_is_seen() -> None:
    sampler = WindowSampler([], [])
    sampler.on_event(Event("window_start"))
    subprocess.run([sys.executable, "-c", _SPINS_A_WHILE], check=True)
    sampler.on_event(Event("window_end"))
    assert sampler.window_cpu().other_s(0.0) >= 0.4 - _GRAIN_S


def test_a_busy_loop_that_is_a_part_of_the_trial_is_none_of_the_others() -> None:
    with another_process(_SPINS) as pid:
        window = sampled(0.5, [_OfProcess(pid)])
        assert window.server_s > 0
        assert window.other_s(0.0) == pytest.approx(window.programs_s - window.server_s, abs=_GRAIN_S)


def test_flushes_of_a_part_of_the_trial_are_the_work_of_the_kernel_and_of_nobody_else(tmp_path: Path) -> None:
    with another_process(_FLUSHES, str(tmp_path / "flushed")) as pid:
        for _ in range(20):
            before = _programs()
            window = sampled(0.5, [_OfProcess(pid)])
            after = _programs()
            used_s = sum(spent_s - before.get(one, 0.0) for one, spent_s in after.items())
            # What ended meanwhile cannot be counted from outside, and on a busy machine something does in many a half
            # second; a quick disk can leave the kernel less to do than the grain of its clock.
            if window.kernel_s > 0 and window.other_s(0.0) <= used_s - window.server_s + _GRAIN_S:
                break
    assert window.kernel_s > 0
    assert window.other_s(0.0) <= used_s - window.server_s + _GRAIN_S


def test_threads_of_the_kernel_are_no_programs() -> None:
    living = usage.living_cpu()
    programs, threads = ({pid for pid, _ in found} for found in (living.programs, living.kernel_threads))
    assert os.getpid() in programs - threads
    # A container that has process ids of its own hides the kernel's threads.
    if psutil.pid_exists(2) and psutil.Process(2).name() == "kthreadd":
        assert {child.pid for child in psutil.Process(2).children()}.isdisjoint(programs)
        assert 2 in threads


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor has no elsewhere")
def test_what_runs_where_we_may_not_is_nobody_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    first, *_, last = sorted(os.sched_getaffinity(0))
    monkeypatch.setattr(usage, "allowed_processors", lambda: [last])
    with another_process(_SPINS) as pid:
        for place in (first, last):
            os.sched_setaffinity(pid, {place})
            time.sleep(0.05)
            living = usage.living_cpu()
            assert pid in {one for one, _ in living.programs}
            assert (pid in {one for one, _ in living.here().programs}) is (place == last)


def test_the_machine_is_the_processors_that_we_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """As another library counts them."""
    last = max(os.sched_getaffinity(0))
    monkeypatch.setattr(usage, "allowed_processors", lambda: [last])

    def charged_s() -> float:
        told = psutil.cpu_times(percpu=True)[last]
        return float(told.user + told.nice + told.system)

    before_s, ours_s, after_s = charged_s(), usage.machine_cpu().charged_s, charged_s()
    assert before_s - 0.001 <= ours_s <= after_s + 0.001


def test_what_a_quota_kept_waiting_is_that_of_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = iter((1.0, 1.25))
    monkeypatch.setattr(window_cpu, "throttled_s", lambda: next(readings))
    assert sampled(0.0).throttled_s == pytest.approx(0.25)


def _programs() -> dict[tuple[int, float], float]:
    """CPU seconds of all programs, as another library reads them; what has no memory of its own is the kernel's."""
    found = {}
    for process in psutil.process_iter(["cpu_times", "create_time", "memory_info"]):
        told = process.info
        if told["memory_info"] and told["memory_info"].vms:
            found[process.pid, told["create_time"]] = told["cpu_times"].user + told["cpu_times"].system
    return found


def edge(
    charged_s: float, interrupts_s: float, programs: dict[int, int], threads: dict[int, int]
) -> tuple[MachineCpu, LivingCpu]:
    """The machine and all that lives, with ticks by process id."""
    living = LivingCpu(
        {(pid, 0): ticks for pid, ticks in programs.items()},
        {(pid, 0): ticks for pid, ticks in threads.items()},
    )
    return MachineCpu(charged_s, interrupts_s, 0.0), living


@pytest.mark.parametrize(
    ("after", "programs_s", "kernel_s"),
    [
        # Kernel threads are charged as programs are, and interrupts by themselves.
        (edge(3.0, 0.5, {1: 200}, {2: 100}), 2.0, 1.5),
        # A kernel thread that ended takes nothing of what was before the window with it.
        (edge(1.0, 0.0, {1: 100}, {}), 1.0, 0.0),
        # A program that ended is charged to the machine alone.
        (edge(2.0, 0.0, {1: 100}, {2: 0}), 2.0, 0.0),
        # Interrupts on top of programs are in the programs' own count alone.
        (edge(1.0, 1.0, {1: 200}, {2: 0}), 2.0, 1.0),
    ],
)
def test_programs_and_kernel_are_told_apart(
    monkeypatch: pytest.MonkeyPatch,
    after: tuple[MachineCpu, LivingCpu],
    programs_s: float,
    kernel_s: float,
) -> None:
    before = MachineCpu(0.0, 0.0, 0.0), LivingCpu({}, {(2, 0): 0, (3, 0): 9999})
    machines, living = zip(before, after, strict=True)
    machine_readings, living_readings = iter(machines), iter(living)
    monkeypatch.setattr(window_cpu, "machine_cpu", lambda: next(machine_readings))
    monkeypatch.setattr(window_cpu, "living_cpu", lambda: next(living_readings))
    window = sampled(0.0)
    assert window.programs_s == pytest.approx(programs_s)
    assert window.kernel_s == pytest.approx(kernel_s)


def test_a_server_is_read_at_each_word_of_progress_where_it_is_watched() -> None:
    progress = Progress(elapsed_s=3.0, acknowledged=0, phase="window")
    for watches, times in ((True, 2), (False, 0)):
        sampler = WindowSampler([_ThisProcess()], [], watches=watches)
        for _ in range(2):
            sampler.on_event(progress)
        assert [one.elapsed_s for one in sampler.watched] == [3.0] * times
    nobody = WindowSampler([], [], watches=True)
    nobody.on_event(progress)
    assert nobody.watched == []
