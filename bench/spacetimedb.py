"""The Rust SpacetimeDB client against a minimal one on the official SDK of the same version."""

from __future__ import annotations

import json
import subprocess

from bench.load import ACCOUNTS, configuration, our_load
from bench.pairs import Load, Ratio, alternate
from gapbook.deployment import Deployment
from gapbook.paths import CHECKOUT, cache_directory, hash_files
from gapbook.setup import CARGO_HINT
from gapbook.stacks import Durability, StackContext, stack_class
from gapbook.toolchain import require_tool, run_step

__all__ = ["ratios"]

_PEER = CHECKOUT / "bench" / "rust" / "sdk-peer"
_CASES = ((50, 1), (50, 64))
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
