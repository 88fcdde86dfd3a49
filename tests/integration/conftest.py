"""The container engine, for the tests that need one; where none answers they are skipped, and say why. And waits of the
harness that tests need not sit out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gapbook.deploy.engine import Engine, connected, engine_here
from gapbook.errors import SetupError


@pytest.fixture(scope="session", autouse=True)
def _short_ceilings() -> Iterator[None]:
    """A client's ceiling is measured for a fifth of a second, not for two: what is proven does not hang on its length."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gapbook.load.null_server.CEILING_WINDOW_S", 0.2)
        yield


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    try:
        connected().close()
    except SetupError as error:
        pytest.skip(f"no containers here: {error}")
    with engine_here() as found:
        yield found
