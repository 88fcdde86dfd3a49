"""One database of a SpacetimeDB server, spoken to over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import httpx

from gapbook.errors import StackError

__all__ = ["Database"]

_REQUEST_TIMEOUT_S = 60.0


class Database:
    """A session for one database; what the server refuses is a StackError that says in which verb.

    ``last_words`` is what is told besides when the server does not answer. ``token`` is who we are there.
    """

    def __init__(self, host: str, port: int, name: str, last_words: Callable[[], str]) -> None:
        self._path = f"/database/{name}"
        self._last_words = last_words
        self._session = httpx.Client(
            base_url=f"http://{host}:{port}/v1", timeout=_REQUEST_TIMEOUT_S, trust_env=False
        )
        self.token = ""

    def log_in(self) -> None:
        """Be somebody new on the server."""
        self.token = str(self._request("log in", "POST", "/identity").json()["token"])
        self._session.headers["Authorization"] = f"Bearer {self.token}"

    def publish(self, program: bytes) -> None:
        """Load a module into the database, emptied of whatever it held before."""
        self._request("publish the module", "PUT", self._path, params={"clear": "true"}, content=program)

    def call(self, verb: str, reducer: str, arguments: Sequence[Any]) -> None:
        """Call a reducer and wait for its end."""
        self._request(verb, "POST", f"{self._path}/call/{reducer}", json=list(arguments))

    def described(self) -> dict[str, Any]:
        """What the server says of the database."""
        described: dict[str, Any] = self._request("describe", "GET", self._path).json()
        return described

    def identity(self) -> str:
        """The database as the server's metrics name it."""
        return str(self.described()["database_identity"]["__identity__"]).removeprefix("0x")

    def metrics(self, verb: str) -> str:
        """The text of the server's metrics."""
        return self._request(verb, "GET", "/metrics").text

    def rows(self, verb: str, selected: str) -> list[list[Any]]:
        """What ``SELECT selected`` returns."""
        answer = self._request(verb, "POST", f"{self._path}/sql", content=f"SELECT {selected}")
        rows: list[list[Any]] = json.loads(answer.content)[0]["rows"]
        return rows

    def close(self) -> None:
        self._session.close()

    def _request(self, verb: str, method: str, path: str, **parameters: Any) -> httpx.Response:
        try:
            answer = self._session.request(method, path, **parameters)
        except httpx.HTTPError as error:
            raise StackError(
                f"spacetimedb: {verb}: {error or type(error).__name__}{self._last_words()}"
            ) from error
        if answer.status_code != httpx.codes.OK:
            raise StackError(
                f"spacetimedb: {verb}: the server answered {answer.status_code}: {answer.text[:300]}"
            )
        return answer
