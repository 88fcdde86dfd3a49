"""The configuration of the client contract, decoded before anything is opened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from gap_python import CONTRACT_VERSION
from gap_python.answer import Connection
from gap_python.decode import Decoded, decode, decode_json, refused
from gap_python.protocols import Demand, connector
from gap_python.workload import Workload, WorkloadConfig, create_workload


class _Loop(Decoded):
    kind: Literal["closed", "open"]
    rate_per_s: float | None = None


class _Configuration(Decoded):
    contract: int
    endpoint: dict[str, Any]
    workload: WorkloadConfig
    connections: int
    in_flight: int
    loop: _Loop
    warmup_s: float
    window_s: float
    drain_s: float
    request_timeout_s: float
    first_connection: int = 0
    threads: int = 1
    max_retries: int = 0
    flaws: tuple[Any, ...] = ()
    linger_s: float = 0.0


class _Draw(Decoded):
    connection: int
    first_index: int
    count: int


@dataclass(frozen=True)
class Config:
    connect: Callable[[], Connection]
    """A connection that is not open yet."""
    workload: Workload
    connections: int
    first_connection: int
    in_flight: int
    rate_per_s: float | None
    """None is the closed loop."""
    warmup_s: float
    window_s: float
    drain_s: float
    request_timeout_s: float
    max_retries: int
    linger_s: float
    """How long after the window connections stay open at least, idle."""


@dataclass(frozen=True)
class DrawConfig:
    """What ``--draw`` needs; the rest of a configuration may be there and is not looked at."""

    workload: Workload
    connection: int
    first_index: int
    count: int


def parse_config(text: str) -> Config:
    """Raises ClientError."""
    given = _of_this_contract(decode_json(text))
    configuration = decode(given, _Configuration)
    if configuration.threads != 1:
        raise refused("threads", configuration.threads, "1")
    if configuration.flaws:
        raise refused("flaws", list(configuration.flaws), "none")
    workload = create_workload(configuration.workload)
    demand = Demand(configuration.workload.name, workload.kinds, workload.refusals, configuration.in_flight)
    is_open = configuration.loop.kind == "open"
    return Config(
        connect=connector(configuration.endpoint, demand),
        workload=workload,
        connections=configuration.connections,
        first_connection=configuration.first_connection,
        in_flight=configuration.in_flight,
        rate_per_s=decode(configuration.loop.rate_per_s, float, "loop.rate_per_s") if is_open else None,
        warmup_s=configuration.warmup_s,
        window_s=configuration.window_s,
        drain_s=configuration.drain_s,
        request_timeout_s=configuration.request_timeout_s,
        max_retries=configuration.max_retries,
        linger_s=configuration.linger_s,
    )


def parse_draw_config(text: str) -> DrawConfig:
    """Raises ClientError."""
    given = _of_this_contract(decode_json(text))
    draw = decode(given.get("draw"), _Draw, "draw")
    return DrawConfig(
        workload=create_workload(decode(given.get("workload"), WorkloadConfig, "workload")),
        connection=draw.connection,
        first_index=draw.first_index,
        count=draw.count,
    )


def _of_this_contract(value: Any) -> dict[str, Any]:
    given = decode(value, dict[str, Any])
    if given.get("contract") != CONTRACT_VERSION:
        raise refused("contract", given.get("contract"), str(CONTRACT_VERSION))
    return given
