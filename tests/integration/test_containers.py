"""Servers in real containers: the same trial and gates as natively, and nothing of ours left behind.

The images are built here, from the programs that run natively, for no image need be reachable. Where no engine
answers, or Debian's packages cannot be had, all of this is skipped, and says why.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import docker.errors
import msgspec
import pytest

from gapbook.deploy.containers import DATA, Containers
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.engine import Engine
from gapbook.deploy.images import pulled_image
from gapbook.deploy.remove_containers import LABEL
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import Stack, StackContext, stack_class
from gapbook.errors import SetupError, StackError
from gapbook.model.plan import make_plan
from gapbook.paths import CHECKOUT
from gapbook.record.placement import Placement
from gapbook.record.run import Run
from gapbook.trial.campaign import measurement_of
from gapbook.trial.contestant import Contestant
from gapbook.trial.scenario import Scenario
from gapbook.trial.servers import stack_of
from gapbook.trial.trial import run_trial
from tests.bank import alphas, balances_of, bank, seed_bank
from tests.conftest import DELAYED
from tests.running import eventually

_HOST = "docker+host-network+own-image"
_PLACES = (_HOST, "docker+own-image", "docker+layer+own-image")
_SYSTEMS = ("postgres", "spacetimedb")
_ACCOUNTS, _BALANCE = 200, 1_000


@pytest.fixture(name="engine", scope="module")
def _engine_with_images(engine_with_debian: Engine) -> Engine:
    for system in _SYSTEMS:
        stack_class(system).located(ServerChoice(placement=Placement.parse(_HOST)))
    return engine_with_debian


def _ours(engine: Engine) -> dict[str, int]:
    wanted = {"label": LABEL}
    return {
        "containers": len(engine.containers.list(all=True, filters=wanted)),
        "volumes": len(engine.volumes.list(filters=wanted)),
        "networks": len(engine.networks.list(filters=wanted)),
    }


@pytest.fixture(name="counted")
def _counted(engine: Engine, data_folder: Path) -> Iterator[Callable[[], bool]]:
    """Whether as much of ours is there as before the test; asked at its end too."""
    before = _ours(engine)

    def nothing_left() -> bool:
        return _ours(engine) == before and not list(data_folder.iterdir())

    yield nothing_left
    assert eventually(nothing_left), (_ours(engine), list(data_folder.iterdir()))


def _stack(deployment: Deployment, system: str, place: str) -> Stack:
    choice = ServerChoice(placement=Placement.parse(place))
    return stack_class(system)(StackContext(deployment, DELAYED, choice))


def _contestant(system: str, place: str | None, in_flight: int = 1) -> Contestant:
    access = {"postgres": "procedure", "spacetimedb": "reducer"}[system]
    return Contestant(f"{system}-rust", system, access, "direct", "rust", in_flight, backend=place)


def _scenario(*contestants: Contestant, accounts: int = _ACCOUNTS, window_s: float = 0.5) -> Scenario:
    return Scenario(
        chapter="containers",
        contestants=contestants,
        workload=bank(accounts),
        treatment=alphas(0.5),
        connections=4,
        window_s=window_s,
        warmup_s=0.2,
        durability=DELAYED,
        seed=7,
    )


def _trial(stack: Stack, scenario: Scenario, deployment: Deployment) -> dict[str, Any]:
    name = scenario.contestants[0].name
    (planned,) = make_plan([name], scenario.treatment.values, blocks=1, seed=scenario.seed)
    row = run_trial(
        planned, scenario, stack, deployment=deployment, tables=deployment.directory, ceiling_per_s=None
    )
    return row.columns()


# --- the same as natively ---------------------------------------------------------------------
@pytest.mark.parametrize("place", _PLACES)
@pytest.mark.parametrize("system", _SYSTEMS)
def test_a_server_in_a_container_keeps_its_class_is_watched_and_comes_back(
    system: str, place: str, counted: Callable[[], bool]
) -> None:
    with Deployment() as deployment:
        stack = _stack(deployment, system, place)
        stack.start()
        seed_bank(stack, _ACCOUNTS, _BALANCE)
        assert balances_of(stack).tolist() == [_BALANCE] * _ACCOUNTS
        proven = stack.durability()
        assert proven is not None
        assert proven.satisfies(DELAYED)
        declared, found = stack.declared_settings(), stack.settings()
        assert {name: found[name] for name in declared} == declared
        (running,) = stack.processes()
        assert running.running
        assert (running.cpu_s() or 0) > 0
        assert (running.memory_bytes() or 0) > 1_000_000
        # What was written longer ago than its class says is kept, the database itself among it.
        time.sleep(2 * (DELAYED.max_ms or 0.0) / 1000)
        stack.kill()
        assert not running.running
        with pytest.raises(
            StackError, match=rf"^{system}: its container ended with code 137: it was killed$"
        ):
            running.require_running()
        stack.recover()
        assert balances_of(stack).tolist() == [_BALANCE] * _ACCOUNTS
        backend, container = stack.place()
        assert backend == place
        assert container is not None
        assert container["network"] == ("host" if place == _HOST else "bridge")
        assert container[f"{system}: image id"].startswith("sha256:")
        assert len(stack.server().sha256) == 64
        stack.stop()
        assert not stack.processes()
    assert counted()


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every plain value of a manifest by its path, in which a server has the same name wherever it ran."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{path}/{re.sub(r' [(]docker[^)]*[)]', '', key)}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _flat(inner, f"{path}/{place}")
    else:
        yield path, value


_OF_THE_PLACE = re.compile(
    r"/scenario/contestants/\d+/(server|detail_label|levels/backend|settings/backend)|/systems/\w+/(backend|container/.*)"
)
_OF_THE_MOMENT = re.compile(
    r"/(plan_key|\w+_unix_s|files/.*|ceilings/\d+/rate_per_s|ceilings_per_s/.*"
    r"|deployments/\d+/(started_unix_s|waited_s|clock_mhz|fsync/(rate_per_s|median_s|p99_s))"
    r"|(deployments/\d+/)?machine/memory_bytes)"
)


def _run(place: str | None) -> Run:
    contestants = [_contestant(system, place) for system in _SYSTEMS]
    return measurement_of(
        # Once: what is compared is how a run is described, refused trials or not.
        _scenario(*contestants),
        blocks=1,
        choices={},
        attempts=1,
        say=lambda line: None,
    ).run("live")


def test_the_manifests_of_one_scenario_differ_in_the_place_alone(
    counted: Callable[[], bool], runs_folder: Path
) -> None:
    manifests = [json.loads(msgspec.json.encode(_run(place).manifest)) for place in (None, _HOST)]
    native, contained = (dict(_flat(manifest)) for manifest in manifests)
    everywhere = native.keys() | contained.keys()
    differs = {path for path in everywhere if native.get(path, ...) != contained.get(path, ...)}
    unexpected = {path for path in differs if not _OF_THE_MOMENT.fullmatch(path)}
    assert {path for path in unexpected if not _OF_THE_PLACE.fullmatch(path)} == set()
    for system in _SYSTEMS:
        assert f"/systems/{system}/backend" not in native
        assert contained[f"/systems/{system}/backend"] == _HOST
        assert native[f"/systems/{system}/sha256"] == contained[f"/systems/{system}/sha256"]
    assert runs_folder.is_dir()
    assert counted()


def test_a_trial_in_a_container_passes_the_gates_or_is_refused_for_the_machine(
    counted: Callable[[], bool],
) -> None:
    scenario = _scenario(_contestant("postgres", _HOST))
    with Deployment() as deployment:
        stack = stack_of(scenario.contestants[0], scenario, {}, deployment)
        stack.start()
        row = _trial(stack, scenario, deployment)
        stack.stop()
    of_the_machine = {"quiet machine", "steal", "steady"}
    assert {gate["name"] for gate in row["gates"] if gate["passed"] is False} <= of_the_machine, row
    assert row["server_cpu_s"] > 0
    assert row["server_memory_bytes"] > 0
    assert counted()


# --- faults -----------------------------------------------------------------------------------
def test_a_container_that_is_killed_under_load_refuses_its_trial_and_no_other(
    engine: Engine, counted: Callable[[], bool]
) -> None:
    scenario = _scenario(_contestant("postgres", _HOST), window_s=3.0)
    with Deployment() as deployment:
        stack = stack_of(scenario.contestants[0], scenario, {}, deployment)
        stack.start()
        wanted = {"label": f"{LABEL}={stack.containers.owner}"}
        timer = threading.Timer(2.0, lambda: [each.kill() for each in engine.containers.list(filters=wanted)])
        timer.start()
        row = _trial(stack, scenario, deployment)
        timer.join()
        assert not row["valid"]
        assert "\n" not in row["refused_because"]
        seed_bank(stack, _ACCOUNTS, _BALANCE)
        assert balances_of(stack).tolist() == [_BALANCE] * _ACCOUNTS
        stack.stop()
    assert counted()


def test_a_full_volume_refuses_the_trial(
    counted: Callable[[], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    def small(self: Containers, name: str, data: str) -> dict[str, dict[str, str]]:
        options = {"type": "tmpfs", "device": "tmpfs", "o": "size=192m"}
        volume = self.engine.volumes.create(
            f"gapbook-{self.owner}-{name}", labels={LABEL: self.owner}, driver_opts=options
        )
        return {volume.name: {"bind": data, "mode": "rw"}}

    monkeypatch.setattr(Containers, "_volumes", small)
    scenario = _scenario(_contestant("postgres", _HOST))
    with Deployment() as deployment:
        stack = stack_of(scenario.contestants[0], scenario, {}, deployment)
        stack.start()
        assert stack.container is not None
        with pytest.raises(StackError, match="dd in its container ended with code 1"):
            stack.container.run_inside(["dd", "if=/dev/zero", "of=/srv/data/filler", "bs=1M", "count=1000"])
        row = _trial(stack, scenario, deployment)
        stack.stop()
    assert not row["valid"]
    assert "\n" not in row["refused_because"]
    assert "No space left on device" in row["refused_because"]
    assert counted()


def test_an_image_that_cannot_be_pulled_is_refused_in_one_line(
    engine: Engine, counted: Callable[[], bool]
) -> None:
    with pytest.raises(SetupError) as refused:
        pulled_image(engine, "localhost:1/nobody/nothing:1", title="postgres", otherwise="bring it")
    assert str(refused.value).startswith(
        "postgres: image localhost:1/nobody/nothing:1 cannot be pulled on this "
    )
    assert str(refused.value).endswith("; bring it")
    assert "\n" not in str(refused.value)
    choice = ServerChoice(image="localhost:1/nobody/nothing:1", placement=Placement.parse("docker"))
    with pytest.raises(SetupError, match=r"use backend=docker\+own-image for one that is built here"):
        stack_class("postgres").located(choice)
    assert counted()


def test_a_server_that_ends_at_once_says_its_last_words(engine: Engine, counted: Callable[[], bool]) -> None:
    place = Placement.parse(_HOST)
    image = stack_class("postgres").image(ServerChoice(placement=place), engine)
    with Deployment() as deployment:
        containers = Containers(deployment, "shell", place)
        with pytest.raises(StackError, match=r"^shell: its container ended with code 3: good bye$"):
            containers.start(
                image,
                name="shell",
                entrypoint=["/bin/sh", "-c"],
                command=["echo good bye; exit 3"],
                ports={1: 1},
            ).wait_until_listening(10)
    assert counted()


def test_what_could_not_be_removed_is_not_found_by_the_next_start(
    engine: Engine, counted: Callable[[], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Placement.parse("docker+own-image")
    image = stack_class("postgres").image(ServerChoice(placement=place), engine)

    def silent(*_: object) -> None:
        raise docker.errors.APIError("the engine says nothing")

    def start(containers: Containers, command: str) -> None:
        with pytest.raises(StackError, match=r"ended with code 3"):
            containers.start(
                image, name="shell", entrypoint=["/bin/sh", "-c"], command=[command], ports={1: 1}
            ).wait_until_listening(10)

    with Deployment() as deployment:
        containers = Containers(deployment, "shell", place)
        start(containers, f"touch {DATA}/old && exit 3")
        with monkeypatch.context() as patched:
            patched.setattr("gapbook.deploy.remove_containers.remove", silent)
            containers.clear()
        start(containers, f"test ! -e {DATA}/old && exit 3")
    assert counted()


_STARTS = """
import sys
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import StackContext, stack_class
from gapbook.record.durability import Durability
from gapbook.record.placement import Placement
with Deployment() as deployment:
    choice = ServerChoice(placement=Placement.parse(sys.argv[1]))
    stack = stack_class("postgres")(StackContext(deployment, Durability("none"), choice))
    print("starting", flush=True)
    stack.start()
    print("started", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("killed_after", ["starting", "started"])
@pytest.mark.parametrize("place", [_HOST, "docker+own-image"])
def test_whoever_is_killed_leaves_no_container_volume_network_or_folder(
    place: str, killed_after: str, counted: Callable[[], bool]
) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", _STARTS, place],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        encoding="utf-8",
    )
    assert owner.stdout is not None
    while owner.stdout.readline().strip() != killed_after:
        assert owner.poll() is None
    owner.send_signal(signal.SIGKILL)
    owner.communicate()
    assert eventually(counted, within_s=25.0)
