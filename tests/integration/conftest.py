"""The container engine and plain Debian, for the tests that need them; where none is to be had they are skipped, and
say why. And which files begin first."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gapbook.deploy.engine import Engine, connected, engine_here
from gapbook.deploy.images import plain_debian
from gapbook.errors import SetupError
from tests.order import begin_with

_LONGEST = (
    "test_replicators",
    "test_other_languages",
    "test_campaign",
    "test_containers",
    "test_named_postgres",
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    begin_with(_LONGEST, items)


@pytest.fixture(scope="session", autouse=True)
def _quick(short_ceilings: None) -> None:
    """What no test of this folder needs to sit out."""


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    try:
        connected().close()
    except SetupError as error:
        pytest.skip(f"no containers here: {error}")
    with engine_here() as found:
        yield found


@pytest.fixture(scope="module")
def engine_with_debian(engine: Engine) -> Engine:
    """What an image is built from can be pulled here, or put together from its packages; else a skip that says why."""
    try:
        plain_debian(engine)
    except SetupError as error:
        pytest.skip(f"no images here: {error}")
    return engine
