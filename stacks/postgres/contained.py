"""Postgres in a container: the interface of the official image, which ours has too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gapbook.deploy.container import Container
    from gapbook.deploy.stack import Stack

__all__ = ["start_in_container"]

_DATA = "/srv/data/postgres"
"""A folder of its own in the volume, which may hold others already (initdb refuses a folder that is not empty)."""


def start_in_container(
    stack: Stack, settings: Mapping[str, str], port: int, password: str, within_s: float
) -> Container:
    """A server with an empty cluster, whose settings stand on its command line (hub.docker.com/_/postgres)."""
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    container = stack.containers.start(
        stack.image(stack.context.choice, stack.containers.engine),
        name="postgres",
        command=["postgres", *options],
        ports={port: port},
        limits=stack.container_facts().limits,
        environment={
            "POSTGRES_PASSWORD": password,
            "POSTGRES_INITDB_ARGS": "--auth=scram-sha-256 --encoding=UTF8 --no-locale --no-sync",
            "PGDATA": _DATA,
        },
    )
    container.wait_until_listening(within_s)
    return container
