"""Which files begin first."""

from __future__ import annotations

import pytest

from tests.order import begin_with

_LONGEST = ("test_faults", "test_fault_points", "test_fault_plants", "test_cut_check", "test_kill_check")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    begin_with(_LONGEST, items)


@pytest.fixture(scope="session", autouse=True)
def _quick(short_ceilings: None) -> None:
    """What no test of this folder needs to sit out."""
