"""Counters and messages in a real SpacetimeDB: the two ways to find a counter, and calls without a token."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.module import load_module
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import Stack, StackContext, stack_class
from gapbook.errors import SetupError
from gapbook.record.durability import Durability
from gapbook.trial.workloads import find_workload
from tests.newer import newer_version

_MODULE = load_module("spacetimedb", "counter-and-messages")
_COUNTERS = 1_000


@pytest.fixture(name="stack", scope="module", params=["1.2.0", newer_version("spacetimedb")])
def _stack(deployment: Deployment, request: pytest.FixtureRequest) -> Iterator[Stack]:
    """A version of the server; one that is not on this machine is skipped, and says why."""
    kind, choice = stack_class("spacetimedb"), ServerChoice(version=request.param)
    try:
        kind.located(choice)
    except SetupError as error:
        pytest.skip(str(error))
    context = StackContext(deployment, Durability("delayed"), choice, workload="counter-and-messages")
    stack = kind(context)
    stack.start()
    yield stack
    stack.stop()


@pytest.fixture(name="seeded")
def _seeded(stack: Stack) -> Stack:
    stack.seed(find_workload("counter-and-messages", {"counters": _COUNTERS}))
    return stack


def _increment(stack: Stack, access: str, tier: str, counter: int) -> httpx.Response:
    """What the server answers to an increment, asked for as the module declares it."""
    endpoint = _MODULE.client_endpoint(access, tier, stack.endpoint())
    request: Mapping[str, Any] = endpoint["requests"]["increment"]
    return httpx.post(
        f"http://{endpoint['host']}:{endpoint['port']}{request['path']}",
        content=f"[{counter},1]",
        headers=request["headers"],
        trust_env=False,
    )


def test_a_scan_finds_the_counter_that_the_index_finds(seeded: Stack) -> None:
    before = seeded.committed_operations() or 0
    asked = [0, _COUNTERS // 2, _COUNTERS - 1, _COUNTERS // 2]
    for counter in asked:
        for access in ("reducer-scan", "reducer"):
            assert _increment(seeded, access, "http", counter).status_code == 200
    rows = seeded.state()["counters"].filter(value=0).height
    assert rows == _COUNTERS - len(set(asked))
    values = dict(seeded.state()["counters"].iter_rows())
    assert [values[counter] for counter in asked] == [2, 4, 2, 4]
    assert seeded.committed_operations() == before + 2 * len(asked)
    missing = _increment(seeded, "reducer-scan", "http", _COUNTERS)
    assert (missing.status_code, missing.text) == (530, f"counter {_COUNTERS} does not exist")


@pytest.mark.parametrize("access", ["reducer", "reducer-scan"])
def test_without_a_token_each_call_is_somebody_else(seeded: Stack, access: str) -> None:
    named = [_increment(seeded, access, "http", 7).headers.get("spacetime-identity") for _ in range(2)]
    answers = [_increment(seeded, access, "http-anonymous", 7) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    strangers = [answer.headers["spacetime-identity"] for answer in answers]
    assert len({*named, *strangers}) == 3
    assert all(answer.headers["spacetime-identity-token"] for answer in answers)
    assert dict(seeded.state()["counters"].iter_rows())[7] == 4
