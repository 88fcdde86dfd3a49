"""What a report lists of its connections becomes the work that is audited and looked for after a kill."""

from __future__ import annotations

from typing import Any

from gapbook.model.report import Connection
from gapbook.model.reported import issued_work, reported_of
from tests.reports import connection_of


def _row(connection: int, issued: int, **changed: Any) -> Connection:
    return connection_of(connection, issued, **changed)


def test_what_failed_or_is_in_doubt_was_not_acknowledged() -> None:
    row = _row(3, 6, failed=[[1, "insufficient"], [4, "error"]], in_doubt=[5])
    reported = reported_of([row, _row(4, 0)], in_doubt=1)
    one, nothing = reported.listed
    assert (one.connection, one.acknowledged.tolist(), one.in_doubt.tolist()) == (3, [0, 2, 3], [5])
    assert nothing.acknowledged.tolist() == []
    assert (reported.acknowledged, reported.in_doubt) == (3, 1)


def test_replayed_operations_are_those_of_the_first_batch() -> None:
    reported = reported_of([_row(0, 7, in_doubt=[6])], 1, replayed_batch=3)
    assert reported.listed[0].acknowledged.tolist() == [0, 1, 2, 0, 1, 2]
    assert reported.listed[0].in_doubt.tolist() == [0]


def test_counts_are_kept_as_counts() -> None:
    reported = reported_of([_row(1, 9, counts={"increment": 5, "message": 2})], in_doubt=2)
    assert reported.listed == ()
    assert reported.acknowledged == 7
    assert reported.counted[0].issued == 9


def test_what_was_refused_is_left_out_and_what_was_in_doubt_comes_last() -> None:
    row = _row(3, 8, failed=[[2, "insufficient"], [4, "error"]], in_doubt=[6, 7])
    work = issued_work(row, in_flight=2)
    assert work.indices.tolist() == [0, 1, 3, 5, 6, 7, 4]
    assert work.acknowledged.tolist() == [True] * 4 + [False] * 3
    assert (work.lost(3), work.committed_in_doubt(3)) == (1, 0)
    assert (work.lost(5), work.committed_in_doubt(5)) == (0, 1)


def test_first_errors_after_the_last_acknowledgement_are_in_doubt() -> None:
    """A tier answers for a server that died: what was out then may have been committed, later ones not."""
    refused = [[1, "error"], [3, "error"], [4, "error"], [5, "insufficient"], [6, "error"]]
    row = _row(0, 7, failed=refused)
    assert issued_work(row, in_flight=1).indices.tolist() == [0, 2, 3]
    work = issued_work(row, in_flight=2)
    assert work.indices.tolist() == [0, 2, 3, 4, 1]
    assert work.acknowledged.tolist() == [True, True, False, False, False]


def test_an_error_that_others_were_acknowledged_beside_is_in_doubt_and_an_earlier_one_is_not() -> None:
    row = _row(0, 9, failed=[[1, "error"], [4, "insufficient"], [5, "error"]])
    work = issued_work(row, in_flight=4)
    assert work.indices.tolist() == [0, 2, 3, 6, 7, 8, 5]
    assert work.acknowledged.tolist() == [True] * 6 + [False]
