"""What `gapbook systems` says is what a run would be given."""

from __future__ import annotations

import pytest

from gapbook.book.systems import System, systems
from gapbook.deploy.module import load_module, module_workloads
from gapbook.deploy.stack import discover_stacks
from gapbook.errors import ParameterError
from gapbook.load.client import Client, discover_clients, find_client


@pytest.mark.parametrize("system", systems(), ids=lambda one: one.name)
def test_access_levels_are_those_of_the_module_in_whatever_folder_they_lie(system: System) -> None:
    assert system.access == {
        workload: tuple(load_module(system.name, workload).levels)
        for workload in module_workloads(system.name)
    }
    assert any(system.access.values())


@pytest.mark.parametrize("system", systems(), ids=lambda one: one.name)
def test_a_client_is_listed_where_a_run_would_take_it(system: System) -> None:
    taken = {client.folder.name for client in discover_clients() if _is_taken(client, system.name)}
    assert set(system.clients) == taken


def test_a_client_of_a_simulated_server_drives_no_real_one() -> None:
    by_name = {one.name: one.clients for one in systems()}
    assert "gap-plant" in by_name["plant"]
    assert "gap-plant" not in by_name["postgres"]


def _is_taken(client: Client, system: str) -> bool:
    """Whether some contestant of the system finds this client."""
    for workload in module_workloads(system):
        module = load_module(system, workload)
        for tier in module.tiers:
            protocol = module.protocol(tier, discover_stacks()[system].facts.protocol)
            for access in module.levels:
                if module.reaches(tier, access):
                    try:
                        found = find_client(
                            client.language, protocol, module.client_level(access), workload=workload
                        )
                    except ParameterError:
                        continue
                    if found is client:
                        return True
    return False
