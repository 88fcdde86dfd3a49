"""The audit of chat rooms: set equality of messages, the rule of membership, and what was there from the beginning."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest

from gapbook.model.report import Connection
from gapbook.model.reported import Counted, Reported, issued_work, reported_of
from gapbook.model.workload import AuditResult, State, Workload
from gapbook.trial.workloads import find_workload
from tests.reports import connection_of

_SEED = 7
_ISSUED = 200
_EVERY = 10
_FIRST_ID = 100_000_000_000_000
_GIVEN = {"rooms": 3, "stored": 20, "message_bytes": 9, "read_share": 0.25, "forbidden_every": _EVERY}
WORKLOAD = find_workload("chat", _GIVEN)


def drawn(connection: int, workload: Workload = WORKLOAD) -> dict[str, pl.DataFrame]:
    every = np.arange(_ISSUED, dtype=np.uint64)
    return dict(workload.draw(_SEED, connection, every))


CLOSED = _FIRST_ID + 3
POSTS = drawn(0)["post"]
FORBIDDEN = [int(place) for place in POSTS.filter(pl.col("room") == CLOSED)["place"]]
ALLOWED = [int(place) for place in POSTS.filter(pl.col("room") != CLOSED)["place"]]


def row(connection: int, **changed: Any) -> Connection:
    """A connection of an honest server: what the rule forbids was refused."""
    closed = drawn(connection)["post"].filter(pl.col("room") == CLOSED)["place"]
    failed = [[int(place), "forbidden"] for place in closed]
    return connection_of(connection, _ISSUED, **{"failed": failed, **changed})


class Server:
    """A server that stores what it is asked to, operation by operation, and may be tampered with."""

    def __init__(self, rows: list[Connection]) -> None:
        initial = WORKLOAD.initial_state()
        self.rooms, self.members = initial["rooms"], initial["members"]
        self.messages = initial["messages"].rows()
        self.stored = len(self.messages)
        for one in rows:
            left_out = {*(index for index, _ in one.failed), *one.in_doubt}
            for index in set(range(one.issued)) - left_out:
                self.post(one.connection, index)

    def post(self, connection: int, index: int) -> None:
        posts = WORKLOAD.draw(_SEED, connection, np.array([index], dtype=np.uint64))["post"]
        self.messages += posts.drop("place").rows()

    @property
    def state(self) -> State:
        schema = WORKLOAD.initial_state()["messages"].schema
        messages = pl.DataFrame(self.messages, schema=schema, orient="row")
        return {"rooms": self.rooms, "members": self.members, "messages": messages.reverse()}


ROWS = [row(0), row(4)]


def audited(server: Server, rows: list[Connection] | None = None) -> AuditResult:
    rows = ROWS if rows is None else rows
    in_doubt = sum(len(one.in_doubt) for one in rows)
    return WORKLOAD.audit(_SEED, reported_of(rows, in_doubt), server.state)


def counts(found: AuditResult) -> tuple[int | None, int | None, int | None]:
    return found.lost, found.duplicated, found.unexpected


def test_an_honest_server_agrees() -> None:
    found = audited(Server(ROWS))
    assert found.agrees, found.explain()
    assert counts(found) == (0, 0, 0)
    sent = sum(drawn(connection)["post"].filter(pl.col("room") != CLOSED).height for connection in (0, 4))
    assert found.explain() == f"{sent:,} messages and 28 rows from the beginning agree"


def test_a_lost_message_is_listed() -> None:
    server = Server(ROWS)
    server.messages.pop(server.stored + 3)
    assert counts(audited(server)) == (1, 0, 0)
    assert audited(server).explain() == "1 acknowledged messages lost"


def test_a_message_stored_twice_is_listed() -> None:
    server = Server(ROWS)
    server.messages.append(server.messages[-1])
    assert counts(audited(server)) == (0, 1, 0)


@pytest.mark.parametrize("identity", [(0, _ISSUED), (1, 0), (4, -1)], ids=str)
def test_a_message_that_nobody_sent_is_listed(identity: tuple[int, int]) -> None:
    server = Server(ROWS)
    server.messages.append((_FIRST_ID, *identity, "aaaaaaaaa"))
    assert counts(audited(server)) == (0, 0, 1)


@pytest.mark.parametrize(("column", "value"), [(0, _FIRST_ID + 7), (3, "short")], ids=["room", "body"])
def test_a_message_in_another_room_or_half_written_is_seen(column: int, value: Any) -> None:
    server = Server(ROWS)
    changed = list(server.messages[-1])
    changed[column] = value
    server.messages[-1] = tuple(changed)
    assert counts(audited(server)) == (1, 0, 1)


def test_a_message_that_was_let_in_against_the_rule_is_unexpected() -> None:
    server = Server(ROWS)
    server.post(0, FORBIDDEN[0])
    assert counts(audited(server)) == (0, 0, 1)


def test_a_forbidden_message_that_was_acknowledged_is_said() -> None:
    rows = [row(0, failed=[])]
    found = audited(Server(rows), rows)
    assert not found.agrees
    assert f"{len(FORBIDDEN)} messages acknowledged that the sender may not send" in found.explain()


def test_a_message_in_doubt_is_stored_at_most_once() -> None:
    rows = [row(0, in_doubt=[ALLOWED[0]])]
    server = Server(rows)
    assert audited(server, rows).agrees
    server.post(0, ALLOWED[0])
    assert audited(server, rows).agrees
    server.post(0, ALLOWED[0])
    assert counts(audited(server, rows)) == (0, 1, 0)


def test_rows_from_the_beginning_must_stay() -> None:
    for tamper in ("rooms", "members"):
        server = Server(ROWS)
        setattr(server, tamper, getattr(server, tamper)[1:])
        assert "1 rows differ that were there from the beginning" in audited(server).explain()
    server = Server(ROWS)
    server.messages[2] = (*server.messages[2][:3], "zzzzzzzzz")
    assert "1 rows differ that were there from the beginning" in audited(server).explain()


def test_a_client_that_only_counts_proves_sums() -> None:
    server = Server(ROWS)
    sent = len(server.messages) - server.stored
    reads = sum(drawn(connection)["read"].height for connection in (0, 4))

    def found(posts: int) -> AuditResult:
        counted = (
            Counted(0, _ISSUED, {"post": posts, "read": reads}),
            Counted(4, _ISSUED, {"post": 0, "read": 0}),
        )
        return WORKLOAD.audit(_SEED, Reported(counted=counted), server.state)

    assert found(sent).agrees
    assert counts(found(sent + 1)) == (1, 0, 0)
    assert counts(found(sent - 1)) == (0, 0, 1)


# --- after a kill -----------------------------------------------------------------------------
def test_what_survived_a_kill_is_read_off() -> None:
    rows = [row(0, in_doubt=[ALLOWED[1], ALLOWED[2]])]
    server = Server(rows)
    server.messages.pop()
    server.post(0, ALLOWED[2])
    work = [issued_work(one, 1) for one in rows]
    survived = WORKLOAD.survived(_SEED, work, server.state)
    assert survived is not None
    assert (survived.lost, survived.in_doubt_committed) == (1, 1)
    assert WORKLOAD.committed(_SEED, 1, 0, server.state) == len(server.messages) - server.stored


# --- what is drawn ----------------------------------------------------------------------------
def test_one_of_so_many_operations_goes_to_the_closed_room_unless_it_reads() -> None:
    assert FORBIDDEN
    assert {place % _EVERY for place in FORBIDDEN} == {_EVERY - 1}
    assert not [place for place in ALLOWED if place % _EVERY == _EVERY - 1]
    without = find_workload("chat", {**_GIVEN, "forbidden_every": 0})
    assert drawn(0, without)["post"].filter(pl.col("room") == CLOSED).is_empty()


def test_connections_take_turns_at_the_closed_room() -> None:
    """Of eight connections one comes every third of a round, at most: a short load is refused something too."""
    every = 2000
    workload = find_workload("chat", {"forbidden_every": every})
    rounds = np.arange(2 * every, dtype=np.uint64)
    first: list[int] = []
    for connection in range(8):
        closed = workload.draw(_SEED, connection, rounds)["post"].filter(pl.col("room") == _FIRST_ID + 1)
        places = [int(place) for place in closed["place"]]
        assert places == [places[0], places[0] + every]
        first.append(places[0])
    starts = sorted([-1, *first, every])
    assert max(after - before for before, after in pairwise(starts)) < every / 3


def test_reads_find_what_is_there_from_the_beginning() -> None:
    read = drawn(0)["read"]["id"]
    assert 0 < len(read) < _ISSUED
    assert set(read) <= {_FIRST_ID + index for index in range(20)}


@pytest.mark.parametrize("share", [0, 1])
def test_a_share_can_be_all_or_nothing(share: int) -> None:
    kinds = drawn(0, find_workload("chat", {**_GIVEN, "read_share": share}))
    assert kinds["read"].height == share * _ISSUED
    assert kinds["post"].height == (1 - share) * _ISSUED


def test_ids_are_fifteen_characters_and_whole_numbers_of_a_double() -> None:
    most = find_workload("chat", {"rooms": 65536, "stored": 2097152}).initial_state()
    for ids in (most["rooms"]["id"].to_list(), (_FIRST_ID + most["messages"]["index"]).to_list()):
        assert {len(str(end)) for end in (min(ids), max(ids))} == {15}
        assert max(ids) < 2**53
