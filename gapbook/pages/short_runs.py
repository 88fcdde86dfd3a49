"""Short live runs that explain a number which surprised (``bench/explain.py``), as text for the prose.

They lie under ``results/short/NAME``. They explain: no verdict rests on them, and no run of a chapter is pooled with
them.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import polars as pl

from gapbook.errors import RecordError
from gapbook.method.estimate import geometric_interval, ratio_interval
from gapbook.method.findings import Findings
from gapbook.method.interval import Interval, format_count, format_factor
from gapbook.pages.words import NOT_MEASURED
from gapbook.paths import CHECKOUT
from gapbook.record.run import MANIFEST, load_run

__all__ = [
    "copies_after_reindex",
    "cores_for",
    "cpu_group_facts",
    "fewer_connection_facts",
    "load_host_facts",
    "log_line_facts",
    "more_in_flight_facts",
    "published_connection_facts",
    "same_transaction_facts",
    "short_runs",
    "waiting_batch_facts",
]

_SHORT = CHECKOUT / "results" / "short"


def short_runs(name: str) -> list[Findings]:
    """Its runs, the one that began first before the others; raises RecordError where there is none."""
    folders = [manifest.parent for manifest in (_SHORT / name).glob(f"*/{MANIFEST}")]
    if not folders:
        raise RecordError(f"results/short/{name}: it holds no run")
    runs = sorted((load_run(folder) for folder in folders), key=lambda run: run.manifest.started_unix_s)
    return [Findings(run, run.manifest.chapter) for run in runs]


def cpu_group_facts() -> dict[str, str]:
    """What a control group of its own, as a container has one, makes of a server that is a process all the same."""
    (found,) = short_runs("own-cpu-group")
    (treatment,) = found.treatments
    told = {"group_blocks": str(found.blocks), "group_run": found.run.run_id}
    for depth, key in (("", "group"), ("-deep", "group_deep")):
        told[f"{key}_ratio"] = _ratio([found], f"group{depth}", f"beside{depth}").as_factor()
        for place in ("beside", "group"):
            told[f"{key}_{place}_us"] = _client_us(found, f"{place}{depth}", treatment)
    return told


def log_line_facts() -> dict[str, str]:
    """What errors alone in its log make of a server, and what an operation takes of the processors."""
    (found,) = short_runs("k6-log-lines")
    (treatment,) = found.treatments
    return {
        "log_ratio": _ratio([found], "errors", "default").as_factor(),
        "log_blocks": str(found.blocks),
        "log_run": found.run.run_id,
        "k6_us": _client_us(found, "default", treatment),
        "server_us": _us(found, "default", treatment, "server-cpu"),
    }


def cores_for(rate_per_s: float) -> str:
    """How many of our processors a rate would keep busy, with k6 and server as in that short run."""
    (found,) = short_runs("k6-log-lines")
    (treatment,) = found.treatments
    spent_us = sum(
        statistics.median(found.trial_values("default", treatment, metric))
        for metric in ("server-cpu", "client-cpu")
    )
    return format_count(rate_per_s * spent_us / 1e6)


def same_transaction_facts() -> dict[str, str]:
    """What lies between the client in TypeScript that runs the Drizzle transaction itself and one that has it run by a
    server, with two copies of the transaction and with one file."""
    told = {}
    for when in ("before", "after"):
        found = short_runs(f"same-transaction-{when}")
        told[f"postgres_{when}"] = _ratio(found, "postgres-direct", "postgres-rpc").as_factor()
        told[f"sqlite_{when}"] = _ratio(found, "sqlite-in-process", "sqlite-rpc").as_factor()
    return told


def waiting_batch_facts() -> dict[str, str]:
    """What batches are worth to Postgres where each commit is on disk and most transfers want one account, and what they
    leave of the lead of SpacetimeDB with as many requests in flight."""
    (found,) = runs = short_runs("waiting-batches")
    busy = found.treatments[-1]
    pairs = {
        "gain": ("batched", "pipelined"),
        "led": ("spacetimedb", "batched"),
        "led_pipelined": ("spacetimedb", "pipelined"),
    }
    told = {f"batches_{name}": _ratio(runs, *pair, at=busy) for name, pair in pairs.items()}
    return {
        **{name: ratio.as_factor() for name, ratio in told.items()},
        **{f"{name}_alone": format_factor(ratio.estimate) for name, ratio in told.items()},
        "batches_size": str(_in_flight(found, "batched")),
        "batches_run": found.run.run_id,
    }


def fewer_connection_facts() -> dict[str, str]:
    """What fewer connections are worth to pipelined Postgres where most transfers want one account, and what they leave
    of the lead of SpacetimeDB over the connections that serve it best: where nobody waits for the disk, and where both do."""
    (found,) = short_runs("fewer-connections")
    few, many = found.treatments[0], found.treatments[-1]
    told = {"fewer_few": f"{few:g}", "fewer_many": f"{many:g}", "fewer_run": found.run.run_id}
    for promise, key in (("", ""), ("-waits", "_waits")):
        postgres, spacetimedb = f"postgres{promise}", f"spacetimedb{promise}"
        pairs = {
            "gain": ((postgres, few), (postgres, many)),
            "led": ((spacetimedb, many), (postgres, many)),
            "led_best": ((spacetimedb, many), (postgres, few)),
        }
        for name, (over, under) in pairs.items():
            ratio = ratio_interval(found.values(*over), found.values(*under))
            told[f"fewer_{name}{key}"] = ratio.as_factor() if ratio else NOT_MEASURED
            told[f"fewer_{name}{key}_alone"] = format_factor(ratio.estimate) if ratio else NOT_MEASURED
    return told


def more_in_flight_facts() -> dict[str, str]:
    """What the most requests in flight on each connection are worth to each version of SpacetimeDB, against the fewest."""
    (found,) = runs = short_runs("more-in-flight")
    by_version: dict[str, list[tuple[int, str]]] = {}
    for one in found.scenario.contestants:
        by_version.setdefault(one.version or "", []).append((one.in_flight, one.name))
    told = {"more_run": found.run.run_id}
    for key, (_, ways) in zip(("then", "today"), sorted(by_version.items()), strict=True):
        (fewest, few), (most, many) = min(ways), max(ways)
        told |= {
            f"more_{key}": _ratio(runs, many, few).as_factor(),
            "more_least": f"{fewest:,}",
            "more_most": f"{most:,}",
        }
    return told


def published_connection_facts() -> dict[str, str]:
    """What fewer connections, as published, make of the rate of each setup against those of this book: how many setups,
    and the least and the greatest ratio with their intervals."""
    (found,) = short_runs("published-connections")
    published, ours = found.treatments
    changed = (
        ratio_interval(found.values(one.name, published), found.values(one.name, ours))
        for one in found.scenario.contestants
    )
    ordered = sorted(filter(None, changed), key=lambda ratio: ratio.estimate)
    return {
        "connections_published": f"{published:g}",
        "connections_ours": f"{ours:g}",
        "connections_setups": str(len(ordered)),
        "connections_least": ordered[0].as_factor(),
        "connections_greatest": ordered[-1].as_factor(),
        "connections_run": found.run.run_id,
    }


def load_host_facts() -> dict[str, str]:
    """Of *both optimised* with its load from other hosts: how many, how well their clocks were known, how many trials
    count, and by how much SpacetimeDB leads under contention, both pipelined."""
    (found,) = runs = short_runs("two-load-hosts")
    trials, hosts = found.run.trials, found.run.manifest.load_hosts
    busy = found.treatments[-1]
    return {
        "hosts": str(len(hosts)),
        "hosts_clock_ms": format_count(1e3 * max(host.clock_bound_s or 0 for host in hosts)),
        "hosts_trials": str(trials.height),
        "hosts_counted": str(trials.filter(valid=True).height),
        "hosts_lead": _ratio(runs, "spacetimedb-2-rust-deep", "postgres-rust-deep", at=busy).as_factor(),
        "hosts_lead_waits": _ratio(
            runs, "spacetimedb-2-waits-deep", "postgres-waits-deep", at=busy
        ).as_factor(),
        "hosts_blocks": str(found.blocks),
        "hosts_run": found.run.run_id,
    }


def copies_after_reindex() -> dict[str, str]:
    """Of copies that failed SQLite's integrity check: how many passed it after REINDEX, and which rows they lacked.

    Trials beside other work count too: a copy holds a row or lacks it, however busy the machine was.
    """
    (found,) = short_runs("reindexed")
    told = found.run.metrics.group_by("name").agg(pl.col("value").sum(), pl.len())
    values = {name: (int(value), int(trials)) for name, value, trials in told.iter_rows()}
    failed, trials = values["copies unusable"]
    mended, lost = (
        values.get(name, (0, 0))[0] for name in ("copies sound after REINDEX", "rows lost after REINDEX")
    )
    return {
        "reindex_trials": str(trials),
        "reindex_failed": str(failed),
        "reindex_mended": "all" if mended == failed else f"{mended} of {failed}",
        "reindex_lost": f"{lost:,} rows" if lost else "no row",
        "reindex_run": found.run.run_id,
        "reindex_processor": found.run.manifest.machine.processor,
    }


def _ratio(runs: Sequence[Findings], over: str, under: str, *, at: float | None = None) -> Interval:
    """The ratio of two contestants over the blocks of all these runs, at one value of their treatment: the first."""
    by_block = [
        value
        for found in runs
        for value in found.ratio_by_block(over, under, found.treatments[0] if at is None else at).values()
    ]
    return geometric_interval(by_block)


def _in_flight(found: Findings, name: str) -> int:
    return next(one.in_flight for one in found.scenario.contestants if one.name == name)


def _client_us(found: Findings, contestant: str, treatment: float) -> str:
    return _us(found, contestant, treatment, "client-cpu")


def _us(found: Findings, contestant: str, treatment: float, metric: str) -> str:
    """The median over valid trials of what an operation takes of the processors, in microseconds."""
    return format_count(statistics.median(found.trial_values(contestant, treatment, metric)))
