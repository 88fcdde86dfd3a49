"""The hosts from which a run's load came, as it is recorded and as it is said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from gapbook.record.machine import Machine, processor_and_cores, same_machine
from gapbook.record.schema import LoadHost
from gapbook.record.stored_list import listed

__all__ = ["hosts_counted", "load_hosts_words", "with_clock_bounds"]


def with_clock_bounds(hosts: Sequence[LoadHost], rows: Iterable[Mapping[str, Any]]) -> list[LoadHost]:
    """The hosts with the worst bound of their clocks that a trial had, by the rows of a run."""
    bounds_s: list[list[float]] = [[] for _ in hosts]
    for row in rows:
        for found, part in zip(bounds_s, listed(row.get("from_hosts")), strict=False):
            found.append(part["clock_bound_s"])
    return [
        msgspec.structs.replace(host, clock_bound_s=max(found, default=None))
        for host, found in zip(hosts, bounds_s, strict=True)
    ]


def hosts_counted(hosts: int) -> str:
    """``1 host``, ``2 hosts``"""
    return f"{hosts} host{'' if hosts == 1 else 's'}"


def load_hosts_words(hosts: Sequence[LoadHost], server: Machine) -> str:
    """``load from 2 hosts (AMD EPYC, 2 cores), clocks known within 0.04 ms``; empty where clients ran beside the server.

    A host that is the server's own machine, by its boot, is said to be that.
    """
    if not hosts:
        return ""
    kinds = dict.fromkeys(
        "on the server's own machine"
        if same_machine(host.machine, server)
        else processor_and_cores(host.machine)
        for host in hosts
    )
    known = [host.clock_bound_s for host in hosts if host.clock_bound_s is not None]
    clocks = f", clocks known within {max(known) * 1e3:.2g} ms" if known else ""
    return f"load from {hosts_counted(len(hosts))} ({'; '.join(kinds)}){clocks}"
