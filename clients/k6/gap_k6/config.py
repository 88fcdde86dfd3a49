"""The configuration of the client contract: decoded by type, and refused where k6 cannot do what it asks for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import msgspec

from gap_k6 import CONTRACT_VERSION
from gap_k6.failure import EXIT_INTEGRITY, ClientError, message_of, refused
from gap_k6.template import parts_of
from gap_k6.workload import Workload, read_workload

Port = Annotated[int, msgspec.Meta(ge=1, le=65_535)]
Whole = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]
Duration = Annotated[float, msgspec.Meta(ge=0, le=86_400)]


class Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A name that is not declared is refused."""


class Answer(Strict, frozen=True):
    """What an answer looks like: its whole body, or keys of it; without either any body does."""

    status: tuple[int, ...] = (200,)
    text: str | None = None
    json: dict[str, Any] | None = None


class Request(Strict, frozen=True):
    """How operations of one kind are sent, as their module declares it."""

    method: str
    path: str
    success: Answer
    headers: dict[str, str] = {}
    body: str | None = None
    refusals: dict[str, Answer] = {}
    retries: str | None = None


class Endpoint(Strict, frozen=True):
    protocol: Literal["http"]
    host: str
    port: Port
    requests: dict[str, Request]


class NamedFile(Strict, frozen=True):
    path: str
    sha256: str


class Work(Strict, frozen=True):
    name: str
    seed: Whole
    parameters: dict[str, int | float | str]
    files: dict[str, NamedFile]


class Loop(Strict, frozen=True):
    kind: Literal["closed", "open"]
    rate_per_s: float | None = None


class Configuration(Strict, frozen=True):
    contract: int
    endpoint: Endpoint
    workload: Work
    connections: Annotated[int, msgspec.Meta(ge=1, le=65_536)]
    in_flight: int
    loop: Loop
    warmup_s: Duration
    window_s: Annotated[float, msgspec.Meta(ge=0.001, le=86_400)]
    drain_s: Duration
    request_timeout_s: Annotated[float, msgspec.Meta(ge=0.001, le=86_400)]
    first_connection: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 65_537)] = 0
    threads: int = 1
    max_retries: int = 0
    flaws: list[Any] = []


class Draw(Strict, frozen=True):
    connection: Whole
    first_index: Whole
    count: Whole


class DrawConfiguration(msgspec.Struct, frozen=True):
    """What ``--draw`` needs; the rest of a configuration may be there and is not looked at."""

    contract: int
    workload: Work
    draw: Draw


class CompiledRequest(TypedDict):
    """A request as the script takes it: of each template its parts, as :func:`gap_k6.template.parts_of` has them."""

    method: str
    path: list[str]
    headers: dict[str, list[str]]
    body: list[str] | None
    success: dict[str, object]
    refusals: dict[str, dict[str, object]]
    retries: str | None


class ToldWork(TypedDict):
    """The work as the script takes it, with a path for each file."""

    name: str
    seed: int
    parameters: dict[str, int | float | str]
    files: dict[str, str]


def read_configuration(text: str) -> tuple[Configuration, Workload]:
    """The configuration and the workload that it names; raises ClientError with what is allowed."""
    told = _parsed(text)
    _require_possible(told)
    configuration = _decoded(told, Configuration)
    if (configuration.loop.kind == "open") != (configuration.loop.rate_per_s is not None):
        raise refused("loop.rate_per_s", "is of the open loop, and of no other")
    workload = read_workload(configuration.workload.name)
    _require_requests(configuration.endpoint, workload)
    _require_files(configuration.workload)
    return configuration, workload


def read_draw_configuration(text: str) -> tuple[DrawConfiguration, Workload]:
    """As :func:`read_configuration`, for ``--draw``."""
    told = _parsed(text)
    _require_contract(told)
    configuration = _decoded(told, DrawConfiguration)
    workload = read_workload(configuration.workload.name)
    _require_files(configuration.workload)
    return configuration, workload


def _parsed(text: str) -> dict[str, Any]:
    try:
        told = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise refused("configuration", f"standard input is not JSON ({message_of(error)})") from error
    if not isinstance(told, dict):
        raise refused("configuration", "standard input is no JSON object")
    return told


def _decoded(told: dict[str, Any], kind: type[Any]) -> Any:
    try:
        return msgspec.convert(told, kind)
    except msgspec.ValidationError as error:
        raise refused("configuration", message_of(error)) from error


def _require_contract(told: dict[str, Any]) -> None:
    if told.get("contract") != CONTRACT_VERSION:
        raise refused("contract", f"{told.get('contract')!r} is refused; allowed: {CONTRACT_VERSION}")


def _require_possible(told: dict[str, Any]) -> None:
    """Refuse, by name, what other clients can do and this one cannot."""
    _require_contract(told)
    endpoint = told.get("endpoint")
    protocol = endpoint.get("protocol") if isinstance(endpoint, dict) else None
    if protocol != "http":
        raise refused("endpoint.protocol", f'{protocol!r} is refused; allowed: "http"')
    for name, why in (
        ("in_flight", "a user of k6 has one request out"),
        ("threads", "k6 spreads its users over all processors itself"),
    ):
        if told.get(name, 1) != 1:
            raise refused(name, f"{told[name]!r} is refused; allowed: 1, as {why}")
    if told.get("flaws"):
        raise refused("flaws", f"{told['flaws']!r} is refused; this client has none")


def _require_requests(endpoint: Endpoint, workload: Workload) -> None:
    if endpoint.requests.keys() != workload.fields.keys():
        raise refused("endpoint.requests", f"must be of the kinds {', '.join(workload.fields)}")
    for kind, request in endpoint.requests.items():
        if strange := request.refusals.keys() - set(workload.refusals):
            allowed = ", ".join(workload.refusals) or "none"
            raise refused(
                f"endpoint.requests.{kind}.refusals", f"{min(strange)!r} is refused; allowed: {allowed}"
            )
        compiled(request, workload.fields[kind], f"endpoint.requests.{kind}")


def compiled(request: Request, fields: Sequence[str], where: str) -> CompiledRequest:
    """Raises ClientError for a strange field."""
    headers = dict(request.headers)
    if request.body is not None and "content-type" not in {name.lower() for name in headers}:
        headers["Content-Type"] = "application/json"
    return {
        "method": request.method,
        "path": parts_of(request.path, fields, f"{where}.path"),
        "headers": {name: parts_of(text, fields, f"{where}.headers") for name, text in headers.items()},
        "body": None if request.body is None else parts_of(request.body, fields, f"{where}.body"),
        "success": msgspec.to_builtins(request.success),
        "refusals": msgspec.to_builtins(request.refusals),
        "retries": request.retries,
    }


def told_work(work: Work) -> ToldWork:
    """Where the script reads a file, a path has no folder to be relative to."""
    return {
        "name": work.name,
        "seed": work.seed,
        "parameters": work.parameters,
        "files": {name: str(Path(file.path).resolve()) for name, file in work.files.items()},
    }


def _require_files(work: Work) -> None:
    """The files must be what their hashes promise."""
    for name, file in work.files.items():
        try:
            data = Path(file.path).read_bytes()
        except OSError as error:
            raise refused(f"workload.files.{name}", message_of(error)) from error
        if hashlib.sha256(data).hexdigest() != file.sha256:
            raise ClientError(
                EXIT_INTEGRITY, f"workload.files.{name}: {file.path} does not have the sha256 that is given"
            )
