"""What was answered stands beside what was written, in refused trials too."""

from __future__ import annotations

import json
from typing import cast

from gapbook.pages.exhibits.flaws import UNWRITTEN_COLUMNS, unwritten_cells
from gapbook.record.stored_trial import StoredTrial


def _row(goodput_per_s: float | None, log_bytes: int | None, mismatched: int | None) -> StoredTrial:
    refused = f"reconciled: {mismatched} of 1,000 balances differ" if mismatched else None
    told = {
        "goodput_per_s": goodput_per_s,
        "log_bytes": log_bytes,
        "mismatched_accounts": mismatched,
        "valid": refused is None and goodput_per_s is not None,
        "refused_because": refused,
        "gates": json.dumps([{"name": "reconciled", "passed": refused is None}]),
    }
    return cast(StoredTrial, told)


def test_refused_trials_are_counted_by_their_answers_and_say_what_was_not_written() -> None:
    rows = [_row(5000.0, 0, 610), _row(5200.0, 0, 630), _row(5100.0, 0, 620)]
    cells = unwritten_cells("unexecuted", rows, 1_000)
    assert len(cells) == len(UNWRITTEN_COLUMNS)
    assert cells == [
        "unexecuted",
        "5,100/s",
        "0 bytes",
        "620 of 1,000",
        "0 of 3 valid; refused by: reconciled",
    ]


def test_a_trial_that_wrote_what_it_answered_has_no_balance_off() -> None:
    assert unwritten_cells("executed", [_row(4000.0, 4_120_032, 0)], 1_000)[1:] == [
        "4,000/s",
        "4,120,032 bytes",
        "0 of 1,000",
        "1 of 1 valid",
    ]


def test_a_trial_without_a_report_is_no_measurement() -> None:
    assert unwritten_cells("executed", [_row(None, None, None)], 1_000)[1] == "no trial"
    assert unwritten_cells("executed", [_row(None, None, None), _row(4000.0, 8, 0)], 1_000)[1] == "4,000/s"
