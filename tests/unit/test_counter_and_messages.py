"""The audit of counters and messages: set equality of messages, sums of increments, and doubt at most once."""

from __future__ import annotations

from collections.abc import Mapping
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
WORKLOAD = find_workload("counter-and-messages", {"counters": 3, "message_bytes": 9})


def row(connection: int, **changed: Any) -> Connection:
    return connection_of(connection, _ISSUED, **changed)


class Server:
    """A server that does what it is asked, operation by operation, and may be tampered with."""

    def __init__(self, workload: Workload = WORKLOAD) -> None:
        self.workload = workload
        self.values = [0] * int(workload.parameters["counters"])
        self.messages: list[tuple[int, int, str]] = []

    def make(self, connection: int, index: int) -> None:
        drawn = self.workload.draw(_SEED, connection, np.array([index], dtype=np.uint64))
        for counter in drawn["increment"]["counter"]:
            self.values[counter] += 1
        self.messages += drawn["message"].select("connection", "index", "body").rows()

    def serve(self, rows: list[Connection]) -> Server:
        for one in rows:
            left_out = {*(index for index, _ in one.failed), *one.in_doubt}
            for index in set(range(one.issued)) - left_out:
                self.make(one.connection, index)
        return self

    @property
    def state(self) -> State:
        schema = self.workload.initial_state()["messages"].schema
        return {
            "counters": pl.DataFrame({"id": range(len(self.values)), "value": self.values}),
            "messages": pl.DataFrame(self.messages, schema=schema, orient="row"),
        }


def indices_of(kind: str, connection: int, workload: Workload = WORKLOAD) -> list[int]:
    every = np.arange(_ISSUED, dtype=np.uint64)
    return [int(place) for place in workload.draw(_SEED, connection, every)[kind]["place"]]


MESSAGE, OTHER_MESSAGE = indices_of("message", 0)[:2]
INCREMENT = indices_of("increment", 0)[0]
ROWS = [row(0, failed=[[INCREMENT, "error"]]), row(4)]


def audited(server: Server, rows: list[Connection] | None = None) -> AuditResult:
    rows = ROWS if rows is None else rows
    in_doubt = sum(len(one.in_doubt) for one in rows)
    return WORKLOAD.audit(_SEED, reported_of(rows, in_doubt), server.state)


def counts(found: AuditResult) -> tuple[int | None, int | None, int | None]:
    return found.lost, found.duplicated, found.unexpected


def test_an_honest_server_agrees() -> None:
    found = audited(Server().serve(ROWS))
    assert found.agrees
    assert counts(found) == (0, 0, 0)
    messages = len(indices_of("message", 0)) + len(indices_of("message", 4))
    assert found.explain() == f"3 counters and {messages:,} messages agree"


def test_the_order_in_which_rows_are_read_does_not_matter() -> None:
    state = {name: table.reverse() for name, table in Server().serve(ROWS).state.items()}
    assert WORKLOAD.audit(_SEED, reported_of(ROWS, 0), state).agrees


def test_a_lost_message_is_listed() -> None:
    server = Server().serve(ROWS)
    server.messages.pop(3)
    found = audited(server)
    assert counts(found) == (1, 0, 0)
    assert found.explain() == "1 acknowledged operations lost"


def test_a_message_stored_twice_is_listed() -> None:
    server = Server().serve(ROWS)
    server.messages.append(server.messages[3])
    found = audited(server)
    assert counts(found) == (0, 1, 0)
    assert found.explain() == "1 messages stored again"


@pytest.mark.parametrize("identity", [(0, _ISSUED), (1, 0), (4, -1)], ids=str)
def test_a_message_that_nobody_sent_is_listed(identity: tuple[int, int]) -> None:
    server = Server().serve(ROWS)
    server.messages.append((*identity, "aaaaaaaaa"))
    assert counts(audited(server)) == (0, 0, 1)


def test_a_message_under_the_index_of_an_increment_is_unexpected() -> None:
    server = Server().serve(ROWS)
    server.messages.append((0, indices_of("increment", 0)[1], "aaaaaaaaa"))
    assert counts(audited(server)) == (0, 0, 1)


def test_a_refused_message_that_is_stored_is_unexpected() -> None:
    rows = [row(0, failed=[[MESSAGE, "error"]])]
    server = Server().serve(rows)
    assert audited(server, rows).agrees
    server.make(0, MESSAGE)
    assert counts(audited(server, rows)) == (0, 0, 1)


