"""Where a load client calls and what it is told there, in the words of ``clients/CONTRACT.md``."""

from __future__ import annotations

from typing import NotRequired, TypedDict

__all__ = ["Endpoint", "ExpectedAnswer", "SentRequest"]


class ExpectedAnswer(TypedDict, total=False):
    """An answer over HTTP; what is left out may be anything."""

    status: list[int]
    json: dict[str, object]
    text: str


class SentRequest(TypedDict):
    """What a client sends over HTTP for a kind of operation, and how it reads the answer."""

    method: str
    path: str
    headers: NotRequired[dict[str, str]]
    success: ExpectedAnswer
    body: NotRequired[str]
    refusals: NotRequired[dict[str, ExpectedAnswer]]
    retries: NotRequired[str]


class Endpoint(TypedDict, total=False):
    """Each protocol has its own of these keys. A stack that has more to say, as a second port that a tier means or a
    key that its requests name, extends this."""

    protocol: str
    host: str
    port: int
    user: str
    password: str
    database: str
    token: str
    path: str
    others: list[str]
    synchronous: str
    mode: str
    function: str
    functions: dict[str, str]
    reducer: str
    reducers: dict[str, str]
    batch_size: int
    amount: str
    coalesce: bool
    confirmed: bool
    newest: str
    requests: dict[str, SentRequest]
