"""A client that has processors of its own runs on those alone, and what stands between it and its server on the server's."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import defaultdict
from collections.abc import Iterator

import psutil
import pytest

from gapbook.record.durability import Durability
from gapbook.trial.campaign import measurement_of
from gapbook.trial.contestant import Contestant
from gapbook.trial.scenario import Scenario
from tests.bank import alphas, bank

_ALLOWED = sorted(os.sched_getaffinity(0))
_BEHIND_HTTP = ("postgres", "procedure", "rpc", "rust", 1)
_SCENARIO = Scenario(
    chapter="client-apart",
    contestants=(
        Contestant("apart", *_BEHIND_HTTP, server_cores=1, client_apart=True),
        Contestant("shared", *_BEHIND_HTTP, server_cores=1),
    ),
    workload=bank(1000),
    treatment=alphas(0.5),
    connections=4,
    window_s=1.0,
    warmup_s=0.2,
    durability=Durability("delayed", 500.0),
    seed=4432,
)


@contextlib.contextmanager
def _watched() -> Iterator[dict[str, set[tuple[int, ...]]]]:
    """By the name of a program, on which processors each of our processes of it was allowed, looked at all the time."""
    seen, over = defaultdict[str, set[tuple[int, ...]]](set), threading.Event()
    own = psutil.Process()

    def look() -> None:
        while not over.wait(0.05):
            for process in own.children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    seen[process.name()].add(tuple(sorted(process.cpu_affinity())))

    looker = threading.Thread(target=look)
    looker.start()
    try:
        yield seen
    finally:
        over.set()
        looker.join()


@pytest.mark.skipif(len(_ALLOWED) < 2, reason="one processor leaves a client none of its own")
@pytest.mark.usefixtures("runs_folder")
def test_client_tier_and_null_server_run_where_they_are_told() -> None:
    with _watched() as seen:
        run = measurement_of(_SCENARIO, blocks=1, choices={}, say=lambda _line: None).run("live")
    first, rest, every = tuple(_ALLOWED[:1]), tuple(_ALLOWED[1:]), tuple(_ALLOWED)
    assert run.trials["acknowledged"].to_list() == [row for row in run.trials["acknowledged"] if row]
    assert seen["gap-http"] == {rest, every}
    # Node.js names its main thread, and so its process.
    assert seen["node"] | seen["MainThread"] == {first, every}
    assert {first} <= seen["gap-null"] <= {first, every}
    ceilings = {row.key for row in run.manifest.ceilings}
    assert len([key for key in ceilings if "of its own" in key]) == 1
    assert len(ceilings) == 2
