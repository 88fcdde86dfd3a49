"""The machines behind a Dask scheduler, for a campaign."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

import msgspec
from distributed import Client
from distributed.scheduler import KilledWorker

from gapbook.book.elsewhere import Ended, Wanted
from gapbook.deploy.own_code import code_sha256
from gapbook.hosts.request import Answer, Request
from gapbook.hosts.resources import kind_offered, whole_machine
from gapbook.hosts.task import measure_session
from gapbook.hosts.worker import HostsError
from gapbook.trial.load_hosts.offer import is_load_host

__all__ = ["Cluster", "cluster"]

_ANSWERS_WITHIN_S = 20
_LOOKS_EVERY_S = 1.0
_GONE_AFTER_S = 30.0
_READY = frozenset({"finished", "error", "cancelled"})


@contextmanager
def cluster(address: str, say: Callable[[str], None] = print) -> Iterator[Cluster]:
    """The machines behind the scheduler at an address; raises HostsError where none answers."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = Client(address, timeout=_ANSWERS_WITHIN_S, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise HostsError(
            f"campaign: no scheduler answers at {address}; start one there: dask scheduler"
        ) from error
    with client:
        yield Cluster(client, address, say)


class Cluster:
    """Gives each session to a machine of this code and of the kind that its run is of, which is free for it alone.

    A machine that is lost costs its session, which another of its kind then takes.
    """

    def __init__(self, client: Client, address: str, say: Callable[[str], None]) -> None:
        self._client = client
        self._address = address
        self._say = say
        self._code = code_sha256()
        self._seen_s: dict[str, float] = {}
        self._told: set[str] = set()

    def measured(self, wanted_on: Callable[[str], Sequence[Wanted]]) -> Iterator[Ended]:
        """Each session as it ends, until the kinds of machines that are there have nothing left; raises HostsError where
        the scheduler is gone.

        A kind of which no machine is there for half a minute is gone. While none of any kind is there, it waits for one.
        """
        asked: dict[Any, Wanted] = {}
        over: set[str] = set()
        try:
            while True:
                for future in [one for one in asked if one.status in _READY]:
                    if (ended := self._ended(future, asked[future])) is not None:
                        del asked[future]
                        yield ended
                here = self._kinds()
                for kind in sorted(here - over - {one.kind for one in asked.values()}):
                    wanted = wanted_on(kind)
                    asked |= {self._submitted(one): one for one in wanted}
                    if not wanted:
                        over.add(kind)
                if here and not any(one.kind in here for one in asked.values()):
                    return
                time.sleep(_LOOKS_EVERY_S)
        finally:
            self._client.cancel(list(asked))

    def _submitted(self, wanted: Wanted) -> Any:
        given = {plan.chapter: dict(plan.given) for plan in wanted.unit.plans}
        request = Request(given, wanted.session, wanted.plan_key)
        return self._client.submit(
            measure_session,
            msgspec.msgpack.encode(request),
            resources=whole_machine(self._code, wanted.kind),
            pure=False,
        )

    def _ended(self, future: Any, wanted: Wanted) -> Ended | None:
        """None where its machine was lost before it told: the session is measured again."""
        try:
            answer = msgspec.msgpack.decode(future.result(_ANSWERS_WITHIN_S), type=Answer)
        except TimeoutError:
            return None
        except KilledWorker:
            return Ended(wanted, error="every machine that took it was lost")
        except CancelledError as error:
            raise HostsError(
                f"campaign: the scheduler at {self._address} is gone; sessions that came are kept, "
                "start it and give the same command again"
            ) from error
        if answer.error:
            return Ended(wanted, error=answer.error)
        return Ended(wanted, answer.took_s, dict(answer.files))

    def _kinds(self) -> set[str]:
        """The kinds of the machines that are there, and have this code; says how many there are where that changes."""
        kinds = {name: kind_offered(resources, self._code) for name, resources in self._workers().items()}
        counts = Counter(kind for kind in kinds.values() if kind is not None)
        now_s = time.monotonic()
        self._seen_s |= dict.fromkeys(counts, now_s)
        here = {kind for kind, seen_s in self._seen_s.items() if now_s - seen_s < _GONE_AFTER_S}
        if others := sorted(name for name, kind in kinds.items() if kind is None):
            self._say_once(f"left out, for they have other code: {', '.join(others)}")
        if len(counts) > 1:
            self._say_once(
                f"{counts.total()} machines of {len(counts)} kinds at {self._address}, each kind with runs of its own"
            )
        elif counts:
            self._say_once(f"{counts.total()} of one kind of machine at {self._address}")
        else:
            self._say_once(
                f"no worker of this code is there; start one on each machine: gapbook worker {self._address}"
            )
        return here

    def _say_once(self, line: str) -> None:
        if line not in self._told:
            self._told.add(line)
            self._say(f"campaign: {line}")

    def _workers(self) -> Mapping[str, Mapping[str, float]]:
        """What each worker has, by its address."""
        try:
            known = self._client.scheduler_info(n_workers=-1)["workers"]
        except (OSError, RuntimeError) as error:
            raise HostsError(f"campaign: the scheduler at {self._address} is gone; start it again") from error
        offers = {name: told["resources"] for name, told in known.items()}
        # Who makes load for others measures nothing.
        return {name: offer for name, offer in offers.items() if not is_load_host(offer)}
