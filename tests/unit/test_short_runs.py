"""Short runs explain a number: they say what the pages tell of them, and nobody takes them for runs of a chapter."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gapbook.errors import RecordError
from gapbook.method.estimate import geometric_interval
from gapbook.pages import short_runs
from gapbook.record.published import published_runs


def test_a_control_group_of_its_own_is_told_from_its_trials() -> None:
    (found,) = short_runs.short_runs("own-cpu-group")
    rates = {
        name: dict(
            found.run.trials.filter(valid=True, contestant=name).select("block", "goodput_per_s").iter_rows()
        )
        for name in ("group-deep", "beside-deep")
    }
    both = sorted(rates["group-deep"].keys() & rates["beside-deep"].keys())
    ratio = geometric_interval([rates["group-deep"][block] / rates["beside-deep"][block] for block in both])
    told = short_runs.cpu_group_facts()
    assert told["group_deep_ratio"] == ratio.as_factor()
    assert float(told["group_deep_group_us"]) > 5 * float(told["group_deep_beside_us"])


def test_batches_that_wait_are_told_from_their_trials_under_contention() -> None:
    (found,) = short_runs.short_runs("waiting-batches")
    rates = {
        name: dict(
            found.run.trials.filter(valid=True, contestant=name, treatment=1.5)
            .select("block", "goodput_per_s")
            .iter_rows()
        )
        for name in ("spacetimedb", "batched")
    }
    both = sorted(rates["spacetimedb"].keys() & rates["batched"].keys())
    ratio = geometric_interval([rates["spacetimedb"][block] / rates["batched"][block] for block in both])
    assert len(both) == found.blocks
    assert short_runs.waiting_batch_facts()["batches_led"] == ratio.as_factor()
    assert found.scenario.durability == "fsync-per-commit"


def test_fewer_connections_are_told_from_their_trials() -> None:
    (found,) = short_runs.short_runs("fewer-connections")

    def rates(name: str, connections: float) -> dict[int, float]:
        chosen = found.run.trials.filter(valid=True, contestant=name, treatment=connections)
        return dict(chosen.select("block", "goodput_per_s").iter_rows())

    few, many = found.treatments[0], found.treatments[-1]
    for promise, key in (("", ""), ("-waits", "_waits")):
        theirs, ours = rates(f"spacetimedb{promise}", many), rates(f"postgres{promise}", few)
        both = sorted(theirs.keys() & ours.keys())
        ratio = geometric_interval([theirs[block] / ours[block] for block in both])
        assert len(both) >= 3
        assert short_runs.fewer_connection_facts()[f"fewer_led_best{key}"] == ratio.as_factor()
    assert few < many
    assert found.scenario.workload.parameters["alpha"] == 1.5


def test_more_requests_in_flight_are_told_from_their_trials() -> None:
    (found,) = short_runs.short_runs("more-in-flight")
    valid = found.run.trials.filter(valid=True).select("block", "contestant", "goodput_per_s")
    rates = {(block, name): rate for block, name, rate in valid.iter_rows()}
    for version, key in (("2.0.1", "then"), ("2.8.3", "today")):
        blocks = [
            block
            for block in range(found.blocks)
            if {(block, f"{version}-{n}") for n in (40, 1024)} <= rates.keys()
        ]
        ratio = geometric_interval(
            [rates[block, f"{version}-1024"] / rates[block, f"{version}-40"] for block in blocks]
        )
        assert len(blocks) >= 3
        told = short_runs.more_in_flight_facts()
        assert told[f"more_{key}"] == ratio.as_factor()
        assert (told["more_least"], told["more_most"]) == ("40", "1,024")


def test_published_connections_are_told_from_their_trials() -> None:
    (found,) = short_runs.short_runs("published-connections")
    valid = found.run.trials.filter(valid=True).select("block", "contestant", "treatment", "goodput_per_s")
    rates = {(block, name, connections): rate for block, name, connections, rate in valid.iter_rows()}
    published, ours = found.treatments
    ratios = []
    for name in {name for _, name, _ in rates}:
        both = [
            rates[block, name, published] / rates[block, name, ours]
            for block in range(found.blocks)
            if {(block, name, published), (block, name, ours)} <= rates.keys()
        ]
        assert len(both) >= 3
        ratios.append(geometric_interval(both))
    told = short_runs.published_connection_facts()
    assert told["connections_least"] == min(ratios, key=lambda one: one.estimate).as_factor()
    assert told["connections_greatest"] == max(ratios, key=lambda one: one.estimate).as_factor()
    # Three pages say that they moved no rate that we could tell.
    assert all(one.low <= 1 <= one.high for one in ratios)
    assert (told["connections_published"], told["connections_ours"]) == ("50", "64")


def test_load_of_two_hosts_is_told_from_its_trials() -> None:
    (found,) = short_runs.short_runs("two-load-hosts")
    valid = found.run.trials.filter(valid=True, treatment=1.5).select(
        "block", "contestant", "goodput_per_s", "from_hosts"
    )
    rates = {(block, name): rate for block, name, rate, _ in valid.iter_rows()}
    ratio = geometric_interval(
        [
            rates[block, "spacetimedb-2-rust-deep"] / rates[block, "postgres-rust-deep"]
            for block in range(found.blocks)
        ]
    )
    told = short_runs.load_host_facts()
    assert told["hosts_lead"] == ratio.as_factor()
    assert told["hosts"] == "2"
    # Each host made its half of the connections.
    assert all(
        [part["connections"] for part in json.loads(parts)] == [32, 32] for *_, parts in valid.iter_rows()
    )


def test_every_short_run_is_told_and_none_counts_as_published() -> None:
    told = (
        short_runs.log_line_facts()
        | short_runs.same_transaction_facts()
        | short_runs.copies_after_reindex()
        | short_runs.waiting_batch_facts()
        | short_runs.fewer_connection_facts()
        | short_runs.more_in_flight_facts()
        | short_runs.published_connection_facts()
        | short_runs.load_host_facts()
    )
    assert all(told.values())
    folders = [path for path in short_runs._SHORT.glob("*/*") if path.is_dir()]
    assert len(folders) >= 9
    assert not {path.name for path in folders} & {run.run_id for run in published_runs()}


def test_a_short_run_that_is_missing_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short_runs, "_SHORT", tmp_path)
    with pytest.raises(RecordError, match=r"^results/short/reindexed: it holds no run$"):
        short_runs.copies_after_reindex()
