"""The plant behind HTTP: two machines that one row of a published table cannot tell apart, and one that can."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.module import load_module
from gapbook.deploy.stack import Stack, StackContext, stack_class
from gapbook.load.client import ClientRun, configure_load, find_client
from gapbook.model.plant import Knobs, true_goodput_per_s
from gapbook.model.report import Report
from gapbook.record.durability import Durability
from gapbook.trial.audit import reconcile
from gapbook.trial.workloads import find_workload

_MODULE = load_module("plant", "counter-and-messages")
_WORKLOAD = find_workload("counter-and-messages", {"counters": 10})
_SEED = 3
_WINDOW_S = 3.0


@pytest.fixture(name="plant", scope="module")
def _plant(deployment: Deployment) -> Iterator[Stack]:
    context = StackContext(deployment, Durability("none"), workload=_WORKLOAD.name)
    stack = stack_class("plant")(context)
    stack.start()
    yield stack
    stack.stop()


def _truth_per_s(access: str, users: int) -> float:
    return true_goodput_per_s(Knobs.parse(str(_MODULE.levels[access].endpoint.database)), users, 1)


def _measured(deployment: Deployment, plant: Stack, access: str, users: int) -> Report:
    """The report of a closed loop, once its audit agrees with what the plant holds and counts."""
    plant.seed(_WORKLOAD)
    before = plant.committed_operations() or 0
    configuration = configure_load(
        _MODULE.client_endpoint(access, "http", plant.endpoint()),
        _WORKLOAD,
        deployment.directory,
        seed=_SEED,
        connections=users,
        in_flight=1,
        warmup_s=0.2,
        window_s=_WINDOW_S,
        drain_s=5.0,
        request_timeout_s=5.0,
    )
    client = find_client("rust", "http", access, workload=_WORKLOAD.name)
    report = ClientRun(client, configuration, lambda _event: None).run(deployment)
    audit = reconcile(
        report,
        workload=_WORKLOAD,
        seed=_SEED,
        state=plant.state(),
        committed=(plant.committed_operations() or 0) - before,
        counts_commits=True,
    )
    assert audit.agrees, audit.explain()
    return report


@pytest.mark.parametrize(
    ("users", "serial", "sixteen"),
    [
        (1, 1 / 0.0043, 1 / 0.07),
        (8, 1 / 0.0043, 8 / 0.07),
        (16, 1 / 0.0043, 16 / 0.07),
        (200, 1 / 0.0043, 16 / 0.07),
    ],
)
def test_the_truth_is_what_the_hand_computes(users: int, serial: float, sixteen: float) -> None:
    assert _truth_per_s("serial-commit", users) == pytest.approx(serial)
    assert _truth_per_s("sixteen-at-once", users) == pytest.approx(sixteen)


@pytest.mark.parametrize("access", ["serial-commit", "sixteen-at-once"])
@pytest.mark.parametrize("users", [1, 4, 20])
def test_no_plant_is_faster_than_its_truth_and_nothing_is_lost(
    deployment: Deployment, plant: Stack, access: str, users: int
) -> None:
    report = _measured(deployment, plant, access, users)
    lanes = 16 if access == "sixteen-at-once" else 1
    # A plant keeps its schedule while nobody runs: answers that were due before the window can be read in it, one for
    # each user and lane at most.
    edge = max(lanes, users) + 1
    assert report.window.completed <= _truth_per_s(access, users) * _WINDOW_S + edge


def test_one_user_tells_them_apart_and_twenty_do_not(deployment: Deployment, plant: Stack) -> None:
    def completed(access: str, users: int) -> int:
        return _measured(deployment, plant, access, users).window.completed

    # Wide, for the machine is shared: sixteen times apart, and side by side.
    assert completed("serial-commit", 1) > 4 * completed("sixteen-at-once", 1)
    assert completed("serial-commit", 20) < 2 * completed("sixteen-at-once", 20)


def test_a_trial_has_one_machine_over_http_too(plant: Stack) -> None:
    plant.seed(_WORKLOAD)

    def asked(access: str) -> httpx.Response:
        endpoint = _MODULE.client_endpoint(access, "http", plant.endpoint())
        request = endpoint["requests"]["increment"]
        url = f"http://{endpoint['host']}:{endpoint['port']}{request['path']}"
        body = '{"counter":1,"amount":1}'
        return httpx.post(url, content=body, headers=request["headers"], trust_env=False)

    assert asked("serial-commit").json() == {"ok": True}
    refused = asked("sixteen-at-once")
    assert refused.status_code == 400
    assert "runs on a plant with other knobs" in refused.json()["error"]
    assert dict(plant.state()["counters"].iter_rows())[1] == 1
