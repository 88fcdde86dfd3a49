"""Hosts under faults: whoever of a campaign or of a load is struck, at whatever moment, no number is wrong, no finished
session is lost, and nothing is left behind."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from gapbook.record.run import Run, load_run
from tests.drawn import drawn
from tests.hosts import campaign_on, load_from
from tests.hosts.clusters_apart import CampaignHosts, LoadingHosts, says, until
from tests.hosts.hosts_apart import cut_off, why_none

_WITHIN_S = 240
_SESSIONS, _BLOCKS = 3, 3
_CAMPAIGN_LASTS_S, _LOAD_LASTS_S = 12.0, 14.0
"""Within so long after its beginning a strike falls: about as long as each lasts, with nobody struck."""
_MEASURING = ("worker", "link of a worker", "scheduler", "who asks")
_LOADING = ("load host", "link of a load host")
_POINTS = [(struck, number) for number in range(10) for struck in (*_MEASURING, *_LOADING)]
_CUT_S = 1.5

pytestmark = pytest.mark.skipif(why_none() is not None, reason=str(why_none()))


def _moment_s(struck: str, number: int, lasts_s: float) -> float:
    """When a point strikes: another moment for each, the same whenever it is played."""
    return random.Random(f"{struck}{number}").uniform(0.0, lasts_s)


def _points(struck: tuple[str, ...]) -> list[tuple[str, int]]:
    return [*drawn([one for one in _POINTS if one[0] in struck], 1, of=struck)]


@pytest.mark.parametrize(("struck", "number"), _points(_MEASURING))
def test_a_campaign_whose_hosts_are_struck_has_each_session_once(
    struck: str,
    number: int,
    cluster_of: Callable[[int], CampaignHosts],
    runs_folder: Path,
) -> None:
    cluster = cluster_of(2)
    workers = [cluster.start_worker(host)[0] for host in cluster.others]
    campaign, said = cluster.start_campaign(_SESSIONS)
    until(says(said, "campaign: 2 of one kind of machine"))
    time.sleep(_moment_s(struck, number, _CAMPAIGN_LASTS_S))
    if struck == "worker":
        workers[0].kill()
    elif struck == "link of a worker":
        with cut_off(cluster.first, 1):
            time.sleep(_CUT_S)
    elif struck == "scheduler":
        cluster.scheduler.kill()
    else:
        campaign.kill()
    ended = campaign.wait(_WITHIN_S)
    before = _finished_trials(runs_folder)
    if ended != 0:
        assert struck in {"scheduler", "who asks"}, said.read_text(encoding="utf-8")
        if struck == "scheduler":
            # Who measured for it ends with it.
            until(lambda: not any(host.processes() for host in cluster.others))
            cluster.start_scheduler()
            for host in cluster.others:
                cluster.start_worker(host)
        campaign, said = cluster.start_campaign(_SESSIONS)
        assert campaign.wait(_WITHIN_S) == 0, said.read_text(encoding="utf-8")
    (folder,) = (runs_folder / campaign_on.CHAPTER).iterdir()
    run = load_run(folder)
    assert run.trials["session"].to_list() == [*range(_SESSIONS)]
    assert sorted(one.session for one in run.manifest.deployments) == [*range(_SESSIONS)]
    for trial in before:
        stored = run.trials.row(trial["trial"], named=True)
        assert stored["started_unix_s"] == trial["started_unix_s"], "a finished session was measured again"
    _require_right(run)
    cluster.require_nothing_left()


def _finished_trials(runs_folder: Path) -> list[Mapping[str, Any]]:
    """What the one who asks keeps of the sessions that came back, before the run is whole."""
    kept = runs_folder.glob("*/incomplete-*/trial-*.json")
    return [json.loads(path.read_bytes())["content"] for path in kept]


@pytest.mark.parametrize(("struck", "number"), _points(_LOADING))
def test_a_run_whose_load_hosts_are_struck_counts_no_trial_wrongly(
    struck: str,
    number: int,
    hosts_of: Callable[[int], LoadingHosts],
    runs_folder: Path,
) -> None:
    hosts = hosts_of(2)
    lost, _ = hosts.start(0)
    hosts.start(1)
    run, said = hosts.measure(blocks=_BLOCKS, window_s=1.5, contestants="postgres")
    time.sleep(_moment_s(struck, number, _LOAD_LASTS_S))
    if struck == "load host":
        lost.kill()
    else:
        with cut_off(hosts.first, 1):
            time.sleep(_CUT_S)
    ended = run.wait(_WITHIN_S)
    told = said.read_text(encoding="utf-8")
    if ended != 0:
        # Nobody can load any more, or a host was gone before the first trial: that is said, and nothing is counted.
        assert ended == 2, told
        assert "load" in told.splitlines()[-1], told
    else:
        (folder,) = (runs_folder / load_from.CHAPTER).iterdir()
        stored = load_run(folder)
        assert len(stored.trials) == _BLOCKS
        _require_right(stored)
    hosts.require_nothing_left()


def _require_right(run: Run) -> None:
    """Each trial that counts is reconciled with what its database holds; one that does not says why."""
    for row in run.trials.iter_rows(named=True):
        if row["valid"]:
            assert row["acknowledged"] == row["committed"] > 0
        else:
            assert row["refused_because"]
