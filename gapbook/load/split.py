"""One load split over hosts: each has connections of its own, which draw what they would draw on one host."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from gapbook.errors import ParameterError
from gapbook.load.configuration import LoadConfiguration

__all__ = ["share_sizes", "split"]


def share_sizes(connections: int, hosts: int) -> list[int]:
    """How many connections each host has: as equal as they can be. Raises ParameterError for fewer than hosts."""
    if connections < hosts:
        raise ParameterError(
            f"connections: {connections} cannot be split over {hosts} load hosts; allowed: one for each at least"
        )
    least, more = divmod(connections, hosts)
    return [least + (host < more) for host in range(hosts)]


def split(whole: LoadConfiguration, hosts: int) -> Sequence[LoadConfiguration]:
    """What the client of each host is told, in the order of their connections.

    An operation is a function of seed, connection and index: so the shares together do the work of the whole.
    Raises ParameterError for what cannot be split: fewer connections than hosts, an open loop, flaws.
    """
    if whole["loop"]["kind"] != "closed":
        raise ParameterError(
            "rate_per_s: an open loop cannot be split over load hosts; allowed: a closed one"
        )
    if whole.get("flaws"):
        raise ParameterError("flaws: they cannot be counted over load hosts; allowed: none")
    sizes = share_sizes(whole["connections"], hosts)
    first = whole.get("first_connection", 0)
    starts = accumulate(sizes[:-1], initial=first)
    return [
        {**whole, "connections": size, "first_connection": start}
        for size, start in zip(sizes, starts, strict=True)
    ]
