"""A running server that the reader named by URL.

One that is written into a command is on this machine, which its text alone must show: it is read before anything is
looked up or called, and strictly. What two readers of URLs could read as two hosts is refused, so that no packet leaves
for another machine by mistake. A server elsewhere is named by a variable of the shell that holds its URL, with what
logs in there: whoever sets it means that machine, and its password is in no command and no record.
"""

from __future__ import annotations

import ipaddress
import os
import re
from urllib.parse import unquote, urlsplit

from gapbook.errors import ParameterError, cut

__all__ = ["is_elsewhere", "require_this_machine", "url_in_variable"]

_LOCAL_NAME = "localhost"
_URL = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?:[^\s@/?#\\\[\]]*@)?(?P<host>\[[0-9a-fA-F:.]+\]|[\w.-]+)(?::[0-9]{1,5})?"
    r"(?:/[^\s@#\\?]*)?(?:\?(?P<query>[^\s@#\\?]*))?",
    re.ASCII,
)
_NAME_ANOTHER_HOST = frozenset({"host", "hostaddr", "service", "servicefile"})
"""Fields of a query by which a client library goes elsewhere."""
_VARIABLE = re.compile(r"GAPBOOK_\w+", re.ASCII)
"""Names of variables that reach the kernel in which a chapter runs."""


def require_this_machine(url: str) -> None:
    """Raise ParameterError unless the URL has one host and that is this machine; the message holds no password."""
    host = _host_of(url, "127.0.0.1")
    if not _is_this_machine(host):
        scheme = _scheme(url)
        raise ParameterError(
            f"servers: {host} is not this machine; name a server here as {scheme}://USER:PASSWORD@127.0.0.1:PORT/DATABASE, "
            "and one elsewhere by a variable that holds its URL: env:GAPBOOK_SERVER"
        )


def is_elsewhere(url: str) -> bool:
    """Whether the host of a URL is another machine by its text. Raises ParameterError where it has none or several."""
    return not _is_this_machine(_host_of(url, "HOST"))


def url_in_variable(name: str) -> str:
    """The URL of a server on any machine that a variable of the environment holds. Raises ParameterError, without a
    password, for a variable of another name, for none, and for what names no host or several."""
    if _VARIABLE.fullmatch(name) is None:
        raise ParameterError(
            f"servers: env:{cut(name)} names no variable of ours; allowed: env:GAPBOOK_ and a name"
        )
    url = os.environ.get(name, "")
    if not url:
        raise ParameterError(
            f"servers: {name} is not set; it is to hold the URL of the server: "
            f"export {name}=SCHEME://USER:PASSWORD@HOST:PORT/DATABASE"
        )
    _host_of(url, "HOST")
    return url


def _host_of(url: str, wanted: str) -> str:
    """The one host of a URL that is read strictly; raises ParameterError where it could be read as another."""
    if not url.isprintable() or (read := _URL.fullmatch(url)) is None:
        raise ParameterError(
            f"servers: the URL of {_scheme(url)} is not of the form SCHEME://USER:PASSWORD@{wanted}:PORT/DATABASE"
            " with one host; write other characters percent-encoded"
        )
    for field in (read["query"] or "").split("&"):
        name = unquote(field.partition("=")[0])
        if name in _NAME_ANOTHER_HOST:
            raise ParameterError(
                f"servers: {name} in the URL of {read['scheme']} may lead to another machine; leave it out"
            )
    return read["host"].strip("[]")


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
