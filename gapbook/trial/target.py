"""What a load client calls: the system itself, or a tier that is started in front of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.process import LOOPBACK, Process
from gapbook.record.describe import TIER_SETTING
from gapbook.trial.contestant import Contestant

__all__ = ["Target", "target_of"]


@dataclass(frozen=True)
class Target:
    """What the client calls, the processes of the tier, and what the tier says of itself."""

    endpoint: Endpoint
    processes: tuple[Process, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)


@contextmanager
def target_of(
    contestant: Contestant,
    stack_endpoint: Endpoint,
    deployment: Deployment,
    *,
    pool_size: int,
    listen: str = LOOPBACK,
) -> Iterator[Target]:
    """Start the tier of a contestant, if it has one, in front of the stack's endpoint; end it afterwards.

    ``listen`` is the address of this machine at which clients call it.
    """
    module = contestant.module
    tier = module.start_tier(
        deployment,
        tier=contestant.tier,
        access=contestant.access,
        endpoint=stack_endpoint,
        pool_size=pool_size,
        max_retries=contestant.max_retries,
        listen=listen,
    )
    if tier is None:
        yield Target(module.client_endpoint(contestant.access, contestant.tier, stack_endpoint))
        return
    try:
        yield Target(
            tier.endpoint,
            (tier.process,),
            {f"{TIER_SETTING}{key}": value for key, value in tier.settings.items()},
        )
    finally:
        deployment.stop(tier.process)
