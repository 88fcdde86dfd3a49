"""How far a run's intervals reach, in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import polars as pl
import pytest

from gapbook.record.machine import Machine, cores_words, processor_words
from gapbook.record.reach import reach
from gapbook.record.run import Run
from gapbook.record.schema import Deployed
from tests.unit import stored_runs as runs

_EPYC = {**runs.MACHINE, "processor": "AMD EPYC (family 25, model 1)"}
_XEON = {**runs.MACHINE, "processor": "Intel(R) Xeon(R) Processor"}
_BOOTS = [{**_EPYC, "boot_sha256": digit * 64} for digit in "01"]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return runs.store(tmp_path_factory.mktemp("reach"), runs.whole(1))


def _machine(told: dict[str, Any]) -> Machine:
    return msgspec.convert(told, Machine)


def _run(
    stored: Run,
    machine: dict[str, Any],
    hours: float,
    *,
    resumed: bool = False,
    deployments: list[dict[str, Any]] | None = None,
) -> Run:
    """The stored run as if it had begun at the hour 0 of its clock and taken so long."""
    trials = stored.trials.with_columns(started_unix_s=pl.lit(0.0), took_s=pl.lit(3600 * hours))
    manifest = msgspec.structs.replace(
        stored.manifest,
        machine=_machine(machine),
        resumed_unix_s=[1.0] if resumed else [],
        deployments=msgspec.convert(deployments or [], list[Deployed]),
    )
    return replace(stored, manifest=manifest, trials=trials)


def _sessions(*machines: dict[str, Any] | None) -> list[dict[str, Any]]:
    return [
        {"session": number, "started_unix_s": 0.0, "machine": machine}
        for number, machine in enumerate(machines)
    ]


def test_one_process_measures_on_one_machine(stored: Run) -> None:
    assert reach(_run(stored, _EPYC, 1.63)).text == "one machine, 2 cores of an AMD EPYC, within 1.6 hours"
    assert reach(_run(stored, _XEON, 0.154)).text == (
        "one machine, 2 cores of an Intel Xeon, within 9 minutes"
    )


def test_a_run_that_was_resumed_is_of_one_machine_only_where_its_boot_was_recorded(stored: Run) -> None:
    unknown = _run(stored, _EPYC, 30, resumed=True, deployments=_sessions(None, _EPYC))
    assert reach(unknown).text == "one kind of machine, 2 cores of an AMD EPYC, within 30 hours"
    same, moved = (
        _run(stored, _EPYC, 1, resumed=True, deployments=_sessions(_BOOTS[0], later)) for later in _BOOTS
    )
    assert reach(same).machine_words == "one machine, 2 cores of an AMD EPYC"
    assert reach(moved).machine_words == ("2 machines or restarts of them, each with 2 cores of an AMD EPYC")


def test_several_runs_say_what_they_hold_together(stored: Run) -> None:
    earlier, later = _run(stored, _XEON, 1), _run(stored, _EPYC, 264)
    assert reach(earlier, later).text == (
        "2 kinds of machine: 2 cores of an Intel Xeon and 2 cores of an AMD EPYC, 2 runs over 11 days"
    )
    assert reach(later, later).machine_words == "one kind of machine, 2 cores of an AMD EPYC"


@pytest.mark.parametrize(
    ("usable", "words"),
    [
        (None, "2 cores"),
        ({"processors": [0, 1], "quota_cores": None, "memory_bytes": None}, "2 cores"),
        ({"processors": [1], "quota_cores": None, "memory_bytes": None}, "1 of 2 cores"),
        ({"processors": [1], "quota_cores": 1.5, "memory_bytes": 2**30}, "1 of 2 cores"),
        ({"processors": [0, 1], "quota_cores": 0.5, "memory_bytes": None}, "0.5 of 2 cores"),
        ({"processors": [0, 1], "quota_cores": 1.25, "memory_bytes": None}, "1.25 of 2 cores"),
    ],
)
def test_cores_are_those_that_the_run_could_use(usable: dict[str, Any] | None, words: str) -> None:
    assert cores_words(_machine({**_EPYC, "usable": usable})) == words


def test_a_single_core_and_an_unmarked_name() -> None:
    assert cores_words(_machine({**_EPYC, "processors": 1})) == "1 core"
    assert processor_words(_machine({**_EPYC, "processor": "Zen 2"})) == "a Zen 2"
