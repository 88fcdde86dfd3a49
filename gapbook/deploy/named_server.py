"""A running server that the reader named by URL: on this machine, which its text alone must show.

The text is read before anything is looked up or called, and strictly: what two readers of URLs could read as two
hosts is refused, so that no packet leaves for another machine.
"""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import unquote, urlsplit

from gapbook.errors import ParameterError

__all__ = ["require_this_machine"]

_LOCAL_NAME = "localhost"
_URL = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?:[^\s@/?#\\\[\]]*@)?(?P<host>\[[0-9a-fA-F:.]+\]|[\w.-]+)(?::[0-9]{1,5})?"
    r"(?:/[^\s@#\\?]*)?(?:\?(?P<query>[^\s@#\\?]*))?",
    re.ASCII,
)
_NAME_ANOTHER_HOST = frozenset({"host", "hostaddr", "service", "servicefile"})
"""Fields of a query by which a client library goes elsewhere."""


def require_this_machine(url: str) -> None:
    """Raise ParameterError unless the URL has one host and that is this machine; the message holds no password."""
    if not url.isprintable() or (read := _URL.fullmatch(url)) is None:
        raise ParameterError(
            f"servers: the URL of {_scheme(url)} is not of the form SCHEME://USER:PASSWORD@127.0.0.1:PORT/DATABASE"
            " with one host; write other characters percent-encoded"
        )
    host = read["host"].strip("[]")
    if not _is_this_machine(host):
        raise ParameterError(
            f"servers: {host} is not this machine, where alone load goes to; name it as "
            f"{read['scheme']}://USER:PASSWORD@127.0.0.1:PORT/DATABASE"
        )
    for field in (read["query"] or "").split("&"):
        name = unquote(field.partition("=")[0])
        if name in _NAME_ANOTHER_HOST:
            raise ParameterError(
                f"servers: {name} in the URL of {read['scheme']} may lead to another machine; leave it out"
            )


def _scheme(url: str) -> str:
    scheme = urlsplit(url).scheme if url.isprintable() and "[" not in url else ""
    return scheme or "a server"


def _is_this_machine(host: str) -> bool:
    if host == _LOCAL_NAME:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
