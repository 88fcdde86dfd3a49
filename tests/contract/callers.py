"""Single operations, asked for as a module declares them: one caller for each protocol that can be spoken by hand."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias
from urllib.parse import quote

import httpx
import psycopg
from psycopg import pq

from gapbook.deploy.environment import without_variables
from gapbook.model.declaration import Declaration
from tests.contract.ways import Way

__all__ = ["CALLERS", "Caller", "Fields", "spoken_by_hand"]

Fields: TypeAlias = Mapping[str, int | str]
Caller: TypeAlias = Callable[[str, Fields], str]
"""Runs one operation of a kind with its fields: ``done``, the name of a refusal, or ``error: `` and a reason."""
_PLACE = re.compile(r"\{\{|\{(\w+)\}")
_TIMEOUT_S = 20.0
_SQL_TYPES = {"u32": "int4", "u64": "int8", "text": "text"}


# --- HTTP, as the module's requests say -------------------------------------------------------
def filled(template: str, fields: Fields, encode: Callable[[Any], str]) -> str:
    """The template with each ``{field}`` replaced by its encoded value, and ``{{`` by one brace."""
    return _PLACE.sub(lambda found: encode(fields[found[1]]) if found[1] else "{", template)


def _percent_encoded(value: Any) -> str:
    return quote(str(value), safe="")


def _answers(expected: Mapping[str, Any], reply: httpx.Response) -> bool:
    """Whether a reply is the one that is described: status, keys at the top of its JSON, whole text."""
    said: Any = {}
    with contextlib.suppress(ValueError):
        said = reply.json()
    wanted = expected.get("json", {})
    return (
        reply.status_code in expected["status"]
        and (not wanted or (isinstance(said, dict) and wanted.items() <= said.items()))
        and expected.get("text", reply.text) == reply.text
    )


@contextlib.contextmanager
def http_caller(endpoint: Mapping[str, Any], declaration: Declaration) -> Iterator[Caller]:
    requests = endpoint["requests"]
    assert requests.keys() == declaration.kinds.keys()
    url = f"http://{endpoint['host']}:{endpoint['port']}"
    with httpx.Client(base_url=url, trust_env=False, timeout=_TIMEOUT_S) as client:

        def call(kind: str, fields: Fields) -> str:
            request = requests[kind]
            refusals = request.get("refusals", {})
            assert refusals.keys() == declaration.refusals.keys()
            reply = client.request(
                request["method"],
                filled(request["path"], fields, _percent_encoded),
                headers={name: filled(value, fields, str) for name, value in request["headers"].items()},
                content=filled(request["body"], fields, json.dumps) if "body" in request else None,
            )
            if _answers(request["success"], reply):
                return "done"
            named = [name for name, refusal in refusals.items() if _answers(refusal, reply)]
            return named[0] if named else f"error: {reply.text}"

        yield call


# --- functions over Postgres' protocol --------------------------------------------------------
def _statement(kind: str, endpoint: Mapping[str, Any], declaration: Declaration) -> str:
    """The call of one operation, whose function takes the fields of its kind in their order."""
    function = endpoint.get("functions", {}).get(kind, endpoint.get("function", kind))
    types = [_SQL_TYPES[field.type] for field in declaration.kinds[kind].fields]
    places = [f"${number}::{name}" for number, name in enumerate(types, start=1)]
    if endpoint.get("mode") == "batch":
        arrays = ", ".join(f"ARRAY[{place}]" for place in places)
        return f"SELECT ({function}_batch({arrays}))[1]"
    return f"SELECT {function}({', '.join(places)})"


@contextlib.contextmanager
def postgres_caller(endpoint: Mapping[str, Any], declaration: Declaration) -> Iterator[Caller]:
    address = {key: endpoint[key] for key in ("host", "port", "user", "password")}
    conninfo = psycopg.conninfo.make_conninfo(**address, dbname=endpoint["database"])
    with without_variables("PG"):
        connection = pq.PGconn.connect(conninfo.encode())
    assert connection.status == pq.ConnStatus.OK, connection.error_message

    def call(kind: str, fields: Fields) -> str:
        values = [str(fields[field.name]).encode() for field in declaration.kinds[kind].fields]
        result = connection.exec_params(_statement(kind, endpoint, declaration).encode(), values)
        if result.status != pq.ExecStatus.TUPLES_OK:
            return f"error: {result.error_message.decode().strip()}"
        status = result.get_value(0, 0)
        # Functions answer 1 for done; 0 is the first refusal that the workload names.
        return "done" if status == b"1" else next(iter(declaration.refusals), f"error: {status!r}")

    yield call
    connection.finish()


CALLERS = {"http": http_caller, "postgres": postgres_caller}


def spoken_by_hand(way: Way) -> bool:
    """Whether an operation is one call; a transaction of several statements is a load client's to speak."""
    mode = way.module.levels[way.access].endpoint.mode or "procedure"
    return way.protocol == "http" or (way.protocol in CALLERS and mode in {"procedure", "batch"})
