"""One module for each protocol; what connects to an endpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from gap_python.answer import Connection
from gap_python.decode import choose, decode, refused
from gap_python.workload import Kind


@dataclass(frozen=True)
class Demand:
    """What the load asks of an endpoint."""

    workload: str
    kinds: Mapping[str, Kind]
    refusals: tuple[str, ...]
    in_flight: int


def protocol_names() -> list[str]:
    """A module that is put here is known."""
    return [module.name for module in iter_modules(__path__)]


def connector(endpoint: Mapping[str, Any], demand: Demand) -> Callable[[], Connection]:
    """What makes connections that are not open yet; raises ClientError.

    Each module has its ``connector``, for an endpoint without ``protocol``. Only the libraries of the protocol that
    is asked for are loaded.
    """
    rest = dict(endpoint)
    given = decode(rest.pop("protocol", None), str, "endpoint.protocol")
    name = choose("endpoint.protocol", given, protocol_names())
    module = import_module(f"{__name__}.{name}")
    create: Callable[[], Connection] = module.connector(rest, demand)
    return create


def names_by_kind(
    demand: Demand, one: tuple[str, str | None], many: tuple[str, Mapping[str, str] | None]
) -> dict[str, str]:
    """What each kind is called by: ``many`` names them by kind, ``one`` is short for it where there is one kind,
    and by default each has its own name. Both are a key of the endpoint and its value; raises ClientError.
    """
    (one_key, one_name), (many_key, names) = one, many
    if one_name is not None:
        if names is not None or len(demand.kinds) > 1:
            raise refused(f"endpoint.{one_key}", one_name, f"{many_key}, by kind,")
        return dict.fromkeys(demand.kinds, one_name)
    for kind in names or {}:
        choose(f"endpoint.{many_key}", kind, demand.kinds)
    return {kind: (names or {}).get(kind, kind) for kind in demand.kinds}
