"""A campaign on machines behind a scheduler: hosts with networks of their own, real servers, and what dies dies."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gapbook.book.elsewhere import Wanted
from gapbook.book.plans import published_plans
from gapbook.book.together import units_of
from gapbook.hosts.request import Answer, Request
from gapbook.hosts.resources import whole_machine
from gapbook.record.kind import kind_of
from gapbook.record.run import Run, finished_folders, load_run
from tests.hosts.campaign_on import CHAPTER
from tests.hosts.clusters_apart import CampaignHosts, says, until
from tests.hosts.hosts_apart import why_none

_WITHIN_S = 240
_NARROW = f"1 of {os.cpu_count()} cores of "

pytestmark = pytest.mark.skipif(why_none() is not None, reason=str(why_none()))


def _only_run(runs_folder: Path) -> Run:
    (folder,) = (runs_folder / CHAPTER).iterdir()
    return load_run(folder)


def _kinds_in(run: Run) -> set[str]:
    return {kind_of(one.machine) for one in run.manifest.deployments if one.machine is not None}


def test_sessions_go_to_whoever_is_free_and_a_lost_machine_costs_its_own(
    cluster_of: Callable[[int], CampaignHosts], runs_folder: Path
) -> None:
    cluster = cluster_of(4)
    *machines, foreign = cluster.others
    workers = [cluster.start_worker(host) for host in machines]
    # Of other code, whatever it is: it says nothing of what it has.
    foreign_log = cluster.folder / "foreign.log"
    foreign.start(
        sys.executable, "-m", "distributed.cli.dask_worker", cluster.address, "--no-nanny", log=foreign_log
    )
    until(says(foreign_log, "Registered to"))
    campaign, said = cluster.start_campaign(sessions=5)
    lost, lost_log = workers[1]
    until(says(lost_log, "starting postgres"))
    lost.kill()
    # Its session and servers end with it.
    until(lambda: not machines[1].processes())
    assert campaign.wait(_WITHIN_S) == 0, said.read_text(encoding="utf-8")
    told = said.read_text(encoding="utf-8")
    assert re.search(rf"left out, for they have other code: tcp://{re.escape(foreign.address)}:\d+\n", told)
    assert "campaign: 3 of one kind of machine" in told
    run = _only_run(runs_folder)
    assert sorted(run.trials["session"].to_list()) == [0, 1, 2, 3, 4]
    assert sorted(one.session for one in run.manifest.deployments) == [0, 1, 2, 3, 4]
    for _, log in (workers[0], workers[2]):
        assert "starting postgres" in log.read_text(encoding="utf-8")


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core makes one kind of machine")
def test_two_kinds_of_machines_side_by_side_have_a_whole_run_each_and_a_lost_kind_holds_nobody_up(
    cluster_of: Callable[[int], CampaignHosts], runs_folder: Path
) -> None:
    core = min(os.sched_getaffinity(0))
    cluster = cluster_of(2)
    whole_host, narrow_host = cluster.others
    whole, _ = cluster.start_worker(whole_host)
    narrow, narrow_log = cluster.start_worker(narrow_host, core)
    campaign, said = cluster.start_campaign(sessions=3)
    # Killed in the second of its sessions.
    until(lambda: narrow_log.read_text(encoding="utf-8").count("starting postgres") == 2)
    until(says(said, f"session 1 of 3 on {_NARROW}"))
    narrow.kill()
    assert campaign.wait(_WITHIN_S) == 0, said.read_text(encoding="utf-8")
    told = said.read_text(encoding="utf-8")
    assert "campaign: 2 machines of 2 kinds at " in told
    assert f"campaign: {CHAPTER}: 1 of 3 sessions on {_NARROW}" in told.splitlines()[-1]
    (first,) = finished_folders(CHAPTER)
    (kept,) = runs_folder.glob("*/incomplete-*/trial-*.json")
    before = json.loads(kept.read_bytes())["content"]
    whole.terminate()
    until(lambda: not whole_host.processes() and not narrow_host.processes())
    cluster.start_worker(narrow_host, core)
    campaign, said = cluster.start_campaign(sessions=3)
    assert campaign.wait(_WITHIN_S) == 0, said.read_text(encoding="utf-8")
    (second,) = {*finished_folders(CHAPTER)} - {first}
    runs = [load_run(folder) for folder in (first, second)]
    for run in runs:
        assert run.trials["session"].to_list() == [0, 1, 2]
        assert sorted(one.session for one in run.manifest.deployments) == [0, 1, 2]
        assert _kinds_in(run) == {kind_of(run.manifest.machine)}
    assert len({kind_of(run.manifest.machine) for run in runs}) == 2
    assert runs[1].trials.row(before["trial"], named=True)["started_unix_s"] == before["started_unix_s"]
    assert not list(runs_folder.glob("*/incomplete-*"))


def test_a_campaign_whose_scheduler_ends_goes_on_with_the_next(
    cluster_of: Callable[[int], CampaignHosts], runs_folder: Path
) -> None:
    cluster = cluster_of(1)
    cluster.start_worker(cluster.others[0])
    campaign, said = cluster.start_campaign(sessions=3)
    until(says(said, "session 1 of 3"))
    cluster.scheduler.kill()
    assert campaign.wait(_WITHIN_S) == 2, said.read_text(encoding="utf-8")
    last = said.read_text(encoding="utf-8").splitlines()[-1]
    assert last.startswith(f"campaign: the scheduler at {cluster.address} is gone")
    until(lambda: not cluster.others[0].processes())
    kept = sorted(runs_folder.glob("*/incomplete-*/trial-*.json"))
    before = {path.name: path.read_bytes() for path in kept}
    assert before
    cluster.start_scheduler()
    _, log = cluster.start_worker(cluster.others[0])
    campaign, said = cluster.start_campaign(sessions=3)
    assert campaign.wait(_WITHIN_S) == 0, said.read_text(encoding="utf-8")
    assert log.read_text(encoding="utf-8").count("starting postgres") == 3 - len(before)
    run = _only_run(runs_folder)
    assert sorted(one.session for one in run.manifest.deployments) == [0, 1, 2]


def test_where_nobody_answers_is_said_in_a_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, runs_folder: Path
) -> None:
    from gapbook import cli  # noqa: PLC0415
    from gapbook.hosts import cluster, worker  # noqa: PLC0415

    runs_folder.mkdir()
    monkeypatch.setattr(cluster, "_ANSWERS_WITHIN_S", 1)
    monkeypatch.setattr(worker, "_CONNECTS_WITHIN_S", 1)
    nobody = "tcp://127.0.0.1:9"
    for words in (["campaign", "commit-timer", "--on", nobody], ["worker", nobody], ["load-host", nobody]):
        assert cli.main(words) == 2
        assert capsys.readouterr().err == (
            f"gapbook: {words[0]}: no scheduler answers at {nobody}; start one there: dask scheduler\n"
        )


def test_a_kind_is_given_what_it_has_left_until_nothing_is(monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import Client  # noqa: PLC0415

    from gapbook.deploy.own_code import code_sha256  # noqa: PLC0415
    from gapbook.hosts import cluster  # noqa: PLC0415

    def measure(request: bytes) -> bytes:
        session = msgspec.msgpack.decode(request, type=Request).session
        answer = Answer(files={"trial": b"0"}) if session else Answer(error="no node")
        return msgspec.msgpack.encode(answer)

    monkeypatch.setattr(cluster, "measure_session", measure)
    (unit,) = units_of(published_plans(["commit-timer"]))
    left = [[1, 0, 2], [0], list[int]()]
    asked, said = list[str](), list[str]()

    def wanted_on(kind: str) -> list[Wanted]:
        asked.append(kind)
        return [Wanted(unit, session, "key", kind) for session in left[len(asked) - 1]]

    connected: Any = Client
    one_worker = connected(
        processes=False,
        n_workers=1,
        threads_per_worker=1,
        dashboard_address=None,
        resources=whole_machine(code_sha256(), "a" * 12),
    )
    with one_worker as client:
        ended = list(cluster.Cluster(client, "here", said.append).measured(wanted_on))
    assert asked == ["a" * 12] * 3
    assert sorted((one.wanted.session, one.error) for one in ended) == [
        (0, "no node"),
        (0, "no node"),
        (1, ""),
        (2, ""),
    ]
    assert said == ["campaign: 1 of one kind of machine at here"]
