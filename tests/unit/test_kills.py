"""The kill table says what was seen, how often, and what was not seen."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from gapbook.markup import values_table
from gapbook.method.findings import Findings
from gapbook.pages.losses.kills import KILL_COLUMNS, kill_caption, kill_rows, kill_table
from gapbook.record.durability import Durability
from gapbook.record.losses import BROKEN, KillCheck, verdict_of
from gapbook.record.published import published_runs


def _row(
    contestant: str, durability: str, lost: int | None, lost_s: float | None, **changed: Any
) -> KillCheck:
    check = {
        "contestant": contestant,
        "durability": durability,
        "acknowledged": 1000,
        "lost": lost,
        "lost_s": lost_s,
        "load_s": 3.5,
        "recovered_in_s": 0.6,
        "resolved": lost is not None,
        "note": None,
        "verdict": verdict_of(Durability.parse(durability), lost, lost_s),
        **changed,
    }
    return msgspec.convert(check, KillCheck)


_KEPT = [_row("postgres", "fsync-per-commit", 0, 0.0)] * 3
_WITHIN = [_row("delayed", "delayed(500 ms)", 3709, 0.1034), _row("delayed", "delayed(500 ms)", 0, 0.0)]
_BROKEN = [
    _row("spacetimedb", "delayed(500 ms)", 700, 2.28),
    _row("spacetimedb", "delayed(500 ms)", 100, 0.31),
    _row("spacetimedb", "delayed(500 ms)", None, None, acknowledged=None, note="client: ended with code 4"),
]


def test_no_loss_is_kept_and_carries_its_bound() -> None:
    assert kill_rows(_KEPT) == [
        (
            "postgres",
            "fsync-per-commit",
            "3",
            "3,000",
            "0",
            "0 s",
            "kept; at 95 % confidence, at most 63 % of kills lose anything",
        )
    ]


def test_losses_are_summed_and_seconds_are_a_range() -> None:
    (cells,) = kill_rows(_WITHIN)
    assert cells[2:6] == ("2", "2,000", "3,709", "0–0.10 s")
    assert cells[6] == "lost within its class, in 1 of 2 kills"


def test_a_class_that_was_not_kept_leads_and_an_unresolved_kill_is_told() -> None:
    (cells,) = kill_rows(_BROKEN, {"spacetimedb": "SpacetimeDB"})
    assert cells[:6] == ("SpacetimeDB", "delayed(500 ms)", "3", "2,000", "800", "0.31–2.28 s")
    assert cells[6] == (
        "lost more than its class allows, in 1 of 3 kills; lost within its class, in 1 of 3 kills; "
        "not resolved in 1 of 3 kills (client: ended with code 4)"
    )


def test_a_server_that_did_not_come_back_is_told_with_its_reason_and_never_kept() -> None:
    gone = _row("spacetimedb", "delayed(500 ms)", None, None, resolved=True, unreadable=True)
    gone = msgspec.structs.replace(gone, verdict=BROKEN, recovered_in_s=None, note="ended with code 1")
    kept = _row("spacetimedb", "delayed(500 ms)", 0, 0.0)
    (cells,) = kill_rows([gone, kept, kept])
    assert cells[2:] == (
        "3",
        "2,000",
        "0",
        "0 s",
        "lost more than its class allows, in 1 of 3 kills; left nothing usable in 1 of 3 kills (ended with code 1)",
    )
    assert "no server" not in kill_caption([gone])
    within = _row("spacetimedb", "delayed(500 ms)", 5, 0.1)
    assert "; lost within its class, in 1 of 2 kills" in kill_rows([gone, within])[0][6]


def test_a_class_that_was_never_kept_is_not_said_to_be() -> None:
    assert kill_rows(_BROKEN[:1])[0][6] == "lost more than its class allows, in the one kill"


def test_kills_without_an_answer_claim_nothing() -> None:
    (cells,) = kill_rows([_BROKEN[2]])
    assert cells[3:] == (
        "unknown",
        "unknown",
        "unknown",
        "not resolved in the one kill (client: ended with code 4)",
    )


def test_contestants_keep_their_order_and_fit_the_page() -> None:
    rows = [*_BROKEN, *_KEPT, *_WITHIN]
    table = kill_rows(rows)
    assert [cells[0] for cells in table] == ["spacetimedb", "postgres", "delayed"]
    html = values_table(KILL_COLUMNS, table, caption=kill_caption(rows)).html
    assert "page cache" in html
    assert "alpha 0" in html
    assert '<td class="gb-num">3,709</td>' in html


def test_caption_tells_of_sums_where_there_is_more_than_one_kill_to_add() -> None:
    said = "sums over the kills"
    assert said in kill_caption([*_KEPT, *_KEPT])
    assert said not in kill_caption(_BROKEN[:1])


def test_caption_tells_of_engines_without_a_server() -> None:
    serverless = _row("sqlite", "none", 0, 0.0, recovered_in_s=None)
    assert "no server" in kill_caption([serverless])
    assert "no server" not in kill_caption([*_KEPT, *_BROKEN[:2]])


def test_a_server_that_was_not_killed_is_not_judged() -> None:
    row = _row("postgres", "delayed(500 ms)", None, None, load_s=None, note="it is the reader's")
    (cells,) = kill_rows([row])
    assert (cells[2], cells[6]) == ("0", "not checked (it is the reader's)")


def test_no_two_rows_of_a_published_table_are_called_alike() -> None:
    killed = [run for run in published_runs() if run.manifest.kill_checks]
    assert killed
    for run in killed:
        table = kill_table(Findings(run, run.manifest.chapter)).html
        called = re.findall(r"<tr>\s*<td[^>]*>(.*?)</td>", table)
        assert len(set(called)) == len(called) > 0, run.run_id
