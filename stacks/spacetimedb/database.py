"""One database of a SpacetimeDB server, spoken to over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import polars as pl

from gapbook.errors import StackError
from gapbook.model.declaration import StateTable
from gapbook.model.workload import frame_schema
from gapbook.record.schema import one_line

__all__ = ["Database"]

_REQUEST_TIMEOUT_S = 60.0
_MOST_SHOWN = 100


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

    def log_in(self, token: str = "") -> None:
        """Be whom the token says on the server, or somebody new."""
        self.token = token or str(self._told("log in", "POST", "/identity", read=lambda told: told["token"]))
        self._session.headers["Authorization"] = f"Bearer {self.token}"

    def publish(self, program: bytes) -> None:
        """Load a module into the database, emptied of whatever it held before."""
        self._request("publish the module", "PUT", self._path, params={"clear": "true"}, content=program)

    def call(self, verb: str, reducer: str, arguments: Sequence[Any]) -> None:
        """Call a reducer and wait for its end."""
        self._request(verb, "POST", f"{self._path}/call/{reducer}", json=list(arguments))

    def identity(self) -> str:
        """The database as the server's metrics name it."""
        named = self._told(
            "describe", "GET", self._path, read=lambda told: told["database_identity"]["__identity__"]
        )
        return str(named).removeprefix("0x")

    def program(self) -> str:
        """The hash of the module that was loaded first."""
        return str(self._told("describe", "GET", self._path, read=lambda told: told["initial_program"]))

    def metrics(self, verb: str) -> str:
        """The text of the server's metrics."""
        return self._request(verb, "GET", "/metrics").text

    def rows(self, verb: str, name: str, table: StateTable, where: str = "") -> pl.DataFrame:
        """Rows of a table, with the columns that it declares."""
        # In quotes, for ``index`` is a word of the server's SQL.
        columns = ", ".join(f'"{column}"' for column in table.columns)
        rows = self._told(
            verb,
            "POST",
            f"{self._path}/sql",
            read=lambda told: list(map(list, told[0]["rows"])),
            content=f"SELECT {columns} FROM {name} {where}".rstrip(),
        )
        try:
            return pl.DataFrame(rows, schema=frame_schema(table), orient="row")
        except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
            raise StackError(f"spacetimedb: {verb}: rows of other types ({one_line(error)})") from error

    def close(self) -> None:
        self._session.close()

    def _told(
        self, verb: str, method: str, path: str, *, read: Callable[[Any], Any], **parameters: Any
    ) -> Any:
        """What ``read`` makes of the JSON that is answered."""
        answer = self._request(verb, method, path, **parameters)
        try:
            return read(json.loads(answer.content))
        except (LookupError, TypeError, ValueError, RecursionError) as error:
            shown = repr(answer.content[:_MOST_SHOWN])
            raise StackError(f"spacetimedb: {verb}: the server answered what is none: {shown}") from error

    def _request(self, verb: str, method: str, path: str, **parameters: Any) -> httpx.Response:
        try:
            answer = self._session.request(method, path, **parameters)
        except httpx.HTTPError as error:
            raise StackError(
                f"spacetimedb: {verb}: {error or type(error).__name__}{self._last_words()}"
            ) from error
        if answer.status_code != httpx.codes.OK:
            raise StackError(
                f"spacetimedb: {verb}: the server answered {answer.status_code}: {one_line(answer.text)}"
            )
        return answer
