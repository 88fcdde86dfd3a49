"""The container engine and plain Debian, for the tests that need them; where none is to be had they are skipped, and
say why. And waits of the harness that tests need not sit out, and which files begin first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from gapbook.deploy.engine import Engine, connected, engine_here
from gapbook.deploy.images import plain_debian
from gapbook.errors import SetupError
from tests.integration.clusters_apart import CampaignHosts, LoadingHosts, hosts_with_disk

_FOLDER = Path(__file__).parent
_LONGEST = (
    "test_replicators",
    "test_fault_points",
    "test_faults",
    "test_hosts",
    "test_load_hosts",
    "test_host_faults",
    "test_fault_plants",
    "test_other_languages",
    "test_cut_check",
    "test_campaign",
    "test_containers",
    "test_kill_check",
    "test_named_postgres",
)
"""Files that take a minute and more, whatever the number of their cases: begun last, one of them is waited for alone."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first; else the order in which they are found."""
    turn = {name: place for place, name in enumerate(_LONGEST)}
    places = [place for place, item in enumerate(items) if _FOLDER in item.path.parents]
    ordered = sorted(
        (items[place] for place in places), key=lambda item: turn.get(item.path.stem, len(_LONGEST))
    )
    for place, item in zip(places, ordered, strict=True):
        items[place] = item


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


@pytest.fixture(scope="module")
def engine_with_debian(engine: Engine) -> Engine:
    """What an image is built from can be pulled here, or put together from its packages; else a skip that says why."""
    try:
        plain_debian(engine)
    except SetupError as error:
        pytest.skip(f"no images here: {error}")
    return engine


@pytest.fixture
def cluster_of(tmp_path: Path, runs_folder: Path) -> Iterator[Callable[[int], CampaignHosts]]:
    """Makes a cluster of so many hosts that measure sessions, beside the one that asks for them; once in a test."""
    runs_folder.mkdir()
    with ExitStack() as made:

        def cluster(workers: int) -> CampaignHosts:
            hosts, disk = made.enter_context(hosts_with_disk(1 + workers))
            return CampaignHosts(hosts, tmp_path, disk)

        yield cluster


@pytest.fixture
def hosts_of(tmp_path: Path, runs_folder: Path) -> Iterator[Callable[[int], LoadingHosts]]:
    """Makes so many hosts that make load, beside the one with the server; once in a test."""
    runs_folder.mkdir()
    with ExitStack() as made:

        def loading(count: int) -> LoadingHosts:
            hosts, disk = made.enter_context(hosts_with_disk(1 + count))
            return LoadingHosts(hosts, tmp_path, disk)

        yield loading
