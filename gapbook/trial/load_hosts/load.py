"""One load made by several hosts: split, started as one, followed, and reported as one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from gapbook.deploy.deployment import Deployment
from gapbook.errors import ClientError
from gapbook.load.client import Client
from gapbook.load.clock_offset import ClockOffset
from gapbook.load.configuration import LoadConfiguration
from gapbook.load.merged import merged, written
from gapbook.load.report import checked_report
from gapbook.load.split import split
from gapbook.model.event import Event
from gapbook.model.report import Report
from gapbook.record.row import FromHost
from gapbook.trial.load_hosts.duty import client_name
from gapbook.trial.load_hosts.engaged import EngagedHost
from gapbook.trial.load_hosts.following import Following
from gapbook.trial.load_hosts.messages import MakeLoad

__all__ = ["LoadOfHosts"]

_LEAD_S, _LEAD_PER_CONNECTION_S = 2.0, 0.02
"""How long a client has to start, connect and log in before its clock starts: a login by SCRAM takes some
milliseconds, one after the other."""


class _AHost(Protocol):
    """Of a host, as far as a load asks: whether it is the server's own machine."""

    @property
    def here(self) -> bool: ...


class LoadOfHosts:
    """See :class:`gapbook.load.maker.Load`; ``engaged`` has the hosts at hand, in their order, while its block lasts."""

    def __init__(
        self,
        fleet: Sequence[_AHost],
        engaged: Callable[[], AbstractContextManager[Sequence[EngagedHost]]],
        client: Client,
        configuration: LoadConfiguration,
        on_event: Callable[[Event], None],
    ) -> None:
        self._fleet = fleet
        self._engaged = engaged
        self._client = client
        self._configuration = configuration
        self._on_event = on_event
        self.parts: Sequence[FromHost] = ()

    def run(self, deployment: Deployment) -> Report:
        """Raises ClientError, in a line that names the host where one is to blame."""
        shares = split(self._configuration, len(self._fleet))
        with self._engaged() as hosts:
            clocks = [host.clock() for host in hosts]
            start_unix_s = time.time() + _lead_s(shares)
            for host, share, clock in zip(hosts, shares, clocks, strict=True):
                told: LoadConfiguration = {**share, "start_unix_s": clock.there(start_unix_s)}
                host.ask(MakeLoad(client_name(self._client), told, deployment.declared))
            outputs = Following(hosts, self._configuration, start_unix_s, self._on_event).outputs()
            for host, clock in zip(hosts, clocks, strict=True):
                host.require_same_clock(clock)
            reports = [
                _checked(host, output, share)
                for host, output, share in zip(hosts, outputs, shares, strict=True)
            ]
        self.parts = self._parts(reports, shares, clocks)
        return checked_report(written(merged(reports), start_unix_s), self._configuration)

    def _parts(
        self, reports: Sequence[Report], shares: Sequence[LoadConfiguration], clocks: Sequence[ClockOffset]
    ) -> list[FromHost]:
        return [
            FromHost(
                connections=share["connections"],
                acknowledged_in_window=report.window.acknowledged,
                cpu_s=report.window.cpu_user_s + report.window.cpu_system_s,
                clock_bound_s=clock.bound_s,
                here=host.here,
            )
            for report, share, clock, host in zip(reports, shares, clocks, self._fleet, strict=True)
        ]


def _lead_s(shares: Sequence[LoadConfiguration]) -> float:
    return _LEAD_S + _LEAD_PER_CONNECTION_S * max(share["connections"] for share in shares)


def _checked(host: EngagedHost, output: bytes, share: LoadConfiguration) -> Report:
    try:
        return checked_report(output, share)
    except ClientError as error:
        raise host.failed(f"cannot be believed: {error}") from error
