"""Short live runs that explain a number which surprised: ``python -m bench.explain NAME``.

A run is kept under ``runs/NAME``. One that a page tells of lies under ``results/short/NAME``: it explains, and no
verdict rests on it, nor is it pooled with the published runs of a chapter.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping

from gapbook.errors import GapbookError
from gapbook.model.work import EXPONENT
from gapbook.record.durability import Durability
from gapbook.record.scenario import CONNECTIONS
from gapbook.streams import speak_in_what_streams_know
from gapbook.trial.campaign import measurement_of
from gapbook.trial.contestant import Contestant
from gapbook.trial.scenario import Scenario, WorkloadSettings
from gapbook.trial.servers import parse_choices
from gapbook.trial.treatment import Treatment

_BLOCKS = 8
_DELAYED = Durability.parse("delayed(500 ms)")


def _k6_log_lines() -> Scenario:
    """SpacetimeDB loaded with k6 over HTTP, with the log level of its vendor and with errors alone."""

    def called(name: str, access: str) -> Contestant:
        return Contestant(
            name, "spacetimedb", access, "http-anonymous", "k6", 1, workload="counter-and-messages"
        )

    return Scenario(
        chapter="k6-log-lines",
        contestants=(called("default", "reducer-scan"), called("errors", "reducer-scan-quiet")),
        workload=WorkloadSettings("counter-and-messages"),
        treatment=Treatment.of(CONNECTIONS, "counter-and-messages", [50]),
        connections=50,
        window_s=3.0,
        warmup_s=2.0,
        durability=_DELAYED,
        seed=1501,
    )


def _own_cpu_group() -> Scenario:
    """One and the same Postgres, pipelined, as a process beside its client and in a control group of its own, as a
    container has one. Needs ``--servers postgres=PROGRAM``, where PROGRAM is bench/own_cpu_group.sh."""

    def placed(name: str, in_flight: int, environment: Mapping[str, str]) -> Contestant:
        return Contestant(name, "postgres", "procedure", "direct", "rust", in_flight, environment=environment)

    group = {"CPU_GROUP": "/sys/fs/cgroup/cpu/gapbook-explain"}
    beside = {"CPU_GROUP": ""}
    return Scenario(
        chapter="own-cpu-group",
        contestants=(
            placed("beside-deep", 64, beside),
            placed("group-deep", 64, group),
            placed("beside", 1, beside),
            placed("group", 1, group),
        ),
        workload=WorkloadSettings("transfer"),
        treatment=Treatment.of(EXPONENT, "transfer", [0.5]),
        connections=64,
        window_s=2.0,
        warmup_s=2.0,
        durability=_DELAYED,
        seed=1401,
    )


def _same_transaction() -> Scenario:
    """The Drizzle transaction of the client in TypeScript, and that of the server before it."""

    def called(name: str, system: str, tier: str) -> Contestant:
        return Contestant(name, system, "drizzle", tier, "typescript", 1)

    return Scenario(
        chapter="same-transaction",
        contestants=(
            called("postgres-direct", "postgres", "direct"),
            called("postgres-rpc", "postgres", "rpc"),
            called("sqlite-in-process", "sqlite", "in-process"),
            called("sqlite-rpc", "sqlite", "rpc"),
        ),
        workload=WorkloadSettings("transfer"),
        treatment=Treatment.of(EXPONENT, "transfer", [0.5]),
        connections=64,
        window_s=2.0,
        warmup_s=2.0,
        durability=Durability.parse("none"),
        seed=201,
    )


def _reindexed() -> Scenario:
    """Litestream killed under load and started again: what REINDEX makes of the copies that fail their check."""
    killed = Contestant(
        "litestream-5-killed",
        "litestream",
        "sql-restarted",
        "in-process",
        "rust",
        1,
        workload="counter-and-messages",
        version="0.5.17",
        rate_per_s=100.0,
    )
    return Scenario(
        chapter="reindexed",
        contestants=(killed,),
        workload=WorkloadSettings(
            "counter-and-messages", {"counters": 1, "increment_share": 0.0, "message_bytes": 512}
        ),
        treatment=Treatment.of("databases", "counter-and-messages", [1]),
        connections=1,
        window_s=9.0,
        warmup_s=1.0,
        durability=Durability.parse("none"),
        seed=1201,
    )


def _waiting_batches() -> Scenario:
    """The stored procedure in Postgres, each commit on disk: one transfer a commit, pipelined or not, and many transfers
    a commit; and SpacetimeDB with as many in flight."""

    def called(name: str, access: str, in_flight: int) -> Contestant:
        return Contestant(name, "postgres", access, "direct", "rust", in_flight)

    return Scenario(
        chapter="waiting-batches",
        contestants=(
            called("single", "procedure", 1),
            called("pipelined", "procedure", 64),
            called("batched", "batch", 64),
            Contestant("spacetimedb", "spacetimedb", "reducer", "direct", "rust", 64, version="2.8.3"),
        ),
        workload=WorkloadSettings(
            "transfer", {"accounts": 100_000, "amount_max": 1, "redraw": "destination"}
        ),
        treatment=Treatment.of(EXPONENT, "transfer", [0.5, 1.5]),
        connections=64,
        window_s=2.0,
        warmup_s=3.0,
        durability=Durability.parse("fsync-per-commit"),
        seed=4432,
    )


def _fewer_connections() -> Scenario:
    """The stored procedure in Postgres and SpacetimeDB, both pipelined, under contention: is it the number of
    connections that holds Postgres back?"""

    def called(
        name: str, system: str, access: str, durability: str, version: str | None = None
    ) -> Contestant:
        return Contestant(name, system, access, "direct", "rust", 40, version=version, durability=durability)

    waits, later = "fsync-per-commit", "delayed"
    return Scenario(
        chapter="fewer-connections",
        contestants=(
            called("postgres", "postgres", "procedure", later),
            called("postgres-waits", "postgres", "procedure", waits),
            called("spacetimedb", "spacetimedb", "reducer", later, "2.8.3"),
            called("spacetimedb-waits", "spacetimedb", "reducer", waits, "2.8.3"),
        ),
        workload=WorkloadSettings(
            "transfer", {"accounts": 100_000, "alpha": 1.5, "amount_max": 1, "redraw": "destination"}
        ),
        treatment=Treatment.of(CONNECTIONS, "transfer", [4, 16, 64]),
        connections=64,
        window_s=2.0,
        warmup_s=3.0,
        durability=Durability.parse("delayed"),
        seed=4433,
        varies=("durability",),
    )


def _more_in_flight() -> Scenario:
    """SpacetimeDB with few transfers that want the same account: does it commit more with more requests in flight?"""
    depths = (40, 256, 1024)
    return Scenario(
        chapter="more-in-flight",
        contestants=tuple(
            Contestant(
                f"{version}-{depth}", "spacetimedb", "reducer", "direct", "rust", depth, version=version
            )
            for version in ("2.0.1", "2.8.3")
            for depth in depths
        ),
        workload=WorkloadSettings(
            "transfer", {"accounts": 100_000, "amount_max": 1, "redraw": "destination"}
        ),
        treatment=Treatment.of(EXPONENT, "transfer", [0.5]),
        connections=64,
        window_s=4.0,
        warmup_s=5.0,
        durability=Durability.parse("delayed"),
        seed=4434,
    )


def _published_connections() -> Scenario:
    """The setups of pull request #4432 with its 50 connections and with the 64 of this book, and the pipelined ones with the
    depth of this book and with 64 in flight: how much of a published ratio is the number of connections, and the depth?"""

    def called(
        name: str, system: str, access: str, in_flight: int, *, tier: str = "direct", client: str = "rust"
    ) -> Iterator[Contestant]:
        version = "2.0.1" if system == "spacetimedb" else None
        for alpha in (0.5, 1.5):
            yield Contestant(
                f"{name}-{alpha:g}".replace(".", "-"),
                system,
                access,
                tier,
                client,
                in_flight,
                version=version,
                parameters={"alpha": alpha},
            )

    return Scenario(
        chapter="published-connections",
        contestants=(
            *called("drizzle-http", "postgres", "drizzle", 1, tier="rpc", client="typescript"),
            *called("postgres-40", "postgres", "procedure", 40),
            *called("postgres-64", "postgres", "procedure", 64),
            *called("spacetimedb-40", "spacetimedb", "reducer", 40),
            *called("spacetimedb-64", "spacetimedb", "reducer", 64),
        ),
        workload=WorkloadSettings(
            "transfer", {"accounts": 100_000, "amount_max": 1, "redraw": "destination"}
        ),
        treatment=Treatment.of(CONNECTIONS, "transfer", [50, 64]),
        connections=64,
        window_s=2.0,
        warmup_s=3.0,
        durability=Durability.parse("delayed"),
        seed=4435,
    )


_SHORT: Mapping[str, Callable[[], Scenario]] = {
    "k6-log-lines": _k6_log_lines,
    "own-cpu-group": _own_cpu_group,
    "same-transaction": _same_transaction,
    "reindexed": _reindexed,
    "waiting-batches": _waiting_batches,
    "fewer-connections": _fewer_connections,
    "more-in-flight": _more_in_flight,
    "published-connections": _published_connections,
}


def main() -> int:
    speak_in_what_streams_know()
    parser = argparse.ArgumentParser(prog="python -m bench.explain", description=__doc__)
    parser.add_argument("name", choices=list(_SHORT))
    parser.add_argument("--servers", default="", help="as the parameter of a chapter")
    parser.add_argument("--blocks", type=int, default=_BLOCKS)
    parser.add_argument(
        "--attempts", type=int, default=2, help="1 waits for nobody on a machine that is busy"
    )
    asked = parser.parse_args()
    try:
        run = measurement_of(
            _SHORT[asked.name](),
            blocks=asked.blocks,
            attempts=asked.attempts,
            choices=parse_choices(asked.servers),
        ).run("live")
    except GapbookError as error:
        print(f"bench.explain: {error}", file=sys.stderr)
        return 2
    print(run.folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
