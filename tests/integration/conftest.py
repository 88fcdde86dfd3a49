"""The container engine, for the tests that need one; where none answers they are skipped, and say why."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gapbook.deploy.engine import Engine, connected, engine_here
from gapbook.errors import SetupError


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    try:
        connected().close()
    except SetupError as error:
        pytest.skip(f"no containers here: {error}")
    with engine_here() as found:
        yield found
