"""Operations as functions of the database."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg import sql
from psycopg.types.numeric import Int4, Int8

from gap_python.answer import ACKNOWLEDGED, Answer, error_answer
from gap_python.workload import Fields, FieldType, Kind

_DONE, _REFUSED = 1, 0


@dataclass(frozen=True)
class _Type:
    """How Postgres takes a field."""

    name: LiteralString
    oid: int
    parameter: Callable[[Any], Any]
    """For psycopg, so that it sends this type."""
    binary: Callable[[Any], bytes]


_TYPES: Mapping[FieldType, _Type] = {
    "u32": _Type("int4", 23, Int4, lambda value: value.to_bytes(4, "big")),
    "u64": _Type("int8", 20, Int8, lambda value: value.to_bytes(8, "big")),
    "text": _Type("text", 25, str, str.encode),
}


class Function:
    """The database function that is one kind of operation."""

    def __init__(self, name: str, kind: Kind, refusals: tuple[str, ...]) -> None:
        self.name = name
        self.types = [_TYPES[field] for field in kind.values()]
        self.identifier = sql.Identifier(name)
        casts = sql.SQL(", ").join([sql.SQL("%s::" + each.name) for each in self.types])
        self.call = sql.SQL("SELECT {}({})").format(self.identifier, casts)
        self._answers = dict(zip((_DONE, _REFUSED), (ACKNOWLEDGED, *map(Answer, refusals)), strict=False))

    @property
    def signature(self) -> str:
        types = ", ".join(each.name for each in self.types)
        return f"{self.identifier.as_string()}({types})"

    @property
    def statement(self) -> bytes:
        """The call for libpq."""
        places = ", ".join(f"${place}" for place, _ in enumerate(self.types, 1))
        return f"SELECT {self.identifier.as_string()}({places})".encode()

    def parameters(self, fields: Fields) -> list[Any]:
        return [each.parameter(value) for each, value in zip(self.types, fields, strict=True)]

    def binary(self, fields: Fields) -> list[bytes]:
        return [each.binary(value) for each, value in zip(self.types, fields, strict=True)]

    def answer(self, status: object) -> Answer:
        """What an int4 says; anything else that was returned is an error."""
        if type(status) is int and status in self._answers:
            return self._answers[status]
        return error_answer(f"{self.name} returned {status!r}, which says neither done nor refused")
