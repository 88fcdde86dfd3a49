"""A client against its null server, as old as the server that it stands in for."""

from __future__ import annotations

import pytest

from gapbook.deploy.deployment import Deployment
from gapbook.load.client import find_client
from gapbook.load.null_server import CeilingLoad, measure_ceiling
from gapbook.trial.workloads import find_workload


@pytest.mark.parametrize("language", ["typescript", "python", "rust"])
@pytest.mark.parametrize("newest", ["v1", "v2", "v3"])
def test_each_client_has_a_ceiling_in_each_version_of_a_protocol(language: str, newest: str) -> None:
    with Deployment() as deployment:
        load = CeilingLoad(
            client=find_client(language, "spacetimedb", workload="transfer"),
            protocol="spacetimedb",
            endpoint={"newest": newest, "reducer": "transfer"},
            workload=find_workload("transfer", {"accounts": 100}),
            connections=2,
            in_flight=1,
            warmup_s=0.2,
        )
        rate_per_s = measure_ceiling(deployment, load)
    assert rate_per_s is not None
    assert rate_per_s > 0
