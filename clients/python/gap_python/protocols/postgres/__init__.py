"""Postgres through psycopg: binary, every statement prepared once for each connection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gap_python.answer import Connection
from gap_python.decode import choose, decode, refused
from gap_python.protocols import Demand, names_by_kind
from gap_python.protocols.postgres.connection import Endpoint, ProcedureConnection, StatementsConnection
from gap_python.protocols.postgres.function import Function
from gap_python.protocols.postgres.pipeline import PipelineConnection

_MODES = ("procedure", "sql")


def connector(endpoint: Mapping[str, Any], demand: Demand) -> Callable[[], Connection]:
    """A connection for the endpoint's mode; a pipeline only where more than one request may be out.

    See :func:`gap_python.protocols.connector`.
    """
    at = decode(endpoint, Endpoint, "endpoint")
    choose("endpoint.mode", at.mode, _MODES)
    if at.mode == "sql":
        _require_transfers(at, demand)
        return lambda: StatementsConnection(at)
    names = names_by_kind(demand, ("function", at.function), ("functions", at.functions))
    functions = {kind: Function(name, demand.kinds[kind], demand.refusals) for kind, name in names.items()}
    way = ProcedureConnection if demand.in_flight == 1 else PipelineConnection
    return lambda: way(at, functions)


def _require_transfers(endpoint: Endpoint, demand: Demand) -> None:
    """Raises ClientError where statements cannot do what is asked."""
    choose("workload.name", demand.workload, ["transfer"])
    if demand.in_flight > 1:
        raise refused("in_flight", demand.in_flight, '1 with the endpoint\'s mode "sql"')
    for key, given in (("function", endpoint.function), ("functions", endpoint.functions)):
        if given is not None:
            raise refused(f"endpoint.{key}", given, 'no function with mode "sql"')
