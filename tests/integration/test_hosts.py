"""A campaign on machines behind a scheduler: hosts with networks of their own, real servers, and what dies dies."""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from gapbook.book.elsewhere import Wanted
from gapbook.book.plans import published_plans
from gapbook.book.together import units_of
from gapbook.hosts.resources import whole_machine
from gapbook.record.run import Run, load_run
from tests.integration.campaign_on import CHAPTER
from tests.integration.hosts_apart import Host, hosts_apart, why_none

_PORT = 8786
_WITHIN_S = 240
_GAPBOOK = (sys.executable, "-m", "gapbook")

pytestmark = pytest.mark.skipif(why_none() is not None, reason=str(why_none()))


class _Cluster:
    """A scheduler on the first host, and what runs on the others."""

    def __init__(self, hosts: list[Host], folder: Path, disk: Path) -> None:
        self.first, self.others = hosts[0], hosts[1:]
        self.address = f"tcp://{self.first.address}:{_PORT}"
        self.folder = folder
        self.disk = disk
        self.scheduler = self.start_scheduler()

    def start_scheduler(self) -> Popen[str]:
        log = self.folder / "scheduler.log"
        words = ("--host", self.first.address, "--port", str(_PORT), "--no-dashboard")
        started = self.first.start(sys.executable, "-m", "distributed.cli.dask_scheduler", *words, log=log)
        _until(lambda: "Scheduler at" in log.read_text(encoding="utf-8"))
        return started

    def start_worker(self, host: Host) -> tuple[Popen[str], Path]:
        data = self.disk / f"data-of-{host.name}"
        data.mkdir(exist_ok=True)
        data.chmod(0o755)
        log = self.folder / f"{host.name}.log"
        started = host.start(
            *_GAPBOOK, "worker", self.address, log=log, environment={"GAPBOOK_DATA": str(data)}
        )
        _until(lambda: "waits for sessions" in log.read_text(encoding="utf-8"))
        return started, log

    def start_campaign(self, sessions: int) -> tuple[Popen[str], Path]:
        log = self.folder / "campaign.log"
        module = ("-m", "tests.integration.campaign_on", self.address, str(sessions))
        return self.first.start(sys.executable, *module, log=log), log


def _until(holds: Callable[[], bool]) -> None:
    ends_s = time.monotonic() + _WITHIN_S
    while not holds():
        assert time.monotonic() < ends_s, "it never came"
        time.sleep(0.1)


def _has(log: Path, words: str) -> Callable[[], bool]:
    return lambda: words in log.read_text(encoding="utf-8")


@pytest.fixture(name="cluster_of")
def _cluster_of(tmp_path: Path, runs_folder: Path) -> Iterator[Callable[[int], _Cluster]]:
    runs_folder.mkdir()
    made = []

    def cluster_of(workers: int) -> _Cluster:
        made.append(hosts_apart(1 + workers))
        return _Cluster(made[0].__enter__(), tmp_path, Path(disk))

    with tempfile.TemporaryDirectory(prefix="test-of-gapbook-", dir="/var/tmp") as disk:
        Path(disk).chmod(0o755)
        try:
            yield cluster_of
        finally:
            for hosts in made:
                hosts.__exit__(None, None, None)


def _only_run(runs_folder: Path) -> Run:
    (folder,) = (runs_folder / CHAPTER).iterdir()
    return load_run(folder)


def test_sessions_go_to_whoever_is_free_and_a_lost_machine_costs_its_own(
    cluster_of: Callable[[int], _Cluster], runs_folder: Path
) -> None:
    cluster = cluster_of(4)
    *machines, foreign = cluster.others
    workers = [cluster.start_worker(host) for host in machines]
    # Of other code, whatever it is: it says nothing of what it has.
    foreign_log = cluster.folder / "foreign.log"
    foreign.start(
        sys.executable, "-m", "distributed.cli.dask_worker", cluster.address, "--no-nanny", log=foreign_log
    )
    _until(_has(foreign_log, "Registered to"))
    campaign, said = cluster.start_campaign(sessions=5)
    lost, lost_log = workers[1]
    _until(_has(lost_log, "starting postgres"))
    lost.kill()
    # Its session and servers end with it.
    _until(lambda: not machines[1].processes())
    assert campaign.wait(_WITHIN_S) == 0, said.read_text(encoding="utf-8")
    told = said.read_text(encoding="utf-8")
    assert re.search(rf"left out, for they have other code: tcp://{re.escape(foreign.address)}:\d+\n", told)
    assert "campaign: 3 of one kind of machine" in told
    run = _only_run(runs_folder)
    assert sorted(run.trials["session"].to_list()) == [0, 1, 2, 3, 4]
    assert sorted(one.session for one in run.manifest.deployments) == [0, 1, 2, 3, 4]
    for _, log in (workers[0], workers[2]):
        assert "starting postgres" in log.read_text(encoding="utf-8")


def test_a_campaign_whose_scheduler_ends_goes_on_with_the_next(
    cluster_of: Callable[[int], _Cluster], runs_folder: Path
) -> None:
    cluster = cluster_of(1)
    cluster.start_worker(cluster.others[0])
    campaign, said = cluster.start_campaign(sessions=3)
    _until(_has(said, "session 1 of 3"))
    cluster.scheduler.kill()
    assert campaign.wait(_WITHIN_S) == 2, said.read_text(encoding="utf-8")
    last = said.read_text(encoding="utf-8").splitlines()[-1]
    assert last.startswith(f"campaign: the scheduler at {cluster.address} is gone")
    _until(lambda: not cluster.others[0].processes())
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
    for words in (["campaign", "commit-timer", "--on", nobody], ["worker", nobody]):
        assert cli.main(words) == 2
        assert capsys.readouterr().err == (
            f"gapbook: {words[0]}: no scheduler answers at {nobody}; start one there: dask scheduler\n"
        )


def test_a_run_that_waits_for_a_kind_of_machine_which_is_not_here_says_so() -> None:
    from distributed import Client  # noqa: PLC0415

    from gapbook.hosts.build import code_sha256  # noqa: PLC0415
    from gapbook.hosts.cluster import Cluster  # noqa: PLC0415

    here, elsewhere = "a" * 64, "b" * 64
    (unit,) = units_of(published_plans(["commit-timer"]))
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if "wait" in line:
            # It would, for ever.
            raise InterruptedError

    connected: Any = Client
    one_worker = connected(
        processes=False,
        n_workers=1,
        threads_per_worker=1,
        dashboard_address=None,
        resources=whole_machine(code_sha256(), here),
    )
    wanted = [Wanted(unit, 0, "key", kind) for kind in (here, elsewhere)]
    with one_worker as client:
        measured = Cluster(client, "here", say).measured(wanted)
        with pytest.raises(InterruptedError):
            next(iter(measured))
    assert said == [
        "campaign: 1 of one kind of machine at here",
        "campaign: commit-timer was begun on a kind of machine of which none is here; its sessions wait for one",
    ]
