"""A client against its null server, as old as the server that it stands in for."""

from __future__ import annotations

import pytest

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.limits import most_open_files
from gapbook.load.client import ClientRun, configure_load, find_client
from gapbook.load.null_server import CeilingLoad, measure_ceiling, null_server
from gapbook.trial.servers import OTHER_FILES
from gapbook.trial.workloads import find_workload

_MANY = 10_000


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


@pytest.mark.skipif(
    most_open_files() < _MANY + OTHER_FILES,
    reason=f"this shell allows fewer than {_MANY + OTHER_FILES} open files (ulimit -n)",
)
@pytest.mark.parametrize("protocol", ["postgres", "spacetimedb"])
def test_ten_thousand_connections_of_one_client_fit_into_half_a_gigabyte(protocol: str) -> None:
    client = find_client("rust", protocol, workload="transfer")
    told: Endpoint = (
        {"mode": "procedure"} if protocol == "postgres" else {"newest": "v2", "reducer": "transfer"}
    )
    with Deployment() as deployment, null_server(deployment, protocol, told) as address:
        configuration = configure_load(
            {**told, **address},
            find_workload("transfer", {"accounts": 100_000}),
            deployment.directory,
            seed=1,
            connections=_MANY,
            in_flight=1,
            warmup_s=0.2,
            window_s=1.0,
            drain_s=20.0,
            request_timeout_s=20.0,
        )
        report = ClientRun(client, configuration, lambda _event: None).run(deployment)
    assert len(report.connections) == _MANY
    assert report.acknowledged >= _MANY / 2
    assert report.peak_memory_bytes is not None
    assert report.peak_memory_bytes <= 500e6
