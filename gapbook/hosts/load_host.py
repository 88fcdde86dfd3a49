"""A machine that makes load for whoever measures at its scheduler: ``gapbook load-host ADDRESS``."""

from __future__ import annotations

from collections.abc import Callable

from gapbook.deploy.limits import allow_most_open_files
from gapbook.deploy.own_code import code_sha256
from gapbook.hosts.worker import Role, serve_as
from gapbook.trial.facts import machine
from gapbook.trial.load_hosts.duty import hang_up
from gapbook.trial.load_hosts.offer import load_host_offer

__all__ = ["serve_load"]


def serve_load(address: str, say: Callable[[str], None] = print) -> None:
    """Make load until the scheduler ends, or this process is told to; raises what :func:`gapbook.hosts.worker.serve`
    does."""
    allow_most_open_files()
    role = Role("load-host", load_host_offer(code_sha256()), "loads", hang_up)
    serve_as(role, address, machine(), say)
