"""The address of a Dask scheduler, as a reader names it."""

from __future__ import annotations

import re

from gapbook.errors import ParameterError, SetupError, cut

__all__ = ["require_scheduler_address"]

_ADDRESS = re.compile(r"(?:tcp|tls)://(?:[\w.-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})")
_MOST_PORT = 65_535


def require_scheduler_address(text: str) -> None:
    """Raises ParameterError for what names no scheduler, and SetupError for one that is spoken to in TLS while Dask was
    named no certificates.

    Asked before Dask is loaded, which tries for long what it cannot read, and ends in a trace.
    """
    address = _ADDRESS.fullmatch(text)
    if address is None or not 0 < int(address["port"]) <= _MOST_PORT:
        raise ParameterError(
            f"scheduler {cut(repr(text))}: is no address; allowed: tcp://HOST:PORT or tls://HOST:PORT, "
            "as dask scheduler prints its own: tcp://10.0.0.1:8786"
        )
    if text.startswith("tls:"):
        _require_certificates(text)


def _require_certificates(address: str) -> None:
    from dask import config  # noqa: PLC0415 (of use to such an address alone)

    if config.get("distributed.comm.tls.ca-file", None) is None:
        raise SetupError(
            f"scheduler {cut(address)}: tls needs certificates; name them to Dask (distributed.comm.tls), or use tcp://"
        )
