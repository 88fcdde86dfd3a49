"""A SpacetimeDB server on another machine: what it says of itself over HTTP, and no more."""

from __future__ import annotations

from urllib.parse import urlsplit

import httpx

from gapbook.deploy.server import Server, ServerChoice
from gapbook.errors import StackError

from .running import host_and_port

__all__ = ["said_by", "token_in"]

_ANSWER_WITHIN_S = 10.0


def said_by(choice: ServerChoice) -> Server:
    """The server that was named, as it answers ``GET /v1/health``: its version, and no hash, which nobody can read from here. Raises
    StackError for one that does not answer or does not say its version."""
    url = choice.endpoint or ""
    host, port = host_and_port(url)
    where = f"{host}:{port}"
    try:
        answer = httpx.get(
            f"http://{where}/v1/health", headers=_who(url), timeout=_ANSWER_WITHIN_S, trust_env=False
        )
        version = str(answer.raise_for_status().json()["version"])
    except (httpx.HTTPError, LookupError, TypeError, ValueError) as error:
        raise StackError(
            f"spacetimedb: {where} does not say its version at /v1/health ({error or type(error).__name__}), as servers "
            "from 2.0.1 on do; name one that does"
        ) from error
    return Server(choice.without_password(), version, "")


def token_in(url: str) -> str:
    """The token with which the reader logs in there: the password of the URL; empty for a server that takes anybody."""
    return urlsplit(url).password or ""


def _who(url: str) -> dict[str, str]:
    token = token_in(url)
    return {"Authorization": f"Bearer {token}"} if token else {}
