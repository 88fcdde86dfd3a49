"""Who makes the load of trials: this machine, or hosts elsewhere. A trial sees no more of it than this.

Makers elsewhere are in :mod:`gapbook.trial.load_hosts`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.process import LOOPBACK
from gapbook.load.client import Client, ClientRun
from gapbook.load.configuration import LoadConfiguration
from gapbook.load.null_server import CeilingLoad, measure_ceiling
from gapbook.model.event import Event
from gapbook.model.report import Report
from gapbook.record.row import FromHost
from gapbook.record.schema import LoadHost

__all__ = ["BESIDE_THE_SERVER", "Load", "LoadMaker"]


class Load(Protocol):
    """The load of one trial."""

    @property
    def parts(self) -> Sequence[FromHost]:
        """After it has run: what each host made of it; none where the client runs beside the server."""

    def run(self, deployment: Deployment) -> Report:
        """Run to the end and return the report of the whole; raises ClientError."""


class LoadMaker(Protocol):
    """Makes each load of a run. ``address`` is that of this machine at which clients call a server, ``hosts`` is where
    they are, none where they run beside it."""

    @property
    def address(self) -> str: ...

    @property
    def hosts(self) -> Sequence[LoadHost]: ...

    def load(
        self, client: Client, configuration: LoadConfiguration, on_event: Callable[[Event], None]
    ) -> Load:
        """One load, not begun; ``on_event`` hears its progress, in the thread that runs it."""

    def ceilings(self, deployment: Deployment, load: CeilingLoad) -> Sequence[float | None]:
        """As :func:`gapbook.load.null_server.measure_ceiling`, of each host with its share of the connections; one where
        there are none."""


class _BesideTheServer:
    """The client runs on this machine."""

    address = LOOPBACK
    hosts: Sequence[LoadHost] = ()

    def load(
        self, client: Client, configuration: LoadConfiguration, on_event: Callable[[Event], None]
    ) -> Load:
        return ClientRun(client, configuration, on_event)

    def ceilings(self, deployment: Deployment, load: CeilingLoad) -> Sequence[float | None]:
        return [measure_ceiling(deployment, load)]


BESIDE_THE_SERVER: LoadMaker = _BesideTheServer()
