"""The Rust SpacetimeDB client against minimal ones on the official SDKs, and against the vendor's own load.

The SDK of 1.2.0 meets the server that we compile. The SDK of 2.8.3 and the vendor's load meet a 2.x server, with
and without confirmed reads: the program that ``BENCH_SPACETIMEDB`` names, else the one that ``servers=`` would find.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench.keynote import checkout, keynote_load
from bench.load import EndpointLoader, held_against, our_load
from bench.pairs import Bars, Case, NotRun, Ratio, compare
from bench.peers import built_peers, peer_load
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import Stack, StackContext, stack_class
from gapbook.errors import SetupError
from gapbook.record.durability import Durability

__all__ = ["ratios"]

_SERVER_VARIABLE = "BENCH_SPACETIMEDB"
_CASES = (Case(50, 1), Case(50, 40))
_CONFIRMED = {"not confirmed": Durability("delayed"), "confirmed": Durability("fsync-per-commit")}
_VENDOR_BARS = Bars(goodput=">= 1.0", cpu="<= 0.3")
_SDK_BARS = Bars(goodput=None, cpu="<= 0.5")


def ratios(deployment: Deployment, pairs: int) -> Iterator[Ratio | NotRun]:
    peers = built_peers()
    try:
        choice, version = _newer_server()
    except SetupError as error:
        yield NotRun("SpacetimeDB client on a 2.x server", str(error))
    else:
        yield from _against_vendor(deployment, pairs, choice, version)
        for confirmed, durability in _CONFIRMED.items():
            stack = _stack(deployment, durability, choice)
            name = f"SpacetimeDB {version} client ÷ official SDK 2.8.3, {confirmed}"
            sdk = partial(peer_load, deployment, peers / "sdk-peer-2")
            yield from _against(deployment, pairs, stack, name, sdk, _SDK_BARS)
    stack = _stack(deployment, Durability("delayed", 500.0), ServerChoice())
    name = f"SpacetimeDB {stack.own_version()} client ÷ official SDK 1.2.0"
    sdk = partial(peer_load, deployment, peers / "sdk-peer-1")
    yield from _against(deployment, pairs, stack, name, sdk, _SDK_BARS)


def _against_vendor(
    deployment: Deployment, pairs: int, choice: ServerChoice, version: str
) -> Iterator[Ratio | NotRun]:
    try:
        vendor = partial(keynote_load, deployment, checkout())
    except SetupError as error:
        yield NotRun("SpacetimeDB client ÷ vendor's TypeScript load", str(error))
        return
    for confirmed, durability in _CONFIRMED.items():
        stack = _stack(deployment, durability, choice)
        name = f"SpacetimeDB {version} client ÷ vendor's TypeScript, {confirmed}"
        yield from _against(deployment, pairs, stack, name, vendor, _VENDOR_BARS)


def _against(
    deployment: Deployment, pairs: int, stack: Stack, name: str, theirs: EndpointLoader, bars: Bars
) -> Iterator[Ratio]:
    """Our client beside another load on one server, which each run finds fresh."""
    ours = held_against(stack, partial(our_load, deployment, "rust"))
    yield from compare(name, _CASES, ours, held_against(stack, theirs), pairs=pairs, bars=bars)
    stack.stop()


def _stack(deployment: Deployment, durability: Durability, choice: ServerChoice) -> Stack:
    return stack_class("spacetimedb")(StackContext(deployment, durability, choice))


def _newer_server() -> tuple[ServerChoice, str]:
    """A 2.x server and its version; raises SetupError saying how to get one."""
    spacetimedb = stack_class("spacetimedb")
    named = os.environ.get(_SERVER_VARIABLE)
    if not named:
        choice = ServerChoice(version=spacetimedb.native().newer_version)
        return choice, spacetimedb.located(choice).version
    binary = Path(named).expanduser().resolve()
    if not binary.is_file():
        raise SetupError(f"{_SERVER_VARIABLE}={named} is no file; name a spacetimedb-standalone of 2.x")
    version = spacetimedb.locate(ServerChoice(binary=binary)).version
    if not version.startswith("2."):
        raise SetupError(f"{_SERVER_VARIABLE}={named} is {version}; name a spacetimedb-standalone of 2.x")
    return ServerChoice(binary=binary), version
