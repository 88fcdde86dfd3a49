"""One file for each protocol; what connects to an endpoint."""

from __future__ import annotations

from gap_python.answer import Connection
from gap_python.config import Endpoint, HttpEndpoint, PostgresEndpoint


def connect(endpoint: Endpoint, in_flight: int) -> Connection:
    """A connection that is not open yet. Only the libraries of its protocol are loaded."""
    if isinstance(endpoint, PostgresEndpoint):
        from gap_python.protocols.postgres import create_connection  # noqa: PLC0415

        return create_connection(endpoint, in_flight)
    if isinstance(endpoint, HttpEndpoint):
        from gap_python.protocols.http import HttpConnection  # noqa: PLC0415

        return HttpConnection(endpoint)
    from gap_python.protocols.spacetimedb import SpacetimeDbConnection  # noqa: PLC0415

    return SpacetimeDbConnection(endpoint)
