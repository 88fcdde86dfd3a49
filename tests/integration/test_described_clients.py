"""Every client that is discovered says of itself what its client.toml says, as the contract's schema has it."""

from __future__ import annotations

import json
import subprocess

import pytest

from gapbook.load.client import Client, discover_clients
from gapbook.load.contract import schema_problem
from gapbook.paths import CHECKOUT


@pytest.mark.parametrize(
    "client", discover_clients(), ids=lambda client: str(client.folder.relative_to(CHECKOUT / "clients"))
)
def test_a_client_describes_itself_as_it_is_declared(client: Client) -> None:
    run = subprocess.run(
        [*client.resolved_command(), "--describe"], capture_output=True, timeout=30, check=True
    )
    described = json.loads(run.stdout)
    assert schema_problem("description", described) is None
    assert described["language"] == client.language
    assert set(client.protocols) <= set(described["protocols"])
    assert set(client.workloads) <= set(described["workloads"])
    assert described["reports"] == client.reports
