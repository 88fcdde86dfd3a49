"""What a process may use is told from its groups, whichever version and however they are nested or mounted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.limits import throttled_s, usable
from gapbook.record.machine import Usable

_MEMORY_BYTES = 2**34
_V2, _V1 = "cgroup2 cgroup2 rw", "cgroup cgroup rw,cpu,memory"
_Case = tuple[str, str, str, Mapping[str, str], float | None, int | None, float]
_CASES: Mapping[str, _Case] = {
    # kind of mount, /proc/PID/cgroup, root of the mount, files; quota, memory limit, throttled seconds
    "v2, nothing limited": (
        _V2,
        "0::/a",
        "/",
        {"a/cpu.max": "max 100000", "a/memory.max": "max"},
        None,
        None,
        0,
    ),
    "v2, own": (
        _V2,
        "0::/a",
        "/",
        {
            "a/cpu.max": "50000 100000",
            "a/memory.max": "1000",
            "a/cpu.stat": "usage_usec 1\nthrottled_usec 250000",
        },
        0.5,
        1000,
        0.25,
    ),
    "v2, the parent's is smaller": (
        _V2,
        "0::/a/b c/d",
        "/",
        {
            "a/cpu.max": "25000 100000",
            "a/cpu.stat": "throttled_usec 1000000",
            "a/b c/cpu.max": "max 100000",
            "a/b c/d/cpu.max": "150000 100000",
            "a/b c/d/cpu.stat": "throttled_usec 500000",
            "a/b c/memory.max": "2000",
            "a/b c/d/memory.max": "3000",
        },
        0.25,
        2000,
        1.5,
    ),
    "v2, a container that sees its group as the root": (
        _V2,
        "0::/",
        "/",
        {"cpu.max": "100000 100000", "memory.max": "4000"},
        1.0,
        4000,
        0,
    ),
    "v1, own and parent": (
        _V1,
        "3:cpu,memory:/a/b\n1:name=systemd:/x\n0::/y",
        "/",
        {
            "a/cpu.cfs_quota_us": "20000",
            "a/cpu.cfs_period_us": "10000",
            "a/b/cpu.cfs_quota_us": "-1",
            "a/b/cpu.cfs_period_us": "100000",
            "a/b/cpu.stat": "nr_periods 1\nnr_throttled 1\nthrottled_time 3000000000",
            "a/memory.limit_in_bytes": "9223372036854771712",
            "a/b/memory.limit_in_bytes": "5000",
        },
        2.0,
        5000,
        3.0,
    ),
    "v1, the engine's path, mounted from within": (
        _V1,
        "3:cpu,memory:/docker/abc",
        "/docker/abc",
        {"cpu.cfs_quota_us": "75000", "cpu.cfs_period_us": "100000"},
        0.75,
        None,
        0,
    ),
}


@pytest.mark.parametrize("case", _CASES.values(), ids=_CASES)
def test_the_smallest_limit_on_the_way_up_holds(case: _Case, tmp_path: Path) -> None:
    kind, groups, root, files, quota_cores, memory_bytes, waited_s = case
    hierarchy = tmp_path / "groups of it"
    for name, text in files.items():
        (hierarchy / name).parent.mkdir(parents=True, exist_ok=True)
        (hierarchy / name).write_text(f"{text}\n", encoding="utf-8")
    place = str(hierarchy).replace(" ", "\\040")
    (tmp_path / "cgroup").write_text(f"{groups}\n", encoding="utf-8")
    (tmp_path / "mountinfo").write_text(
        f"27 1 254:0 / / rw - ext4 /dev/vda rw\n30 27 0:26 {root} {place} rw - {kind}\n", encoding="utf-8"
    )
    allowed = tuple(sorted(os.sched_getaffinity(0)))
    assert usable(_MEMORY_BYTES, tmp_path) == Usable(allowed, quota_cores, memory_bytes)
    assert throttled_s(tmp_path) == pytest.approx(waited_s)


def test_where_no_group_can_be_read_nothing_is_limited(tmp_path: Path) -> None:
    assert usable(_MEMORY_BYTES, tmp_path).quota_cores is None
    assert throttled_s(tmp_path) == 0


_TELLS = """
import json, sys
from gapbook.trial.facts import machine
from gapbook.trial.contestant import Variant
from gapbook.record.machine import cores_words
told = machine()
pinned = Variant("postgres", "none", None, 1).processors
json.dump([told.usable.processors, told.processors, cores_words(told), pinned], sys.stdout)
"""


def test_under_taskset_the_record_and_the_pinning_are_of_the_allowed_set() -> None:
    last = max(os.sched_getaffinity(0))
    done = subprocess.run(
        ["taskset", "--cpu-list", str(last), sys.executable, "-c", _TELLS],
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    allowed, processors, words, pinned = json.loads(done.stdout)
    assert (allowed, pinned) == ([last], [last])
    assert processors == os.cpu_count()
    assert words == ("1 core" if processors == 1 else f"1 of {processors} cores")


def test_what_is_started_while_confined_runs_there_unless_it_has_processors_of_its_own(
    tmp_path: Path,
) -> None:
    first, last = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))
    with Deployment(tmp_path) as deployment:

        def allowed(processors: list[int] | None = None) -> list[int]:
            told = [sys.executable, "-c", "import os; print(*sorted(os.sched_getaffinity(0)))"]
            started = deployment.start(told, name="told", stdout=True, processors=processors)
            return [int(word) for word in started.stdout.read().split()]

        with deployment.confining([last]):
            assert allowed() == [last]
            assert allowed([first]) == [first]
            with deployment.confining(None):
                assert allowed() == sorted(os.sched_getaffinity(0))
        assert allowed() == sorted(os.sched_getaffinity(0))
