"""SpacetimeDB's messages in BSATN (little-endian, lengths as u32), in every version of its protocol.

In v1 and v2 a payload is one call or one answer; in v3 it is one or more. v3 has the messages of v2. In 1.2.0 a
failed call comes back without its request id.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from gap_python.answer import ACKNOWLEDGED, Answer, error_answer, refusal_answer
from gap_python.failure import EXIT_INTEGRITY, ClientError
from gap_python.workload import Fields, Kind

ArgumentType = Literal["u32", "u64", "i64", "text"]
AmountType = Literal["u32", "i64"]
"""Of every field named ``amount``."""

_FORMATS: Mapping[ArgumentType, str] = {"u32": "I", "u64": "Q", "i64": "q"}
_UNCOMPRESSED = 0
_U32 = struct.Struct("<I")
_FLAGS = 0

_V1_CALL_REDUCER = 0
# request id, flags
_V1_TAIL = struct.Struct("<IB")
_V1_TRANSACTION_UPDATE = 1
_V1_IDENTITY_TOKEN = 3
_V1_COMMITTED, _V1_FAILED, _V1_OUT_OF_ENERGY = range(3)
# timestamp, caller's identity, caller's connection
_V1_BEFORE_REDUCER_BYTES = 8 + 32 + 16
# energy, duration
_V1_AFTER_REQUEST_ID_BYTES = 16 + 8

_V2_CALL_REDUCER = 3
# tag, request id, flags
_V2_HEAD = struct.Struct("<BIB")
_V2_INITIAL_CONNECTION = 0
_V2_REDUCER_RESULT = 6
_V2_OK, _V2_OK_EMPTY, _V2_ERROR, _V2_INTERNAL_ERROR = range(4)
# tag, request id, timestamp, outcome
_V2_RESULT = struct.Struct("<BIqB")
# identity, connection
_V2_BEFORE_TOKEN_BYTES = 32 + 16


class Calls:
    """The calls of one reducer in one version of the protocol."""

    def __init__(self, version: str, reducer: str, kind: Kind, amount: AmountType = "u32") -> None:
        self._version, self._name = version, _sized(reducer.encode())
        self._encode_arguments = _encoder(
            [amount if field == "amount" else type_ for field, type_ in kind.items()]
        )

    def encode(self, request_id: int, fields: Fields) -> bytes:
        return self._call(request_id, self._encode_arguments(fields))

    def encode_probe(self) -> bytes:
        """A call without arguments: the server refuses it before it runs anything, and says so if there is no
        such reducer."""
        return self._call(0, b"")

    def _call(self, request_id: int, arguments: bytes) -> bytes:
        if self._version == "v1":
            head, tail = bytes([_V1_CALL_REDUCER]), _V1_TAIL.pack(request_id, _FLAGS)
            return b"".join((head, self._name, _U32.pack(len(arguments)), arguments, tail))
        head = _V2_HEAD.pack(_V2_CALL_REDUCER, request_id, _FLAGS)
        return b"".join((head, self._name, _U32.pack(len(arguments)), arguments))


def _encoder(types: Sequence[ArgumentType]) -> Callable[[Fields], bytes]:
    """What writes the arguments, in one step where their length is fixed."""
    if "text" not in types:
        fixed = struct.Struct("<" + "".join(_FORMATS[type_] for type_ in types))
        return lambda fields: fixed.pack(*fields)
    writers: list[Callable[..., bytes]] = [
        _write_text if type_ == "text" else struct.Struct(f"<{_FORMATS[type_]}").pack for type_ in types
    ]
    return lambda fields: b"".join([write(value) for write, value in zip(writers, fields, strict=True)])


def _write_text(text: str) -> bytes:
    return _sized(text.encode())


def _sized(content: bytes) -> bytes:
    return _U32.pack(len(content)) + content


def read(version: str, payload: str | bytes, refusals: Sequence[str] = ()) -> Iterator[tuple[int, Answer]]:
    """The answers in a payload, each with its request id (0 where the server gives none); none in a greeting.

    ``refusals`` are the texts of a reducer that are refusals by name. Raises ClientError for what does not belong here.
    """
    if not isinstance(payload, bytes):
        raise broken("a text message")
    if len(payload) < 2 or payload[0] != _UNCOMPRESSED:
        raise broken("an empty or compressed message, where no compression was asked for")
    try:
        if version == "v1":
            yield from _read_v1(payload, refusals)
            return
        at = 1
        while at < len(payload):
            if version == "v2" and at > 1:
                raise broken("more than one message in a payload of v2")
            if payload[at] == _V2_INITIAL_CONNECTION:
                at = _skip(payload, at + 1 + _V2_BEFORE_TOKEN_BYTES)
                continue
            at, request_id, answer = _read_result(payload, at, refusals)
            yield request_id, answer
    except struct.error as error:
        raise broken("an answer shorter than its parts") from error


def _read_result(payload: bytes, at: int, refusals: Sequence[str]) -> tuple[int, int, Answer]:
    """Where the result ends that stands at ``at``, its request id and what it says."""
    tag, request_id, _timestamp, outcome = _V2_RESULT.unpack_from(payload, at)
    if tag != _V2_REDUCER_RESULT:
        raise broken(f"a message with tag {tag}, which answers no call")
    at += _V2_RESULT.size
    if outcome == _V2_OK_EMPTY:
        return at, request_id, ACKNOWLEDGED
    if outcome == _V2_OK:
        at = _skip(payload, at)
        (query_sets,) = _U32.unpack_from(payload, at)
        if query_sets:
            raise broken(f"rows of {query_sets} query sets, though nothing is subscribed to")
        return at + 4, request_id, ACKNOWLEDGED
    if outcome not in {_V2_ERROR, _V2_INTERNAL_ERROR}:
        raise broken(f"a reducer's result with outcome {outcome}")
    end = _skip(payload, at)
    if outcome == _V2_INTERNAL_ERROR:
        return end, request_id, error_answer(payload[at + 4 : end].decode(errors="replace"))
    # The reducer's error value, in BSATN: of `Result<(), String>` a text with its own length.
    if _skip(payload, at + 4) != end:
        raise broken("a refusal that is not a text")
    return end, request_id, _judge(payload[at + 8 : end], refusals)


def _read_v1(message: bytes, refusals: Sequence[str]) -> Iterator[tuple[int, Answer]]:
    if message[1] == _V1_IDENTITY_TOKEN:
        return
    if message[1] != _V1_TRANSACTION_UPDATE:
        raise broken(f"a message with tag {message[1]}, which answers no call")
    status, at = message[2:3], 3
    if status == bytes([_V1_COMMITTED]):
        (tables,) = _U32.unpack_from(message, at)
        if tables:
            raise broken(f"rows of {tables} tables, though nothing is subscribed to")
        answer, at = ACKNOWLEDGED, at + 4
    elif status == bytes([_V1_FAILED]):
        end = _skip(message, at)
        answer, at = _judge(message[at + 4 : end], refusals), end
    elif status == bytes([_V1_OUT_OF_ENERGY]):
        answer = error_answer("out of energy")
    else:
        raise broken(f"a transaction update with status {status.hex()}")
    # The reducer's name, its id, its arguments, the request id; nothing may be left over.
    at = _skip(message, _skip(message, at + _V1_BEFORE_REDUCER_BYTES) + 4)
    (request_id,) = _U32.unpack_from(message, at)
    if len(message) != at + 4 + _V1_AFTER_REQUEST_ID_BYTES:
        raise broken("a transaction update of another length than its parts")
    if request_id == 0 and answer is ACKNOWLEDGED:
        raise broken("a committed transaction without its request id")
    yield request_id, answer


def _judge(refusal: bytes, refusals: Sequence[str]) -> Answer:
    """What a reducer's own refusal means."""
    return refusal_answer(refusal.decode(errors="replace"), refusals)


def _skip(message: bytes, at: int) -> int:
    """Where the bytes end whose length stands at ``at``; raises ClientError where they end too early."""
    (length,) = _U32.unpack_from(message, at)
    end = at + 4 + int(length)
    if end > len(message):
        raise broken("an answer shorter than its parts")
    return end


def broken(what: str) -> ClientError:
    return ClientError(EXIT_INTEGRITY, f"SpacetimeDB sent {what}")
