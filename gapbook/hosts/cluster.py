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
from distributed import Client, as_completed
from distributed.scheduler import KilledWorker

from gapbook.book.elsewhere import Ended, Wanted
from gapbook.hosts.build import code_sha256
from gapbook.hosts.request import Answer, Request
from gapbook.hosts.resources import kind_of, shortened, whole_machine
from gapbook.hosts.task import measure_session
from gapbook.hosts.worker import HostsError

__all__ = ["Cluster", "cluster"]

_ANSWERS_WITHIN_S = 20
_LOOKS_EVERY_S = 1.0


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
    """Gives each session to a machine of this code and of one kind, which is free for it alone.

    A machine that is lost costs its session, which another then takes.
    """

    def __init__(self, client: Client, address: str, say: Callable[[str], None]) -> None:
        self._client = client
        self._address = address
        self._say = say
        self._code = code_sha256()

    def measured(self, wanted: Sequence[Wanted]) -> Iterator[Ended]:
        """Each session as it ends; raises HostsError where the scheduler is gone.

        A session of a run that was begun on a kind of machine of which none is here waits for one, and that is said.
        """
        here, *others = self._kinds()
        known = {here, *others}
        waiting = {
            one.unit.name for one in wanted if one.kind is not None and shortened(one.kind) not in known
        }
        for name in sorted(waiting):
            self._say(
                f"campaign: {name} was begun on a kind of machine of which none is here; its sessions wait for one"
            )
        asked = {self._submitted(one, one.kind or here): one for one in wanted}
        try:
            for future in as_completed(list(asked), loop=self._client.loop, raise_errors=False):
                yield self._ended(future, asked[future])
        finally:
            self._client.cancel(list(asked))

    def _submitted(self, wanted: Wanted, kind: str) -> Any:
        given = {plan.chapter: dict(plan.given) for plan in wanted.unit.plans}
        request = Request(given, wanted.session, wanted.plan_key)
        return self._client.submit(
            measure_session,
            msgspec.msgpack.encode(request),
            resources=whole_machine(self._code, kind),
            pure=False,
        )

    def _ended(self, future: Any, wanted: Wanted) -> Ended:
        try:
            answer = msgspec.msgpack.decode(future.result(), type=Answer)
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

    def _kinds(self) -> Sequence[str]:
        """The kinds of machines that workers of this code are, the most frequent first; waits for the first worker, and
        says so."""
        told = False
        while True:
            workers = self._workers()
            kinds = [kind_of(resources, self._code) for resources in workers.values()]
            others = sorted(name for name, kind in zip(workers, kinds, strict=True) if kind is None)
            if not told and others:
                self._say(f"campaign: left out, for they have other code: {', '.join(others)}")
            if of_this_code := Counter(kind for kind in kinds if kind is not None):
                (kind, machines), *left_out = of_this_code.most_common()
                self._say(f"campaign: {machines} of one kind of machine at {self._address}")
                if left_out:
                    count = sum(number for _, number in left_out)
                    self._say(
                        f"campaign: {count} of another kind get no session of a run that is measured on this one"
                    )
                return [kind, *(other for other, _ in left_out)]
            if not told:
                self._say(
                    f"campaign: no worker of this code yet; start one on each machine: gapbook worker {self._address}"
                )
            told = True
            time.sleep(_LOOKS_EVERY_S)

    def _workers(self) -> Mapping[str, Mapping[str, float]]:
        """What each worker has, by its address."""
        try:
            known = self._client.scheduler_info(n_workers=-1)["workers"]
        except (OSError, RuntimeError) as error:
            raise HostsError(f"campaign: the scheduler at {self._address} is gone; start it again") from error
        return {name: told["resources"] for name, told in known.items()}
