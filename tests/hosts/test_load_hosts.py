"""Load from other hosts against real servers: hosts with networks of their own on one wire, one whose clock is off, and
such as are lost."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from gapbook.load.client import configure_load, find_client
from gapbook.load.configuration import LoadConfiguration
from gapbook.load.split import split
from gapbook.method.findings import Findings
from gapbook.pages.provenance import provenance_parts
from gapbook.record.run import Run, load_run
from gapbook.trial.workloads import find_workload
from tests.hosts.clusters_apart import LoadingHosts, says, until
from tests.hosts.hosts_apart import cut_off, why_none
from tests.hosts.load_from import CHAPTER, CONNECTIONS

_NEEDS_HOSTS = pytest.mark.skipif(why_none() is not None, reason=str(why_none()))
_OF_THE_MACHINE = {"quiet machine", "steal", "steady"}
"""Gates by which a busy machine may refuse a trial that was made as it should be."""
_WITHIN_S = 120


@pytest.mark.parametrize("language", ["rust", "typescript"])
def test_the_shares_of_hosts_draw_together_what_one_host_draws(language: str, tmp_path: Path) -> None:
    client = find_client(language, "postgres")
    whole = configure_load(
        {"protocol": "postgres"},
        find_workload("transfer", {"accounts": 1000, "alpha": 1.5}),
        tmp_path,
        seed=11,
        connections=5,
        in_flight=1,
        warmup_s=0,
        window_s=1,
        drain_s=1,
        request_timeout_s=1,
    )

    def drawn(configuration: LoadConfiguration) -> bytes:
        lines = b""
        first = configuration.get("first_connection", 0)
        for connection in range(first, first + configuration["connections"]):
            told = {**configuration, "draw": {"connection": connection, "first_index": 0, "count": 300}}
            lines += subprocess.run(
                [*client.resolved_command(), "--draw"],
                input=json.dumps(told).encode(),
                capture_output=True,
                check=True,
            ).stdout
        return lines

    def of_all(configuration: LoadConfiguration) -> str:
        return hashlib.sha256(drawn(configuration)).hexdigest()

    shares = split(whole, 2)
    together = hashlib.sha256(b"".join(map(drawn, shares))).hexdigest()
    assert together == of_all(whole)
    assert len(drawn(whole).splitlines()) == 5 * 300
    # And no share draws what another does.
    assert len({of_all({**share, "connections": 2}) for share in shares}) == 2


@_NEEDS_HOSTS
def test_two_hosts_load_one_server_as_one_though_the_clock_of_one_is_off_by_a_second(
    hosts_of: Callable[[int], LoadingHosts], runs_folder: Path
) -> None:
    hosts = hosts_of(2)
    hosts.start(0)
    hosts.start(1, ahead_s=1)
    ended, log = hosts.measure(blocks=1, window_s=1.0, contestants="postgres,spacetimedb")
    assert ended.wait(_WITHIN_S) == 0, log.read_text(encoding="utf-8")
    told = log.read_text(encoding="utf-8")
    run = _only_run(runs_folder)
    rows = run.trials.to_dicts()
    assert {row["contestant"] for row in rows} == {"postgres", "spacetimedb"}
    for row in rows:
        _require_from_two(row)
    # What was measured of the clocks is what they were made to be.
    for address, ahead_s in zip((host.address for host in hosts.others), (0.0, 1.0), strict=True):
        offsets = [float(one) for one in re.findall(rf"clock of {address}:\d+: ([+-][\d.]+) s", told)]
        assert offsets
        assert all(abs(offset_s - ahead_s) < 0.005 for offset_s in offsets)
    # None began before all, though each went by its own clock; word of it takes a moment on a busy machine.
    began = [float(one) for one in re.findall(r"window of \S+ began ([\d.]+) s after the start", told)]
    assert len(began) == 4
    assert all(began_s > 0.29 for began_s in began), began
    assert len(run.manifest.load_hosts) == 2
    assert all(0 < (host.clock_bound_s or 0) < 0.005 for host in run.manifest.load_hosts)
    said = [part for part in provenance_parts(Findings(run, CHAPTER)) if part.startswith("load from")]
    assert len(said) == 1
    assert said[0].startswith("load from 2 hosts (on the server's own machine), clocks known within ")
    hosts.require_nothing_left()


@_NEEDS_HOSTS
def test_a_link_that_drops_and_a_host_that_dies_cost_their_trial_each_and_are_named(
    hosts_of: Callable[[int], LoadingHosts], runs_folder: Path
) -> None:
    hosts = hosts_of(2)
    lost, _ = hosts.start(0)
    hosts.start(1)
    ended, log = hosts.measure(blocks=3, window_s=3.5, contestants="postgres")
    until(says(log, r"window of .* began", times=2))
    with cut_off(hosts.first, 2):
        until(says(log, "trial 1/3"))
    until(says(log, r"trial 2/3"))
    until(says(log, r"window of .* began", times=6))
    lost.kill()
    assert ended.wait(_WITHIN_S) == 0, log.read_text(encoding="utf-8")
    rows = _only_run(runs_folder).trials.sort("trial").to_dicts()
    dying, dropping = (host.address for host in hosts.others)
    assert re.fullmatch(
        rf"load host {dropping}:\d+ said nothing for 3 s; see that it runs and its link holds",
        rows[0]["refused_because"],
    )
    _require_from_two(rows[1])
    assert re.fullmatch(rf"load host {dying}:\d+ is lost \(.*\)", rows[2]["refused_because"])
    # Known before it is waited for: the trial ended in its window.
    assert rows[2]["took_s"] < 15
    until(lambda: not hosts.others[0].processes())
    hosts.require_nothing_left()


def _require_from_two(row: Mapping[str, Any]) -> None:
    """A trial that counts, unless the machine was busy, and of which each host made its share."""
    parts = json.loads(row["from_hosts"])
    assert [part["connections"] for part in parts] == [3, 2]
    assert sum(part["connections"] for part in parts) == CONNECTIONS
    assert all(part["acknowledged_in_window"] > 0 for part in parts)
    assert sum(part["acknowledged_in_window"] for part in parts) == row["acknowledged_in_window"]
    assert all(part["ceiling_per_s"] > 0 and part["cpu_s"] > 0 and part["here"] for part in parts)
    assert sum(part["cpu_s"] for part in parts) == pytest.approx(row["client_cpu_s"])
    failed = {gate["name"] for gate in json.loads(row["gates"]) if gate["passed"] is False}
    assert failed <= _OF_THE_MACHINE, row["refused_because"]
    assert row["acknowledged"] == row["committed"] > 0


def _only_run(runs_folder: Path) -> Run:
    (folder,) = (runs_folder / CHAPTER).iterdir()
    return load_run(folder)
