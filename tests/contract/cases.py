"""The cases that every way to a system must pass, by workload: what is asked, what is answered, what is left.

Those of a workload are asked one after the other of one seeded state, in this order: each changes rows that no other
case needs as they were seeded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from gapbook.model.workload import State
from tests.contract.callers import Fields

__all__ = ["CASES", "CROWDED", "PARAMETERS", "Call", "Case"]

_ACCOUNTS, _INITIAL = 100, 1_000
PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    "transfer": {"accounts": _ACCOUNTS, "initial_balance": _INITIAL},
    "counter-and-messages": {"counters": 3},
    "chat": {"rooms": 2, "stored": 5},
    "fibonacci": {"n": 10},
}
"""What each workload is seeded with."""
CROWDED: Mapping[str, Mapping[str, Any]] = {
    "transfer": {"accounts": 2, "initial_balance": _INITIAL, "amount_max": 400},
    "counter-and-messages": {"counters": 1, "increment_share": 0.5},
    "chat": {"rooms": 1, "stored": 5, "read_share": 0.3, "forbidden_every": 4},
    "fibonacci": {"n": 12},
}
"""What each is seeded with where all connections are to meet at the same rows."""


@dataclass(frozen=True)
class Call:
    """One operation and its end: ``done``, the name of a refusal, or words of an error."""

    kind: str
    fields: Fields
    ends: str

    def has_ended(self, answer: str) -> bool:
        if not self.ends.startswith("error"):
            return answer == self.ends
        return answer.startswith("error: ") and self.ends.removeprefix("error: ") in answer


@dataclass(frozen=True)
class Case:
    """Calls after each other, and the rows that are then not as they were seeded."""

    name: str
    calls: Sequence[Call]
    changed: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    """By table: rows that replace those of their key, or are new."""

    def left(self, before: State, keys: Mapping[str, Sequence[str]]) -> State:
        """The state after the calls."""
        return {
            name: rows
            if name not in self.changed
            else pl.concat([rows.join(self.changed[name], on=keys[name], how="anti"), self.changed[name]])
            for name, rows in before.items()
        }


def _transfer(source: int, destination: int, amount: int, ends: str) -> Call:
    return Call("transfer", {"from": source, "to": destination, "amount": amount}, ends)


def _balances(**balances: int) -> dict[str, pl.DataFrame]:
    ids = [int(name.removeprefix("account_")) for name in balances]
    return {"accounts": pl.DataFrame({"id": ids, "balance": list(balances.values())})}


_TRANSFERS = [
    Case(
        "done",
        [_transfer(3, 7, 250, "done"), _transfer(7, 3, 50, "done")],
        _balances(account_3=800, account_7=1_200),
    ),
    Case(
        "refused-but-for-the-whole-balance",
        [
            _transfer(13, 17, _INITIAL + 1, "insufficient"),
            _transfer(13, 17, _INITIAL, "done"),
            _transfer(13, 17, 1, "insufficient"),
            _transfer(17, 13, 2 * _INITIAL + 1, "insufficient"),
        ],
        _balances(account_13=0, account_17=2 * _INITIAL),
    ),
    Case(
        "missing-account",
        [
            _transfer(source, destination, amount, "error: does not exist")
            for source, destination in ((3, _ACCOUNTS), (_ACCOUNTS, 3))
            for amount in (1, _INITIAL + 1)
        ],
    ),
    Case("same-account", [_transfer(3, 3, 1, "error: 3"), _transfer(4, 4, _INITIAL + 1, "error: 4")]),
    Case("nothing-moved", [_transfer(3, 7, 0, "error: amount")]),
    Case(
        "after-an-error",
        [_transfer(5, 5, 1, "error"), _transfer(23, _ACCOUNTS, 1, "error"), _transfer(23, 27, 1, "done")],
        _balances(account_23=_INITIAL - 1, account_27=_INITIAL + 1),
    ),
]


def _increment(counter: int, ends: str) -> Call:
    return Call("increment", {"counter": counter, "amount": 1}, ends)


def _message(connection: int, index: int, body: str, ends: str) -> Call:
    return Call("message", {"connection": connection, "index": index, "body": body}, ends)


def _messages(*rows: tuple[int, int, str]) -> dict[str, pl.DataFrame]:
    schema = {"connection": pl.Int64, "index": pl.Int64, "body": pl.String}
    return {"messages": pl.DataFrame(rows, schema=schema, orient="row")}


def _values(**values: int) -> dict[str, pl.DataFrame]:
    ids = [int(name.removeprefix("counter_")) for name in values]
    return {"counters": pl.DataFrame({"id": ids, "value": list(values.values())})}


_COUNTER_AND_MESSAGES = [
    Case(
        "incremented",
        [_increment(0, "done"), _increment(2, "done"), _increment(0, "done")],
        _values(counter_0=2, counter_2=1),
    ),
    Case(
        "stored",
        [
            _message(0, 0, "a", "done"),
            _message(199, 2**53 - 1, "z" * 64, "done"),
            _message(1, 0, 'quoted " and, commaed', "done"),
        ],
        _messages((0, 0, "a"), (199, 2**53 - 1, "z" * 64), (1, 0, 'quoted " and, commaed')),
    ),
    Case("missing-counter", [_increment(3, "error: does not exist")]),
    Case(
        "stored-once",
        [_message(1, 2, "abc", "done"), _message(1, 2, "abc", "error"), _message(1, 2, "xyz", "error")],
        _messages((1, 2, "abc")),
    ),
    Case(
        "after-an-error",
        [_increment(9, "error"), _increment(1, "done"), _message(4, 5, "abc", "done")],
        {**_values(counter_1=1), **_messages((4, 5, "abc"))},
    ),
]


_FIRST_ID = 100_000_000_000_000
_CLOSED = 2
"""The room whose member the sender is not, behind those of ``PARAMETERS``."""


def _post(room: int, connection: int, index: int, body: str, ends: str) -> Call:
    fields: Fields = {"room": _FIRST_ID + room, "connection": connection, "index": index, "body": body}
    return Call("post", fields, ends)


def _read(message: int, ends: str) -> Call:
    return Call("read", {"id": _FIRST_ID + message}, ends)


def _posted(*rows: tuple[int, int, int, str]) -> dict[str, pl.DataFrame]:
    schema = {"room": pl.Int64, "connection": pl.Int64, "index": pl.Int64, "body": pl.String}
    posted = [(_FIRST_ID + room, *identity_and_body) for room, *identity_and_body in rows]
    return {"messages": pl.DataFrame(posted, schema=schema, orient="row")}


_CHAT = [
    # Before anything is posted, which may be given the next number.
    Case("found", [_read(0, "done"), _read(4, "done"), _read(0, "done")]),
    Case("missing-message", [_read(5, "error"), _read(4, "done")]),
    Case(
        "posted",
        [
            _post(0, 0, 0, "a", "done"),
            _post(1, 199, 2**53 - 1, "z" * 64, "done"),
            _post(0, 1, 0, 'quoted " and, commaed', "done"),
        ],
        _posted((0, 0, 0, "a"), (1, 199, 2**53 - 1, "z" * 64), (0, 1, 0, 'quoted " and, commaed')),
    ),
    Case(
        "forbidden",
        [_post(_CLOSED, 0, 1, "a", "forbidden"), _post(1, 0, 1, "a", "done")],
        _posted((1, 0, 1, "a")),
    ),
    Case(
        "after-a-refusal",
        [
            _post(_CLOSED, 3, 1, "a", "forbidden"),
            _read(99, "error"),
            _post(0, 3, 2, "b", "done"),
            _read(1, "done"),
        ],
        _posted((0, 3, 2, "b")),
    ),
]


def _compute(n: int, value: int, ends: str) -> Call:
    return Call("compute", {"n": n, "value": value}, ends)


_FIBONACCI = [
    Case("computed", [_compute(0, 0, "done"), _compute(1, 1, "done"), _compute(20, 6765, "done")]),
    Case("another-number", [_compute(10, 56, "error"), _compute(10, 55, "done")]),
]

CASES: Mapping[str, Sequence[Case]] = {
    "transfer": _TRANSFERS,
    "counter-and-messages": _COUNTER_AND_MESSAGES,
    "chat": _CHAT,
    "fibonacci": _FIBONACCI,
}