@pytest.mark.parametrize("body", ["", "zzzzzzzzz", "short", "longerthannine"])
def test_another_body_is_a_lost_message_and_an_unexpected_one(body: str) -> None:
    server = Server().serve(ROWS)
    connection, index, _ = server.messages[5]
    server.messages[5] = (connection, index, body)
    assert counts(audited(server)) == (1, 0, 1)


def test_a_message_half_written_is_seen() -> None:
    server = Server().serve(ROWS)
    connection, index, body = server.messages[5]
    server.messages[5] = (connection, index, body[:4])
    assert counts(audited(server)) == (1, 0, 1)


# --- increments -------------------------------------------------------------------------------
def test_a_lost_increment_is_counted() -> None:
    server = Server().serve(ROWS)
    server.values[1] -= 2
    assert counts(audited(server)) == (2, 0, 0)


def test_an_increment_too_many_is_unexpected() -> None:
    server = Server().serve(ROWS)
    server.values[2] += 1
    assert counts(audited(server)) == (0, 0, 1)


def test_an_increment_of_the_wrong_counter_is_both() -> None:
    server = Server().serve(ROWS)
    server.values[1] -= 1
    server.values[2] += 1
    assert counts(audited(server)) == (1, 0, 1)


def test_a_refused_increment_that_was_made_is_unexpected() -> None:
    server = Server().serve(ROWS)
    server.make(0, INCREMENT)
    assert counts(audited(server)) == (0, 0, 1)


@pytest.mark.parametrize("values", [[0, 0], [0, 0, 0, 0]])
def test_counters_that_are_not_those_there_were_do_not_agree(values: list[int]) -> None:
    server = Server()
    server.values = values
    assert not audited(server, []).agrees


# --- in doubt ---------------------------------------------------------------------------------
DOUBTFUL = [row(0, in_doubt=[MESSAGE, OTHER_MESSAGE, INCREMENT])]


@pytest.mark.parametrize("made", [[], [MESSAGE], [MESSAGE, OTHER_MESSAGE], [INCREMENT], [MESSAGE, INCREMENT]])
def test_what_is_in_doubt_may_be_there_or_not(made: list[int]) -> None:
    server = Server().serve(DOUBTFUL)
    for index in made:
        server.make(0, index)
    found = audited(server, DOUBTFUL)
    assert found.agrees, found.explain()
    assert found.in_doubt == 3


def test_what_is_in_doubt_may_not_be_there_twice() -> None:
    server = Server().serve(DOUBTFUL)
    server.make(0, MESSAGE)
    server.make(0, MESSAGE)
    assert counts(audited(server, DOUBTFUL)) == (0, 1, 0)
    server = Server().serve(DOUBTFUL)
    server.make(0, INCREMENT)
    server.make(0, INCREMENT)
    assert counts(audited(server, DOUBTFUL)) == (0, 0, 1)


def test_doubt_excuses_no_other_message() -> None:
    server = Server().serve(DOUBTFUL)
    server.messages.pop(0)
    server.make(0, MESSAGE)
    assert counts(audited(server, DOUBTFUL)) == (1, 0, 0)


# --- clients that only count ------------------------------------------------------------------
def counted(changed: Mapping[str, int] | None = None, in_doubt: int = 0, issued: int = _ISSUED) -> Reported:
    acknowledged = {kind: len(indices_of(kind, 0)) for kind in ("increment", "message")}
    acknowledged |= changed or {}
    return Reported(counted=(Counted(0, issued, acknowledged),), in_doubt=in_doubt)


def test_counts_agree_with_an_honest_server() -> None:
    found = WORKLOAD.audit(_SEED, counted(), Server().serve([row(0)]).state)
    assert found.agrees, found.explain()


def test_counts_agree_where_some_were_refused_and_nobody_knows_which() -> None:
    server = Server().serve([row(0, failed=[[MESSAGE, "error"], [INCREMENT, "error"]])])
    acknowledged = {kind: len(indices_of(kind, 0)) - 1 for kind in ("increment", "message")}
    assert WORKLOAD.audit(_SEED, counted(acknowledged), server.state).agrees
    found = WORKLOAD.audit(_SEED, counted(), server.state)
    assert counts(found) == (2, 0, 0)


def test_counts_see_a_message_beyond_what_was_issued() -> None:
    server = Server().serve([row(0)])
    server.messages[-1] = (0, _ISSUED + 3, "aaaaaaaaa")
    assert counts(WORKLOAD.audit(_SEED, counted(), server.state)) == (1, 0, 1)


def test_counts_allow_what_is_in_doubt_once() -> None:
    fewer = {"message": len(indices_of("message", 0)) - 1, "increment": len(indices_of("increment", 0)) - 1}
    whole = Server().serve([row(0)]).state
    assert not WORKLOAD.audit(_SEED, counted(fewer), whole).agrees
    assert WORKLOAD.audit(_SEED, counted(fewer, in_doubt=2), whole).agrees


