"""The HTTP API of a Convex server: its functions by name, and its version (docs.convex.dev, HTTP API)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx

from gapbook.errors import StackError

__all__ = ["Api"]

_REQUEST_TIMEOUT_S = 60.0
_ROWS_OF_A_PAGE = 4_000


class Api:
    """A session; what the server refuses is a StackError that says in which verb.

    ``last_words`` is what is told besides when the server does not answer.
    """

    def __init__(self, url: str, last_words: Callable[[], str]) -> None:
        self._session = httpx.Client(base_url=url, timeout=_REQUEST_TIMEOUT_S, trust_env=False)
        self._last_words = last_words

    def wait_until_ready(self, timeout_s: float) -> None:
        """Return once the server tells its version, as the makers' own health check asks."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            with contextlib.suppress(httpx.HTTPError):
                if self._session.get("/version").status_code == httpx.codes.OK:
                    return
            time.sleep(0.1)
        raise StackError(f"convex: it tells no version after {timeout_s:.0f} s{self._last_words()}")

    def version(self) -> str:
        answer = self._answer("read the version", "GET", "/version")
        return answer.text.strip() or "it says none"

    def mutation(self, verb: str, path: str, arguments: Mapping[str, Any]) -> Any:
        """What a mutation returns."""
        return self._function(verb, "mutation", path, arguments)

    def pages(self, verb: str, path: str, arguments: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Every row that a paginated query finds."""
        cursor: str | None = None
        while True:
            options = {"numItems": _ROWS_OF_A_PAGE, "cursor": cursor}
            found = self._function(verb, "query", path, {**arguments, "paginationOpts": options})
            yield from found["page"]
            if found["isDone"]:
                return
            cursor = found["continueCursor"]

    def close(self) -> None:
        self._session.close()

    def _function(self, verb: str, kind: str, path: str, arguments: Mapping[str, Any]) -> Any:
        asked = {"path": path, "format": "json", "args": dict(arguments)}
        answer = self._answer(verb, "POST", f"/api/{kind}", json=asked).json()
        if answer.get("status") != "success":
            said = " ".join(str(answer.get("errorMessage", answer)).split())
            raise StackError(f"convex: {verb}: {path} failed: {said[:300]}")
        return answer["value"]

    def _answer(self, verb: str, method: str, path: str, **parameters: Any) -> httpx.Response:
        try:
            answer = self._session.request(method, path, **parameters)
        except httpx.HTTPError as error:
            raise StackError(
                f"convex: {verb}: {error or type(error).__name__}{self._last_words()}"
            ) from error
        if answer.status_code != httpx.codes.OK:
            said = " ".join(answer.text.split())
            raise StackError(f"convex: {verb}: the server answered {answer.status_code}: {said[:300]}")
        return answer
