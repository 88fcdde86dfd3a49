"""The Rust SpacetimeDB client against a minimal one on the official SDK of 1.2.0, and against the vendor's own load.

The vendor's load speaks the protocol of 2.x only: its pairs run on the server that ``BENCH_SPACETIMEDB`` names (the
path of a spacetimedb-standalone of 2.x), with and without confirmed reads.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from bench.keynote import CHECKOUT_VARIABLE, checkout, keynote_load
from bench.load import ACCOUNTS, configuration, our_load
from bench.pairs import Load, Ratio, alternate
from gapbook.deployment import Deployment
from gapbook.paths import CHECKOUT, cache_directory, hash_files
from gapbook.setup import CARGO_HINT
from gapbook.stacks import Durability, ServerChoice, Stack, StackContext, stack_class
from gapbook.toolchain import require_tool, run_step

__all__ = ["ratios"]

_PEER = CHECKOUT / "bench" / "rust" / "sdk-peer"
_CASES = ((50, 1), (50, 64))
_VENDOR_CASES = ((50, 1), (50, 40))
_SERVER_VARIABLE = "BENCH_SPACETIMEDB"
_TIMEOUT_S = 60.0


def _built_peer() -> str:
    sources = [*_PEER.rglob("*.rs"), _PEER / "Cargo.toml", _PEER / "Cargo.lock"]
    target = cache_directory() / "bench" / hash_files(sources, _PEER)[:16]
    run_step(
        "SDK peer",
        [require_tool("cargo", CARGO_HINT), "build", "--release", "--locked"],
        expected_s=240,
        environment={"CARGO_TARGET_DIR": str(target)},
        working_directory=_PEER,
    )
    return str(target / "release" / "sdk-peer")


def ratios(deployment: Deployment, pairs: int) -> list[Ratio]:
    return [*_against_keynote(deployment, pairs), *_against_sdk(deployment, pairs)]


def _against_keynote(deployment: Deployment, pairs: int) -> list[Ratio]:
    folder, binary = checkout(), os.environ.get(_SERVER_VARIABLE)
    if folder is None or binary is None:
        print(
            "SpacetimeDB client ÷ vendor's TypeScript load: not run: name a prepared checkout of "
            f"templates/keynote-2 by {CHECKOUT_VARIABLE} and a 2.x server by {_SERVER_VARIABLE}"
        )
        return []
    found = []
    for durability in (Durability("delayed", 500.0), Durability("fsync-per-commit")):
        choice = ServerChoice(binary=Path(binary))
        stack = stack_class("spacetimedb")(StackContext(deployment, durability, choice))
        stack.start()

        def ours(connections: int, in_flight: int, stack: Stack = stack) -> Load:
            stack.seed(ACCOUNTS, 10_000_000)
            return our_load(
                deployment, "rust", stack.endpoint(), connections=connections, in_flight=in_flight
            )

        def theirs(connections: int, in_flight: int, stack: Stack = stack, folder: Path = folder) -> Load:
            stack.seed(ACCOUNTS, 10_000_000)
            return keynote_load(folder, stack.endpoint(), connections=connections, in_flight=in_flight)

        for connections, in_flight in _VENDOR_CASES:
            found += alternate(
                f"SpacetimeDB client ÷ vendor's TypeScript, {connections} × {in_flight}, {durability.kind}",
                lambda c=connections, d=in_flight: ours(c, d),  # type: ignore[misc]
                lambda c=connections, d=in_flight: theirs(c, d),  # type: ignore[misc]
                pairs=pairs,
                goodput_bar=">= 1.0",
                cpu_bar="<= 0.3",
            )
        stack.stop()
    return found


def _against_sdk(deployment: Deployment, pairs: int) -> list[Ratio]:
    peer = _built_peer()
    stack = stack_class("spacetimedb")(StackContext(deployment, Durability("delayed", 500.0)))
    stack.start()

    def ours(connections: int, in_flight: int) -> Load:
        stack.seed(ACCOUNTS, 10_000_000)
        return our_load(deployment, "rust", stack.endpoint(), connections=connections, in_flight=in_flight)

    def theirs(connections: int, in_flight: int) -> Load:
        stack.seed(ACCOUNTS, 10_000_000)
        given = configuration(deployment, stack.endpoint(), connections=connections, in_flight=in_flight)
        done = subprocess.run(
            [peer], input=json.dumps(given), capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
        )
        if done.returncode != 0:
            raise RuntimeError(f"sdk-peer: ended with code {done.returncode}: {done.stderr.strip()[-300:]}")
        report = json.loads(done.stdout.strip().splitlines()[-1])
        return Load(report["goodput_per_s"], report["cpu_per_call_s"] * 1e6)

    found = []
    for connections, in_flight in _CASES:
        found += alternate(
            f"SpacetimeDB client ÷ official SDK, {connections} connections, {in_flight} in flight",
            lambda c=connections, d=in_flight: ours(c, d),  # type: ignore[misc]
            lambda c=connections, d=in_flight: theirs(c, d),  # type: ignore[misc]
            pairs=pairs,
            goodput_bar="",
            cpu_bar="<= 0.5",
        )
    stack.stop()
    return found
