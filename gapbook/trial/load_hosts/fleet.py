"""The load hosts behind a Dask scheduler, as the maker of a run's loads.

Dask finds them and brings each to call here; what a load then needs goes over a line of its own (:mod:`gapbook.load.line`).
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import msgspec

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.own_code import code_sha256
from gapbook.errors import ClientError, SetupError
from gapbook.load import null_server
from gapbook.load.client import Client
from gapbook.load.configuration import LoadConfiguration
from gapbook.load.line import Line, LineError, Listener, address_towards
from gapbook.load.maker import Load
from gapbook.load.null_server import CeilingLoad
from gapbook.load.split import share_sizes
from gapbook.model.event import Event
from gapbook.record.kind import kind_of, kind_words
from gapbook.record.load_hosts import hosts_counted
from gapbook.record.machine import Machine, same_machine
from gapbook.record.schema import LoadHost
from gapbook.trial.facts import machine
from gapbook.trial.load_hosts.duty import client_name, described_host, make_load
from gapbook.trial.load_hosts.engaged import EngagedHost
from gapbook.trial.load_hosts.load import LoadOfHosts
from gapbook.trial.load_hosts.messages import Call, Ceiling, Hello, MeasureCeiling, answered, packed
from gapbook.trial.load_hosts.offer import NEEDED, has_this_code, is_load_host

__all__ = ["Fleet", "FleetHost", "load_hosts_at"]

_ANSWERS_WITHIN_S = 20
_CALLED_WITHIN_S = 20.0
_LOOKS_EVERY_S = 0.2
_HELLO_WITHIN_S = 5.0
_CEILING_GRACE_S = 40.0
_LOST = (OSError, RuntimeError, TimeoutError, CancelledError)
"""What Dask raises where its scheduler, or who was asked, is gone."""


@dataclass(frozen=True)
class FleetHost:
    """``worker`` is its address as Dask has it, ``here`` whether it is this machine itself, by its boot."""

    worker: str
    machine: Machine
    here: bool

    @property
    def name(self) -> str:
        """By which people know it: ``10.0.0.2:41234``."""
        return _place(self.worker)


@contextmanager
def load_hosts_at(scheduler: str, say: Callable[[str], None] = print) -> Iterator[Fleet]:
    """All load hosts that are there now, of this code; says who they are.

    Raises SetupError where no scheduler answers, where there is none of them, and where they reach this machine at
    several addresses.
    """
    from distributed import Client as Dask  # noqa: PLC0415 (half a second, of use to such runs alone)

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        dask = Dask(scheduler, timeout=_ANSWERS_WITHIN_S, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise SetupError(
            f"load-from: no scheduler answers at {scheduler}; start one there: dask scheduler"
        ) from error
    with dask:
        hosts = _found(dask, scheduler, say)
        kinds = dict.fromkeys(kind_words(host.machine) for host in hosts)
        say(f"load from {hosts_counted(len(hosts))} at {scheduler}: {'; '.join(kinds)}")
        yield Fleet(dask, scheduler, hosts, _own_address(hosts))


class Fleet:
    """See :class:`gapbook.load.maker.LoadMaker`. The hosts stay those that were there at first: one that is lost is missed
    by each load after it."""

    def __init__(self, dask: Any, scheduler: str, hosts: Sequence[FleetHost], address: str) -> None:
        self._dask = dask
        self._scheduler = scheduler
        self.fleet = hosts
        self.address = address

    @property
    def hosts(self) -> Sequence[LoadHost]:
        return [LoadHost(host.machine) for host in self.fleet]

    def load(
        self, client: Client, configuration: LoadConfiguration, on_event: Callable[[Event], None]
    ) -> Load:
        return LoadOfHosts(self.fleet, self.engaged, client, configuration, on_event)

    def ceilings(self, deployment: Deployment, load: CeilingLoad) -> Sequence[float | None]:
        """Of all at the same time, as they load."""
        if not null_server.has_null_server(load.protocol):
            return [None for _ in self.fleet]
        window_s = null_server.CEILING_WINDOW_S
        with self.engaged() as hosts:
            for host, size in zip(hosts, share_sizes(load.connections, len(hosts)), strict=True):
                host.ask(
                    MeasureCeiling(
                        client_name(load.client),
                        load.protocol,
                        load.endpoint,
                        load.workload.name,
                        load.workload.parameters,
                        size,
                        load.in_flight,
                        load.warmup_s,
                        window_s,
                        deployment.declared,
                    )
                )
            within_s = load.warmup_s + window_s + _CEILING_GRACE_S
            return [_ceiling_of(host, within_s) for host in hosts]

    @contextmanager
    def engaged(self) -> Iterator[Sequence[EngagedHost]]:
        """All hosts, each on a line of its own that ends with the block, and with it whatever runs there. Raises ClientError
        that names the host which does not call."""
        token, lines = secrets.token_hex(16), dict[int, Line]()
        self._require_there()
        try:
            listener = Listener(self.address)
        except OSError as error:
            raise ClientError(f"load hosts cannot call {self.address} ({error.strerror})") from error
        futures: list[Any] = []
        try:
            futures += self._called(listener.port, token)
            while len(lines) < len(futures):
                self._take_call(listener, token, lines, futures)
            yield [EngagedHost(host.name, lines[number]) for number, host in enumerate(self.fleet)]
        finally:
            for line in lines.values():
                line.shut()
            listener.close()
            for future in futures:
                future.release()

    def _called(self, port: int, token: str) -> list[Any]:
        """Each host is asked to call here: its task, which lasts as long as its line."""
        calls = [packed(Call(self.address, port, number, token)) for number in range(len(self.fleet))]
        try:
            return [
                _submitted(self._dask, host.worker, make_load, call)
                for host, call in zip(self.fleet, calls, strict=True)
            ]
        except _LOST as error:
            raise self._no_scheduler() from error

    def _no_scheduler(self) -> ClientError:
        return ClientError(f"the scheduler of the load hosts at {self._scheduler} is gone; start it again")

    def _require_there(self) -> None:
        try:
            workers = _workers(self._dask)
        except _LOST as error:
            raise self._no_scheduler() from error
        for host in self.fleet:
            if host.worker not in workers:
                raise ClientError(f"load host {host.name} is gone from the scheduler at {self._scheduler}")

    def _take_call(
        self, listener: Listener, token: str, lines: dict[int, Line], futures: Sequence[Any]
    ) -> None:
        """Let one more host in, which must come in time."""
        ends_s = time.monotonic() + _CALLED_WITHIN_S
        while True:
            missing = [number for number in range(len(self.fleet)) if number not in lines]
            for number in missing:
                self._require_well(number, futures[number])
            left_s = ends_s - time.monotonic()
            if left_s <= 0:
                raise ClientError(
                    f"load host {self.fleet[missing[0]].name} did not call {self.address} within "
                    f"{_CALLED_WITHIN_S:g} s; see that it runs and its link holds"
                )
            try:
                line = listener.accept(min(left_s, _LOOKS_EVERY_S))
            except LineError:
                continue
            number_called = _who_calls(line, token)
            if number_called in missing:
                lines[number_called] = line
                return
            line.shut()

    def _require_well(self, number: int, future: Any) -> None:
        """Raises ClientError for a host whose task ended before it called."""
        name = self.fleet[number].name
        if future.status == "finished":
            raise ClientError(f"load host {name} {_result(future) or 'ended before it called'}")
        if future.status in {"error", "cancelled", "lost"}:
            raise ClientError(f"load host {name} ended before it called ({_result(future)})")


def _ceiling_of(host: EngagedHost, within_s: float) -> float | None:
    answer = host.hear(within_s)
    if not isinstance(answer, Ceiling):
        raise host.failed(f"was asked for a ceiling, and said {type(answer).__name__}")
    return answer.rate_per_s


def _who_calls(line: Line, token: str) -> int | None:
    """The number of the host on a line; None for anybody else who found the port."""
    try:
        hello = answered(line.receive(_HELLO_WITHIN_S))
    except (LineError, ValueError):
        return None
    if not isinstance(hello, Hello):
        return None
    return hello.host if secrets.compare_digest(hello.token.encode(), token.encode()) else None


def _found(dask: Any, scheduler: str, say: Callable[[str], None]) -> list[FleetHost]:
    """The load hosts of this code, in an order that follows from their kinds."""
    code = code_sha256()
    try:
        workers = _workers(dask)
    except _LOST as error:
        raise SetupError(f"load-from: the scheduler at {scheduler} is gone; start it again") from error
    offers = {name: offer for name, offer in workers.items() if is_load_host(offer)}
    ours = [name for name, offer in offers.items() if has_this_code(offer, code)]
    if others := sorted(_place(name) for name in offers if name not in ours):
        say(f"left out, for they have other code: {', '.join(others)}")
    if not ours:
        raise SetupError(
            f"load-from: no load host of this code is at {scheduler}; start one on each machine that is to load: "
            f"gapbook load-host {scheduler}"
        )
    asked = {name: _submitted(dask, name, described_host) for name in ours}
    own = machine()
    hosts = []
    for name, future in asked.items():
        try:
            there = msgspec.msgpack.decode(future.result(_ANSWERS_WITHIN_S), type=Machine)
        except (OSError, RuntimeError, TimeoutError, CancelledError, ValueError) as error:
            raise SetupError(
                f"load-from: load host {_place(name)} does not answer; it makes load for another run, or hangs: wait, or start it again"
            ) from error
        hosts.append(FleetHost(name, there, here=same_machine(there, own)))
    return sorted(hosts, key=lambda host: (kind_of(host.machine), host.name))


def _own_address(hosts: Sequence[FleetHost]) -> str:
    """The address of this machine on the way to all of them: they reach it, and its servers, there."""
    addresses = set()
    for host in hosts:
        there = urlsplit(host.worker)
        try:
            addresses.add(address_towards(str(there.hostname), there.port or 0))
        except OSError as error:
            raise SetupError(f"load-from: no way leads to load host {host.name} ({error})") from error
    if len(addresses) > 1:
        raise SetupError(
            f"load-from: the load hosts reach this machine at several addresses ({', '.join(sorted(addresses))}); "
            "start them in one network"
        )
    return addresses.pop()


def _workers(dask: Any) -> Mapping[str, Mapping[str, float]]:
    """What each worker of the scheduler offers, by its address; raises what is in :data:`_LOST`."""
    told = dask.sync(dask.scheduler.identity, n_workers=-1, callback_timeout=_ANSWERS_WITHIN_S)
    return {name: worker["resources"] for name, worker in told["workers"].items()}


def _submitted(dask: Any, worker: str, task: Callable[..., Any], *given: bytes) -> Any:
    """A task for this worker and no other."""
    return dask.submit(
        task, *given, workers=[worker], allow_other_workers=False, resources=dict(NEEDED), pure=False
    )


def _result(future: Any) -> str:
    try:
        return str(future.result(1))
    except Exception as error:  # whatever was raised there
        return str(error) or type(error).__name__


def _place(worker: str) -> str:
    return worker.partition("://")[2] or worker
