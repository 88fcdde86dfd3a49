"""One server at a time in each process for the ways that need it; a server or a tier's program that is not on this
machine skips them, and says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import Stack, StackContext
from gapbook.errors import SetupError, StackError
from gapbook.record.durability import Durability
from tests.contract.ways import Server, Way
from tests.hostile import hostile_shell

_FOLDER = Path(__file__).parent
_PROMISES = ("delayed(500 ms)", "delayed", "none")
"""Tried in turn until the server keeps one: what it promises is not what is looked at here."""


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """The tests of one server after each other and in one process, so that each server is started once."""
    for item in items:
        if _FOLDER in item.path.parents and (server := _server_of(item)):
            item.add_marker(pytest.mark.xdist_group(server))
    yield
    places = [place for place, item in enumerate(items) if _FOLDER in item.path.parents]
    ordered = sorted((items[place] for place in places), key=_server_of)
    for place, item in zip(places, ordered, strict=True):
        items[place] = item


def _server_of(item: pytest.Item) -> str:
    """What must run for a test; empty where none is needed."""
    callspec = getattr(item, "callspec", None)
    way = None if callspec is None else callspec.params.get("way")
    return "" if way is None else str(way.server)


@pytest.fixture(scope="session", autouse=True)
def _in_a_hostile_shell() -> Iterator[None]:
    """Every server, tier and client here is started by a shell whose variables would alter it."""
    with hostile_shell():
        yield


@pytest.fixture(name="stack_for", scope="session")
def _stack_for(deployment: Deployment) -> Iterator[Callable[[Way], Stack]]:
    running: dict[Server, Stack] = {}

    def stop() -> None:
        for stack in running.values():
            stack.stop()
        running.clear()

    def stack_for(way: Way) -> Stack:
        try:
            way.module.tier_program(way.tier)
        except SetupError as error:
            pytest.skip(str(error))
        if way.server not in running:
            stop()
            running[way.server] = _started(way, deployment)
        return running[way.server]

    yield stack_for
    stop()


@cache
def _why_absent(stack: type[Stack], choice: ServerChoice) -> str | None:
    """Asked once: an image that is nowhere is looked for at its registry."""
    try:
        stack.located(choice)
    except SetupError as error:
        return str(error)
    return None


def _started(way: Way, deployment: Deployment) -> Stack:
    absent = _why_absent(way.stack, way.choice())
    if absent is not None:
        pytest.skip(absent)
    refused = ""
    for promise in _PROMISES:
        context = StackContext(
            deployment,
            Durability.parse(promise),
            way.choice(),
            program=way.module.program(way.access),
            workload=way.workload,
            settings=way.module.settings(way.access),
        )
        stack = way.stack(context)
        try:
            stack.start()
        except StackError as error:
            refused = str(error)
            continue
        return stack
    raise AssertionError(refused)
