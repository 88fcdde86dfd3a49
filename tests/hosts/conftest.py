"""Hosts of the tests' own, made of network namespaces; and which files begin first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.hosts.clusters_apart import CampaignHosts, LoadingHosts, hosts_with_disk
from tests.order import begin_with

_LONGEST = ("test_hosts", "test_load_hosts", "test_host_faults")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    begin_with(_LONGEST, items)


@pytest.fixture(scope="session", autouse=True)
def _quick(short_ceilings: None) -> None:
    """What no test of this folder needs to sit out."""


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
