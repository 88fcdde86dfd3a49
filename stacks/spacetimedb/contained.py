"""SpacetimeDB in a container: the standalone server alone, with keys of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapbook.declared.reading import required

from .keys import key_pair
from .programs import server_arguments

if TYPE_CHECKING:
    from gapbook.deploy.container import Container
    from gapbook.deploy.stack import Stack

__all__ = ["start_in_container"]

_DATA = "/srv/data/spacetimedb"
_PRIVATE, _PUBLIC = "/id_ecdsa", "/id_ecdsa.pub"


def start_in_container(stack: Stack, port: int, within_s: float) -> Container:
    """A server over an empty volume."""
    facts, placement = stack.container_facts(), stack.placement
    program = facts.own_program if placement.own_image else facts.program
    private, public = key_pair()
    address = f"{'127.0.0.1' if placement.host_network else '0.0.0.0'}:{port}"
    in_memory = stack.context.durability.kind == "none"
    container = stack.containers.start(
        stack.image(stack.context.choice, stack.containers.engine),
        name="spacetimedb",
        command=server_arguments(address, _DATA, _PUBLIC, _PRIVATE, in_memory=in_memory),
        ports={port: port},
        limits=facts.limits,
        entrypoint=[
            required(program, "stacks/spacetimedb/stack.toml: container.program, container.own_program")
        ],
        files={_PRIVATE: private, _PUBLIC: public},
        user=facts.user,
    )
    container.wait_until_listening(within_s)
    return container
