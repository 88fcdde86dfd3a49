"""Ceilings: what each load client does against a server that does nothing, measured in every block.

A ceiling is loaded like a trial: the same connections, depth and warm-up, in the same block, so that a
slow hour of the machine, or code that is not compiled yet, lowers both alike.
"""

from __future__ import annotations

import hashlib
import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.stack import Stack
from gapbook.errors import ClientError, StackError
from gapbook.load.maker import BESIDE_THE_SERVER, LoadMaker
from gapbook.load.null_server import CEILING_WINDOW_S, CeilingLoad, has_null_server
from gapbook.load.split import share_sizes
from gapbook.model.plan import PlannedTrial
from gapbook.record.schema import CeilingOfBlock
from gapbook.trial.contestant import Contestant
from gapbook.trial.scenario import Scenario

__all__ = ["Ceilings", "ceiling_key", "ceiling_of_all", "expected_ceilings_s", "median_ceilings"]


class Ceilings:
    """The ceilings of a run: ``kept`` holds those measured so far, and ``keep`` writes them down. ``maker`` makes the
    loads of the run, and knows what the client of each of its hosts reaches.

    The ``key`` of one tells client, protocol, what the client is told, and depth; its ``rate_per_s`` are requests
    a second, or None where no such server can stand in: for an engine inside the client. What failed, as for an access
    level whose statements the null server does not know, is not kept: the next trial that needs it measures it again.
    """

    def __init__(
        self,
        scenario: Scenario,
        deployment: Deployment,
        kept: list[CeilingOfBlock],
        *,
        keep: Callable[[], None],
        say: Callable[[str], None],
        maker: LoadMaker = BESIDE_THE_SERVER,
    ) -> None:
        self.scenario = scenario
        self.deployment = deployment
        self.kept = kept
        self.keep = keep
        self.say = say
        self.maker = maker

    def of(self, contestant: Contestant, stack: Stack, block: int, value: float) -> CeilingOfBlock:
        """The ceiling of a contestant's client in one block at a value of the treatment, measured now unless
        it is kept already; without a rate where that failed.

        ``stack`` is the server that the contestant calls: its protocol is the null server's.
        """
        options = _client_options(contestant, stack)
        key = ceiling_key(contestant, options, self.scenario, value)
        for row in self.kept:
            if (row.block, row.key) == (block, key):
                return row
        try:
            by_host = self._measured(contestant, options, value)
        except (ClientError, StackError) as error:
            self.say(f"no ceiling of {key}: {error}")
            return CeilingOfBlock(block, key, None)
        connections = self.scenario.connections_at(value)
        own = by_host if self.maker.hosts else []
        row = CeilingOfBlock(block, key, ceiling_of_all(by_host, connections), list(own))
        self.kept.append(row)
        self.keep()
        return row

    def _measured(self, contestant: Contestant, options: Endpoint, value: float) -> Sequence[float | None]:
        """That of each host's client; one where it runs beside the server. Raises ClientError and StackError."""
        load = CeilingLoad(
            client=contestant.load_client,
            protocol=contestant.protocol,
            endpoint=options,
            workload=self.scenario.workload_of(contestant, self.scenario.treatment.values[0]),
            connections=self.scenario.connections_at(value),
            in_flight=contestant.in_flight,
            warmup_s=self.scenario.warmup_s,
            processors=contestant.client_processors,
            beside=contestant.processors_between,
        )
        return self.maker.ceilings(self.deployment, load)


def ceiling_of_all(by_host: Sequence[float | None], connections: int) -> float | None:
    """The rate of the whole load at which the first host is at its ceiling, every connection being as quick as each
    other; None where a host's ceiling is not known."""
    shares = share_sizes(connections, len(by_host))
    known = [
        rate * (connections / size) for rate, size in zip(by_host, shares, strict=True) if rate is not None
    ]
    return min(known) if len(known) == len(by_host) else None


def median_ceilings(kept: Sequence[CeilingOfBlock]) -> dict[str, float | None]:
    """The median over blocks of each ceiling; None where no block has one."""
    rates: dict[str, list[float]] = {}
    for row in kept:
        rates.setdefault(row.key, []).extend([] if row.rate_per_s is None else [row.rate_per_s])
    return {key: statistics.median(found) if found else None for key, found in rates.items()}


def expected_ceilings_s(scenario: Scenario, plan: Sequence[PlannedTrial]) -> float:
    """Seconds that the ceilings of a plan take, without those in which programs start and end.

    Which clients share one is known before any server runs: by all of their key but what only a server says.
    """
    needed = set()
    for planned in plan:
        contestant = scenario.contestant(planned.contestant)
        if has_null_server(contestant.protocol):
            varied = planned.treatment if scenario.treatment.is_connections else None
            needed.add((planned.block, varied, _declared_key(contestant, scenario)))
    return len(needed) * (scenario.warmup_s + CEILING_WINDOW_S)


def _declared_key(contestant: Contestant, scenario: Scenario) -> tuple[Any, ...]:
    module, access = contestant.module, contestant.access
    told: tuple[Any, ...] = (contestant.version, module.client_level(access))
    if contestant.protocol == "http":
        # A server that speaks HTTP itself may want a secret of its own in each request.
        server = None if module.is_process(contestant.tier) else contestant.variant(scenario.durability)
        told = (_short(module.declared_requests(access)), server)
    return (
        contestant.client,
        contestant.protocol,
        *told,
        contestant.in_flight,
        tuple(contestant.client_processors or ()),
        _short(contestant.environment),
    )


def ceiling_key(contestant: Contestant, options: Endpoint, scenario: Scenario, value: float) -> str:
    """``rust/postgres/mode=procedure/64``: contestants of one key have one ceiling; one for each number of
    connections where it varies."""
    words = "".join(f"/{key}={_short(told)}" for key, told in sorted(options.items()))
    varied = f"/{value:g} connections" if scenario.treatment.is_connections else ""
    declared = f"/environment={_short(contestant.environment)}" if contestant.environment else ""
    own = contestant.client_processors
    apart = "" if own is None else f"/on {len(own)} core{'' if len(own) == 1 else 's'} of its own"
    return f"{contestant.client}/{contestant.protocol}{words}/{contestant.in_flight}{varied}{apart}{declared}"


def _short(value: Any) -> Any:
    """A value as it is, or a hash of a table."""
    if not isinstance(value, Mapping):
        return value
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:8]


def _client_options(contestant: Contestant, stack: Stack) -> Endpoint:
    """What the client is told besides the address."""
    if contestant.protocol == "http":
        requests = contestant.module.requests(contestant.access, contestant.tier, stack.endpoint())
        return {"requests": requests}
    return contestant.module.client_endpoint(contestant.access, contestant.tier, stack.spoken())
