"""Servers that keep their data in a file of SQLite: what each says of itself, and what it refuses to promise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import Stack, StackContext, discover_stacks
from gapbook.errors import GapbookError, SetupError, StackError
from gapbook.record.durability import Durability
from gapbook.trial.workloads import find_workload

_CASES: list[tuple[str, str | None, str, Mapping[str, str]]] = [
    ("pocketbase", "0.22.21", "none", {}),
    ("pocketbase", "0.22.21-cgo", "none", {}),
    ("pocketbase", "0.40.6", "none", {}),
    ("payload", None, "fsync-per-commit", {}),
    ("payload", None, "none", {}),
    ("payload", None, "delayed", {"journal_mode": "delete"}),
    ("trailbase", None, "none", {}),
]


def _stack(
    deployment: Deployment,
    system: str,
    version: str | None,
    durability: str,
    settings: Mapping[str, str],
) -> Stack:
    return discover_stacks()[system](
        StackContext(
            deployment,
            Durability.parse(durability),
            ServerChoice(version=version),
            workload="chat",
            settings=settings,
        )
    )


@pytest.fixture(name="running", scope="module", params=_CASES, ids=lambda case: " ".join(map(str, case[:3])))
def _running(
    deployment: Deployment, request: pytest.FixtureRequest
) -> Iterator[tuple[Stack, tuple[str, str | None, str, Mapping[str, str]]]]:
    system, version, durability, settings = request.param
    stack = _stack(deployment, system, version, durability, settings)
    try:
        stack.located(stack.context.choice)
    except SetupError as error:
        pytest.skip(str(error))
    stack.start()
    yield stack, request.param
    stack.stop()


def test_what_runs_is_what_was_asked_for(
    running: tuple[Stack, tuple[str, str | None, str, Mapping[str, str]]],
) -> None:
    stack, (_, version, durability, settings) = running
    assert version is None or stack.server().version == version
    assert str(stack.durability()) == durability
    told = stack.settings()
    assert {name: told[name] for name in stack.declared_settings()} == stack.declared_settings()
    assert {name: told[name] for name in settings} == settings


def test_an_earlier_trial_leaves_nothing(
    running: tuple[Stack, tuple[str, str | None, str, Mapping[str, str]]],
) -> None:
    stack, _ = running
    for rooms in (3, 1):
        workload = find_workload("chat", {"rooms": rooms, "stored": 7})
        stack.seed(workload)
        for name, rows in workload.initial_state().items():
            assert stack.state()[name].sort(rows.columns).equals(rows.sort(rows.columns)), name


def test_a_stopped_server_leaves_no_folder(deployment: Deployment) -> None:
    stack = _stack(deployment, "pocketbase", "0.40.6", "none", {})
    try:
        stack.located(stack.context.choice)
    except SetupError as error:
        pytest.skip(str(error))
    before = sorted(path.name for path in deployment.directory.iterdir() if path.is_dir())
    stack.start()
    stack.stop()
    assert sorted(path.name for path in deployment.directory.iterdir() if path.is_dir()) == before
    assert not stack.processes()


@pytest.mark.parametrize("system", ["pocketbase", "trailbase"])
def test_a_promise_that_no_setting_keeps_is_refused_before_anything_starts(
    deployment: Deployment, system: str
) -> None:
    stack = _stack(deployment, system, None, "fsync-per-commit", {})
    with pytest.raises(GapbookError) as refused:
        stack.start()
    assert isinstance(refused.value, SetupError | StackError)
    assert "\n" not in str(refused.value)
    if isinstance(refused.value, StackError):
        assert "fsync-per-commit cannot be kept" in str(refused.value)


@pytest.mark.parametrize("system", ["pocketbase", "trailbase", "payload"])
def test_a_running_server_cannot_be_named(system: str) -> None:
    with pytest.raises(SetupError, match="it is started here; name a server binary"):
        discover_stacks()[system].locate(ServerChoice(endpoint="http://127.0.0.1:8090"))