def test_counts_see_more_increments_than_were_issued() -> None:
    server = Server().serve([row(0)])
    server.values[0] += 1
    assert counts(WORKLOAD.audit(_SEED, counted(in_doubt=1), server.state)) == (0, 0, 1)


def test_counts_and_lists_may_stand_in_one_report() -> None:
    connections = [
        connection_of(0, _ISSUED, counts=counted().counted[0].acknowledged),
        row(4, failed=[[0, "error"]]),
    ]
    state = Server().serve([row(0), row(4, failed=[[0, "error"]])]).state
    found = WORKLOAD.audit(_SEED, reported_of(connections, 0), state)
    assert found.agrees, found.explain()


# --- the draw ---------------------------------------------------------------------------------
def test_the_share_and_the_bodies_are_as_declared() -> None:
    drawn = WORKLOAD.draw(_SEED, 3, np.arange(20_000, dtype=np.uint64))
    share = drawn["increment"].height / 20_000
    assert abs(share - 0.7) < 4.5 * (0.7 * 0.3 / 20_000) ** 0.5
    assert set(drawn["increment"]["counter"]) == {0, 1, 2}
    bodies = drawn["message"]["body"]
    assert bodies.str.contains("^[a-z]{9}$").all()
    assert bodies.n_unique() > drawn["message"].height / 2
    assert (drawn["message"]["index"] == drawn["message"]["place"]).all()
    assert set(drawn["message"]["connection"]) == {3}


@pytest.mark.parametrize(("share", "increments"), [(0, 0), (1, 500), (1.0, 500)])
def test_a_share_of_nothing_or_all_is_exact(share: float, increments: int) -> None:
    workload = find_workload("counter-and-messages", {"increment_share": share})
    drawn = workload.draw(_SEED, 0, np.arange(500, dtype=np.uint64))
    assert drawn["increment"].height == increments
    assert drawn["message"].height == 500 - increments


def test_characters_of_a_body_follow_the_rule() -> None:
    workload = find_workload("counter-and-messages", {"increment_share": 0, "message_bytes": 40})
    (body,) = workload.draw(5, 2, np.array([2**53 - 1], dtype=np.uint64))["message"]["body"]
    r2, r3 = _words(seed=5, connection=2, index=2**53 - 1)[2:]
    assert body == "".join(chr(97 + (r2 + k * (r3 | 1)) % 2**32 % 26) for k in range(40))


def _words(seed: int, connection: int, index: int) -> list[int]:
    """Philox4x32-10 in whole numbers, apart from the code under test."""
    words, key = [index % 2**32, index >> 32, connection, 0], [seed % 2**32, seed >> 32]
    for _ in range(10):
        product_0, product_1 = words[0] * 0xD2511F53, words[2] * 0xCD9E8D57
        words = [
            (product_1 >> 32) ^ words[1] ^ key[0],
            product_1 % 2**32,
            (product_0 >> 32) ^ words[3] ^ key[1],
            product_0 % 2**32,
        ]
        key = [(key[0] + 0x9E3779B9) % 2**32, (key[1] + 0xBB67AE85) % 2**32]
    return words


# --- after a kill -----------------------------------------------------------------------------
def test_losses_are_read_off() -> None:
    messages, increments = indices_of("message", 0), indices_of("increment", 0)
    gone = {messages[-1], messages[-2], increments[-1]}
    server = Server()
    for index in set(range(_ISSUED)) - gone:
        server.make(0, index)
    work = [issued_work(row(0), in_flight=1)]
    survived = WORKLOAD.survived(_SEED, work, server.state)
    assert survived is not None
    assert (survived.lost, survived.in_doubt_committed) == (3, 0)
    assert WORKLOAD.committed(_SEED, 1, 0, server.state) == _ISSUED - 3


def test_doubt_that_survived_is_read_off() -> None:
    server = Server().serve(DOUBTFUL)
    server.make(0, MESSAGE)
    server.make(0, INCREMENT)
    survived = WORKLOAD.survived(_SEED, [issued_work(DOUBTFUL[0], in_flight=3)], server.state)
    assert survived is not None
    assert (survived.lost, survived.in_doubt_committed) == (0, 2)


def test_counters_that_are_gone_have_no_answer() -> None:
    state = {**Server().serve([row(0)]).state, "counters": WORKLOAD.initial_state()["counters"].clear()}
    assert WORKLOAD.survived(_SEED, [issued_work(row(0), in_flight=1)], state) is None
