"""The Python client's messages of SpacetimeDB, against bytes written out here."""

from __future__ import annotations

import struct

import pytest
from gap_python.answer import ACKNOWLEDGED, Answer
from gap_python.failure import ClientError
from gap_python.protocols.spacetimedb import calls_of_payload
from gap_python.protocols.spacetimedb.messages import AmountType, Calls, read
from gap_python.workload import Kind

_TRANSFER: Kind = {"from": "u32", "to": "u32", "amount": "u32"}
_MESSAGE: Kind = {"connection": "u32", "index": "u64", "body": "text"}
_REFUSALS = ("insufficient",)
_INSUFFICIENT = Answer("insufficient")

_GREETING = b"\x00" + bytes(48) + b"\x05\x00\x00\x00token"


def _result(request_id: int, outcome: bytes) -> bytes:
    return b"\x06" + struct.pack("<Iq", request_id, 7) + outcome


def _text(words: str) -> bytes:
    return struct.pack("<I", len(words)) + words.encode()


def _refused(words: str) -> bytes:
    return b"\x02" + struct.pack("<I", 4 + len(words)) + _text(words)


def _update(status: bytes, request_id: int) -> bytes:
    return (
        b"\x00\x01"
        + status
        + bytes(56)
        + _text("transfer")
        + bytes(4)
        + _text("abc")
        + struct.pack("<I", request_id)
        + bytes(24)
    )


@pytest.mark.parametrize(
    ("version", "reducer", "amount", "call", "probe"),
    [
        (
            "v1",
            "transfer",
            "u32",
            b"\x00\x08\0\0\0transfer\x0c\0\0\0\x05\0\0\0\x06\0\0\0\x07\0\0\0\x04\x03\x02\x01\0",
            b"\x00\x08\0\0\0transfer\0\0\0\0\0\0\0\0\0",
        ),
        (
            "v2",
            "transfer",
            "u32",
            b"\x03\x04\x03\x02\x01\0\x08\0\0\0transfer\x0c\0\0\0\x05\0\0\0\x06\0\0\0\x07\0\0\0",
            b"\x03\0\0\0\0\0\x08\0\0\0transfer\0\0\0\0",
        ),
        (
            "v3",
            "move",
            "i64",
            b"\x03\x04\x03\x02\x01\0\x04\0\0\0move\x10\0\0\0\x05\0\0\0\x06\0\0\0\x07\0\0\0\0\0\0\0",
            b"\x03\0\0\0\0\0\x04\0\0\0move\0\0\0\0",
        ),
    ],
)
def test_a_call_is_these_bytes(
    version: str, reducer: str, amount: AmountType, call: bytes, probe: bytes
) -> None:
    calls = Calls(version, reducer, _TRANSFER, amount)
    assert calls.encode(0x01020304, (5, 6, 7)) == call
    assert calls.encode_probe() == probe


def test_a_text_has_its_length_before_it() -> None:
    arguments = b"\x05\0\0\0\0\0\0\0\x02\0\0\0\x02\0\0\0az"
    head = b"\x03\x04\0\0\0\0\x04\0\0\0send"
    calls = Calls("v3", "send", _MESSAGE)
    assert calls.encode(4, (5, 2**33, "az")) == head + struct.pack("<I", len(arguments)) + arguments


def test_a_payload_takes_all_calls_within_its_limit_and_one_at_least() -> None:
    short, long = b"x" * 1000, b"x" * 70_000
    assert calls_of_payload([short] * 70) == [short] * 65
    assert calls_of_payload([short] * 3) == [short] * 3
    assert calls_of_payload([long, short]) == [long]
    assert calls_of_payload([short, long]) == [short]


@pytest.mark.parametrize(
    ("outcome", "answer"),
    [
        (b"\x01", ACKNOWLEDGED),
        (b"\x00" + bytes(8), ACKNOWLEDGED),
        (_refused("insufficient"), _INSUFFICIENT),
        (_refused("no account 9"), Answer("error", "no account 9")),
        (b"\x03" + _text("insufficient"), Answer("error", "insufficient")),
    ],
)
def test_the_outcome_decides_in_v2_and_v3(outcome: bytes, answer: Answer) -> None:
    for version in ("v2", "v3"):
        assert list(read(version, b"\0" + _result(5, outcome), _REFUSALS)) == [(5, answer)]


@pytest.mark.parametrize(
    ("status", "request_id", "answer"),
    [
        (b"\x00" + bytes(4), 5, ACKNOWLEDGED),
        (b"\x01" + _text("insufficient"), 0, _INSUFFICIENT),
        (b"\x01" + _text("no account 9"), 5, Answer("error", "no account 9")),
        (b"\x02", 5, Answer("error", "out of energy")),
    ],
)
def test_the_status_decides_in_v1(status: bytes, request_id: int, answer: Answer) -> None:
    assert list(read("v1", _update(status, request_id), _REFUSALS)) == [(request_id, answer)]


def test_only_v3_puts_several_messages_into_a_payload() -> None:
    payload = b"\0" + _GREETING + _result(1, _refused("insufficient")) + _result(2, b"\x01")
    assert list(read("v3", payload, _REFUSALS)) == [(1, _INSUFFICIENT), (2, ACKNOWLEDGED)]
    with pytest.raises(ClientError, match="more than one message in a payload of v2"):
        list(read("v2", payload))


@pytest.mark.parametrize(
    ("version", "payload"),
    [
        ("v1", _update(b"\x00" + bytes(4), 0)),
        ("v1", _update(b"\x00\x01\0\0\0", 5)),
        ("v1", _update(b"\x03", 5)),
        ("v1", _update(b"\x00" + bytes(4), 5) + b"\0"),
        ("v2", b"\0" + _result(5, b"\x04")),
        ("v3", b"\0" + _result(5, b"\x00" + bytes(4) + b"\x01\0\0\0")),
        ("v3", b"\0" + _result(5, b"\x02\x05\0\0\0\0\0\0\0\x09")),
        ("v3", b"\0\x04" + bytes(20)),
        ("v3", b"\x01" + _result(5, b"\x01")),
        ("v3", b"\0"),
        ("v3", "text"),
    ],
)
def test_what_is_no_answer_is_refused(version: str, payload: bytes | str) -> None:
    with pytest.raises(ClientError, match="SpacetimeDB sent"):
        list(read(version, payload))


def test_an_answer_that_is_cut_is_refused() -> None:
    whole = b"\0" + _result(5, _refused("insufficient"))
    for length in range(1, len(whole)):
        with pytest.raises(ClientError, match="SpacetimeDB sent"):
            list(read("v3", whole[:length]))
