"""What kills showed of a class: the worst of them, and whether it refutes what was declared."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from gapbook.paths import CHECKOUT
from gapbook.record.losses import KillCheck, ObservedLoss, observed_loss


def kill(lost: int | None, lost_s: float | None, durability: str, oldest_s: float | None = None) -> KillCheck:
    return KillCheck(
        contestant="bank",
        durability=durability,
        resolved=lost is not None,
        verdict="",
        acknowledged=None if lost is None else 10_000,
        lost=lost,
        lost_s=lost_s,
        load_s=3.5,
        recovered_in_s=0.6,
        note=None,
        oldest_lost_s=oldest_s,
    )


def test_the_worst_kill_is_told_and_one_beyond_the_class_refutes_it() -> None:
    rows = [kill(0, 0.0, "delayed(500 ms)"), kill(900, 0.4, "delayed(500 ms)")]
    assert observed_loss(rows, "bank") == ObservedLoss(2, 0.4, 900, refutes_declared=False)
    rows.append(kill(3000, 1.3, "delayed(500 ms)", oldest_s=1.2))
    assert observed_loss(rows, "bank") == ObservedLoss(3, 1.3, 3000, refutes_declared=True)


def test_a_kill_without_an_exact_answer_says_nothing() -> None:
    assert observed_loss([kill(None, None, "fsync-per-commit")], "bank") == ObservedLoss(
        0, None, None, refutes_declared=False, unresolved=1
    )
    assert observed_loss([], "bank") == ObservedLoss(0, None, None, False)
    assert observed_loss([kill(5, 0.1, "fsync-per-commit")], "other") == ObservedLoss(0, None, None, False)


def test_all_is_kept_only_where_each_kill_has_an_exact_answer() -> None:
    nothing, unknown = kill(0, 0.0, "delayed"), kill(None, None, "delayed")
    assert observed_loss([nothing, nothing], "bank").kept_all
    for rows in ([], [unknown], [nothing, unknown], [nothing, kill(1, 0.0, "delayed")]):
        assert not observed_loss(rows, "bank").kept_all


@pytest.mark.parametrize(("durability", "refuted"), [("none", False), ("delayed", True)])
def test_a_kill_that_left_nothing_readable_is_an_answer_without_a_count(
    durability: str, *, refuted: bool
) -> None:
    unreadable = msgspec.structs.replace(kill(None, None, durability), resolved=True, unreadable=True)
    found = observed_loss([unreadable, kill(0, 0.0, durability)], "bank")
    assert found == ObservedLoss(2, 0.0, 0, refutes_declared=refuted, unreadable=1)
    assert not found.kept_all
    alone = observed_loss([unreadable], "bank")
    assert alone == ObservedLoss(1, None, None, refutes_declared=refuted, unreadable=1)


@pytest.mark.parametrize("changed", [{"lost": 3, "acknowledged": 9}, {"resolved": False}], ids=str)
def test_a_row_that_nobody_could_read_has_no_count_and_is_an_answer(changed: dict[str, Any]) -> None:
    row = msgspec.to_builtins(kill(None, None, "delayed")) | {"resolved": True, "unreadable": True}
    assert msgspec.convert(row, KillCheck).unreadable
    with pytest.raises(msgspec.ValidationError, match="an unreadable kill check"):
        msgspec.convert(row | changed, KillCheck)


@pytest.mark.parametrize(
    ("durability", "refuted"),
    [("none", False), ("delayed", False), ("delayed(500 ms)", True), ("fsync-per-commit", True)],
)
def test_what_a_class_allows_decides(durability: str, refuted: bool) -> None:
    assert observed_loss([kill(7, 0.9, durability, 0.8)], "bank").refutes_declared is refuted


def test_one_estimate_within_the_bound_does_not_refute() -> None:
    assert not observed_loss([kill(7, 0.9, "delayed(500 ms)", 0.3)], "bank").refutes_declared


def test_published_kills_of_one_timed_flush_refute_their_class() -> None:
    """Acknowledgements ran more than a second ahead of a log that is fsynced each 500 ms."""
    manifest = json.loads(
        (CHECKOUT / "results/both-optimized/119a6b887f3d/manifest.json").read_text(encoding="utf-8")
    )
    checks = msgspec.convert(manifest["kill_checks"], list[KillCheck])
    deep = observed_loss(checks, "spacetimedb-rust-deep")
    assert deep.refutes_declared
    assert deep.worst_lost_transfers == 63490
    assert not observed_loss(checks, "postgres-rust-deep").refutes_declared
