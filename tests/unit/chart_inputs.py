"""Synthetic inputs of the charts, in the shapes that a run can take."""

from __future__ import annotations

import math
import random
import re

from gapbook.charts import (
    Endpoint,
    Gate,
    LatencySeries,
    LatencyTrial,
    Provenance,
    Step,
)
from gapbook.method.interval import Interval

PROVENANCE = Provenance(
    run="7f3a91c0",
    method="Fund transfer, 100k accounts, 50 connections, one host. 12 randomised complete blocks; t interval.",
    url="gapbook.example/c/14x",
    stamp="SYNTHETIC DATA",
)


def interval(estimate: float, *, spread: float = 0.03, n: int = 12) -> Interval:
    if n == 1:
        return Interval(estimate, math.nan, math.nan, 1)
    return Interval(estimate, estimate * (1 - spread), estimate * (1 + spread), n)


def scatter(value: float, *, n: int = 12, spread: float = 0.05, seed: int = 1) -> tuple[float, ...]:
    draw = random.Random(f"{value}{seed}")
    return tuple(value * math.exp(draw.gauss(0, spread)) for _ in range(n))


FACETS = ("α = 0.5", "α = 1.5")


def gap_steps() -> tuple[Endpoint, list[Step], Endpoint]:
    shares = [
        ("Client", "load generator TS → Rust", "stack", 1.22),
        ("RPC tier", "Node HTTP hop removed", "stack", 1.38),
        ("ORM", "query builder removed", "stack", 1.18),
        ("Round trips", "4 per transaction → 1", "wire", 1.72),
        ("Pipelining", "depth 1 → 40", "wire", 1.95),
        ("Durability", "fsync/commit → every 10 ms", "promise", 1.24),
        ("Contention", "Zipf α 0 → 1.5", "workload", 0.93),
        ("Engine residual", "what no named factor explains", "residual", 1.83),
    ]
    return ladder(shares, start=7_400.0)


def ladder(
    shares: list[tuple[str, str, str, float]], *, start: float
) -> tuple[Endpoint, list[Step], Endpoint]:
    steps = [
        Step(name, detail, family, interval(factor), (factor * 0.8, factor * 1.35), scatter(factor))  # type: ignore[arg-type]
        for name, detail, family, factor in shares
    ]
    stop = start * math.prod(factor for *_, factor in shares)
    return (
        Endpoint("postgres", "Postgres stack", "Node · ORM · 1 in flight", interval(start), scatter(start)),
        steps,
        Endpoint(
            "spacetimedb", "SpacetimeDB stack", "Rust client · 40 in flight", interval(stop), scatter(stop)
        ),
    )


PERCENTILES = tuple(100 - 100 / 10 ** (step / 12) for step in range(2, 61))


def latency_trial(base_ms: float, knee: float, *, operations: int, seed: int) -> LatencyTrial:
    """A flat body and a tail that rises after ``knee`` per cent."""
    draw = random.Random(seed)
    shift, knee_shift = math.exp(draw.gauss(0, 0.05)), math.exp(draw.gauss(0, 0.3))
    grid = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999)
    percentiles = tuple(sorted({*PERCENTILES, *grid}))
    tails = [100 / (100 - percentile) for percentile in percentiles]
    rise = 100 / (100 - knee) * knee_shift
    latency_ms = tuple(base_ms * shift * tail**0.12 * (1 + 12 / (1 + (rise / tail) ** 4)) for tail in tails)
    return LatencyTrial(percentiles, latency_ms, tuple(int(operations / tail) for tail in tails))


def latency_series(*, count: int = 6, n: int = 5) -> list[LatencySeries]:
    shapes = [
        ("postgres", "Postgres", "Node client · Drizzle", 38.0, 99.0, 80_000),
        ("postgres", "Postgres", "Node client · procedure", 6.1, 99.5, 400_000),
        ("postgres", "Postgres", "Rust client · procedure · 1 in flight", 3.3, 99.0, 900_000),
        ("postgres", "Postgres", "Rust client · procedure · 64 in flight", 75.0, 99.5, 2_400_000),
        ("spacetimedb", "SpacetimeDB", "Rust client · 1 in flight", 2.1, 99.8, 1_200_000),
        ("spacetimedb", "SpacetimeDB", "Rust client · 64 in flight", 30.0, 99.9, 6_000_000),
        ("sqlite", "SQLite", "Node client · in process", 6.0, 99.9, 480_000),
    ]
    return [
        LatencySeries(
            system,
            label,
            detail,
            tuple(latency_trial(base, knee, operations=operations, seed=seed) for seed in range(n)),
        )
        for system, label, detail, base, knee, operations in shapes[:count]
    ]


def seven_gates() -> list[Gate]:
    low = tuple(abs(value) for value in scatter(0.6, spread=0.4))
    return [
        Gate("depth", "0.9 %", "limit 5 %", low, 5.0, 12, 12, "refused none"),
        Gate("Client load", "93 %", "limit 80 %", scatter(86.0), 80.0, 3, 12, "refused some"),
        Gate("Counts agree", "0 of 3.1 M", "limit 0", (0.0,) * 12, 0.0, 12, 12, "refused none"),
        Gate("Settings", "40 of 41", "1 not exposed", (1.0,) * 12, None, 0, 12, "refused all"),
        Gate(
            "Steady state",
            "0.6 %",
            "limit 1 %",
            tuple(value / 2 for value in low),
            1.0,
            12,
            12,
            "refused none",
        ),
        Gate("Failures", "0", "limit 0", (0.0,) * 12, 0.0, 12, 12, "refused none"),
        Gate(
            "Quiet machine",
            "2.8 %",
            "limit 5 %",
            tuple(value * 3 for value in low),
            5.0,
            12,
            12,
            "refused none",
        ),
    ]


def dots_of(svg: str) -> list[list[tuple[float, float]]]:
    """The dots of each path that has any, where they lie: each is told from the one before."""
    found = []
    for path in re.findall(r'<path[^>]* d="((?:m-?[\d.]+,-?[\d.]+h0)+)"', svg):
        x = y = 0.0
        dots = []
        for across, down in re.findall(r"m(-?[\d.]+),(-?[\d.]+)h0", path):
            x, y = round(x + float(across), 1), round(y + float(down), 1)
            dots.append((x, y))
        found.append(dots)
    return found
