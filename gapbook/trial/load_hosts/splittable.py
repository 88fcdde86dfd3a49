"""Which contestants can be loaded from other hosts; who cannot is refused before any server starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import discover_stacks
from gapbook.errors import ParameterError
from gapbook.load.client import discover_clients
from gapbook.load.split import share_sizes
from gapbook.trial.contestant import Contestant
from gapbook.trial.scenario import Scenario
from gapbook.trial.servers import choice_of

__all__ = ["require_splittable"]


def require_splittable(scenario: Scenario, choices: Mapping[str, ServerChoice], hosts: int) -> None:
    """Raise ParameterError, naming what is allowed, where a trial of the scenario cannot be loaded from so many hosts."""
    if scenario.treatment.is_databases:
        raise ParameterError(
            "load-from: databases are files on the machine of their client; allowed: servers, and no databases"
        )
    for contestant in scenario.contestants:
        for why in _hindrances(contestant, choice_of(choices, contestant)):
            raise ParameterError(f"load-from: {contestant.name} {why}, or leave that contestant out")
    for value in scenario.treatment.values:
        share_sizes(scenario.connections_at(value), hosts)


def _hindrances(contestant: Contestant, choice: ServerChoice) -> Iterator[str]:
    """What hinders a contestant, as what follows its name."""
    stack, client = contestant.stack, contestant.load_client
    behind_tier = contestant.module.is_process(contestant.tier)
    if contestant.rate_per_s is not None:
        yield "is an open loop (rate_per_s), which cannot be split; allowed: closed loops"
    if contestant.flaws:
        yield "has flaws, which cannot be counted over hosts; allowed: none"
    if contestant.server_killed:
        yield "has its server killed within the window (server_killed); allowed: servers that are left alone"
    if not client.starts_at_moment:
        able = {one.language for one in discover_clients() if one.starts_at_moment}
        yield (
            f"has a client in {client.language}, which cannot start at a moment that it is told; allowed: "
            f"{', '.join(sorted(able))}"
        )
    if stack.facts.in_process and not behind_tier:
        yield f"has its engine, {contestant.system}, inside the client; allowed: systems with a server"
    elif choice.endpoint:
        yield "runs on a server that was named, which is called on this machine alone; allowed: servers of ours"
    elif contestant.placement.in_container:
        yield "runs in a container, which is called on this machine alone; allowed: backend native"
    elif not (behind_tier or stack.listens_elsewhere):
        able = {name for name, one in discover_stacks().items() if one.listens_elsewhere}
        yield (
            f"has a server of {contestant.system}, which listens on this machine alone; allowed: "
            f"{', '.join(sorted(able))}, and any behind a tier of its own"
        )
    if contestant.client_apart:
        yield "has a client on processors of its own (client_apart), and is loaded from other hosts anyway; allowed: none"
    if contestant.round_trip_ms is not None and not behind_tier:
        yield "has a round trip added by a proxy (round_trip_ms), which listens on this machine alone; allowed: none"
