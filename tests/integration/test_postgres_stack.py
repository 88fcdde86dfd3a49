"""Postgres keeps the durability class that it was asked for, and says so itself."""

from __future__ import annotations

import pytest

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.stack import StackContext, stack_class
from gapbook.record.durability import Durability


@pytest.mark.parametrize("asked", ["none", "delayed", "delayed(500 ms)", "fsync-per-commit"])
def test_the_running_server_proves_the_class_it_was_asked_for(asked: str, deployment: Deployment) -> None:
    declared = Durability.parse(asked)
    stack = stack_class("postgres")(StackContext(deployment, declared))
    stack.start()
    try:
        assert stack.durability().satisfies(declared), (asked, str(stack.durability()))
    finally:
        stack.stop()
