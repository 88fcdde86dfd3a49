"""Fixtures that need a server, started once for all tests of a session, and folders of the tests' own."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.stack import Stack, StackContext, stack_class
from gapbook.record.durability import Durability
from tests.asked import asked_of, write_row

DELAYED = Durability("delayed", 500.0)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every case that asks a system says so in its report."""
    for item in items:
        asked_of(item)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Where tests are spread by groups, each must have kept its own, or servers start once for each process."""
    if not session.config.getoption("loadgroup", False):
        return
    for item in session.items:
        if item.get_closest_marker("xdist_group") and "@" not in item.nodeid:
            raise pytest.UsageError(
                "pytest-xdist lost the groups of tests: take the versions of requirements.txt"
            )


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Of tests that run in several processes, the one that hears of all writes the rows."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        write_row(report)


@pytest.fixture(scope="session", autouse=True)
def _own_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test writes among the runs of the reader."""
    before = os.environ.get("GAPBOOK_RUNS")
    os.environ["GAPBOOK_RUNS"] = str(tmp_path_factory.mktemp("runs"))
    yield
    if before is None:
        del os.environ["GAPBOOK_RUNS"]
    else:
        os.environ["GAPBOOK_RUNS"] = before


@pytest.fixture(scope="session")
def short_ceilings() -> Iterator[None]:
    """A client's ceiling is measured for a fifth of a second, not for two: what is proven does not hang on its length."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gapbook.load.null_server.CEILING_WINDOW_S", 0.2)
        yield


@pytest.fixture
def runs_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty GAPBOOK_RUNS for one test."""
    folder = tmp_path / "runs"
    monkeypatch.setenv("GAPBOOK_RUNS", str(folder))
    return folder


@pytest.fixture
def data_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty GAPBOOK_DATA for one test: on a disk, and open to the user that Postgres runs under."""
    folder = Path(tempfile.mkdtemp(prefix="test-of-gapbook-", dir="/var/tmp"))
    folder.chmod(0o755)
    monkeypatch.setenv("GAPBOOK_DATA", str(folder))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def load_outlasts_late_strikes(monkeypatch: pytest.MonkeyPatch) -> None:
    """However late a busy machine lets a strike come, its load is still there."""
    monkeypatch.setattr("gapbook.trial.struck_load._AFTER_STRIKE_S", 2.0)


@pytest.fixture(scope="session")
def deployment() -> Iterator[Deployment]:
    with Deployment() as started:
        yield started


def _started(name: str, deployment: Deployment) -> Iterator[Stack]:
    stack = stack_class(name)(StackContext(deployment, DELAYED))
    stack.start()
    yield stack
    stack.stop()


@pytest.fixture(scope="session")
def postgres_stack(deployment: Deployment) -> Iterator[Stack]:
    yield from _started("postgres", deployment)


@pytest.fixture(scope="session")
def spacetimedb_stack(deployment: Deployment) -> Iterator[Stack]:
    yield from _started("spacetimedb", deployment)
