"""The configuration of a load, as a client is given it: see ``clients/CONTRACT.md`` for what each key means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NotRequired, TypedDict

from gapbook.deploy.endpoint import Endpoint
from gapbook.model.declaration import ParameterValue

__all__ = ["ConfiguredFile", "ConfiguredWorkload", "LoadConfiguration", "Loop"]


class ConfiguredFile(TypedDict):
    path: str
    sha256: str


class ConfiguredWorkload(TypedDict):
    name: str
    seed: int
    parameters: dict[str, ParameterValue]
    files: dict[str, ConfiguredFile]


class Loop(TypedDict):
    """``rate_per_s`` is that of an open loop, and of no other."""

    kind: str
    rate_per_s: NotRequired[float]


class LoadConfiguration(TypedDict):
    contract: int
    endpoint: Endpoint
    workload: ConfiguredWorkload
    connections: int
    in_flight: int
    loop: Loop
    threads: int
    warmup_s: float
    window_s: float
    drain_s: float
    request_timeout_s: float
    first_connection: NotRequired[int]
    max_retries: NotRequired[int]
    flaws: NotRequired[list[Mapping[str, object]]]
    start_unix_s: NotRequired[float]
    linger_s: NotRequired[float]
