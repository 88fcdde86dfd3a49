"""The hosts from which a run's load came, as it is recorded and as it is said."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from gapbook.record.machine import Machine, processor_and_cores
from gapbook.record.schema import LoadHost

__all__ = ["load_hosts_words", "with_clock_bounds"]


def with_clock_bounds(hosts: Sequence[LoadHost], rows: Iterable[Mapping[str, Any]]) -> list[LoadHost]:
    """The hosts with the worst bound of their clocks that a trial had, by the rows of a run."""
    bounds_s: list[list[float]] = [[] for _ in hosts]
    for row in rows:
        stored = row.get("from_hosts") or []
        parts = json.loads(stored) if isinstance(stored, str) else stored
        for found, part in zip(bounds_s, parts, strict=False):
            found.append(part["clock_bound_s"])
    return [
        msgspec.structs.replace(host, clock_bound_s=max(found, default=None))
        for host, found in zip(hosts, bounds_s, strict=True)
    ]


def load_hosts_words(hosts: Sequence[LoadHost], server: Machine) -> str:
    """``load from 2 hosts (AMD EPYC, 2 cores), clocks known within 0.04 ms``; empty where clients ran beside the server.

    A host that is the server's own machine, by its boot, is said to be that.
    """
    if not hosts:
        return ""
    own = [
        server.boot_sha256 is not None and host.machine.boot_sha256 == server.boot_sha256 for host in hosts
    ]
    kinds = dict.fromkeys(
        "on the server's own machine" if is_own else processor_and_cores(host.machine)
        for host, is_own in zip(hosts, own, strict=True)
    )
    count = f"{len(hosts)} host{'' if len(hosts) == 1 else 's'}"
    known = [host.clock_bound_s for host in hosts if host.clock_bound_s is not None]
    clocks = f", clocks known within {max(known) * 1e3:.2g} ms" if known else ""
    return f"load from {count} ({'; '.join(kinds)}){clocks}"
