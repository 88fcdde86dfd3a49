"""The container engine of this machine, through the Docker SDK, and its errors in one line."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from typing import TypeAlias

import docker
import docker.constants
import docker.errors
import requests
import urllib3.exceptions
from docker.context import ContextAPI

from gapbook.errors import SetupError, StackError
from gapbook.record.absent import NO_ENGINE

__all__ = [
    "ENGINE_FAULTS",
    "Engine",
    "connected",
    "described_engine",
    "engine_address",
    "engine_errors",
    "engine_here",
    "one_line_reason",
]

Engine: TypeAlias = docker.DockerClient
ENGINE_FAULTS = (
    docker.errors.DockerException,
    docker.errors.StreamParseError,
    requests.RequestException,
    urllib3.exceptions.HTTPError,
)
"""What the SDK raises when the engine refuses, falls silent or goes away; pulls and builds read its stream unwrapped."""
_TIMEOUT_S = 60
_MOST_CHARACTERS = 300
_GET_ONE = "install one (Debian: apt-get install docker.io) and start it, or use backend=native"


def connected() -> Engine:
    """The engine that ``DOCKER_HOST``, the command line's context or the usual socket leads to; whoever asks for it
    closes it (:func:`engine_here`).

    Raises SetupError where none answers, and for one of another machine: nobody here could read what its
    containers use, and the load would cross a network that is no part of the scenario.
    """
    address = engine_address()
    kind, _, path = address.rpartition("://")
    if not kind.endswith("unix"):
        raise SetupError(
            f"docker: the engine at {address} is on another machine; unset DOCKER_HOST to use the one of this machine"
        )
    try:
        # The SDK would leave a socket open that does not connect.
        with socket.socket(socket.AF_UNIX) as probe:
            probe.connect(path)
        return docker.DockerClient(base_url=f"unix://{path}", timeout=_TIMEOUT_S)
    except OSError as error:
        raise SetupError(f"{NO_ENGINE} at {path} ({error.strerror or error}); {_GET_ONE}") from error
    except docker.errors.DockerException as error:
        raise SetupError(f"{NO_ENGINE} ({one_line_reason(error)}); {_GET_ONE}") from error


def engine_address() -> str:
    """Where the engine of this user is reached."""
    try:
        named = os.environ.get("DOCKER_HOST") or ContextAPI.kwargs_from_context().get("base_url")
    except (docker.errors.DockerException, OSError) as error:
        raise SetupError(f"docker: its configuration cannot be read ({one_line_reason(error)})") from error
    return str(named or docker.constants.DEFAULT_UNIX_SOCKET)


@contextlib.contextmanager
def engine_here() -> Iterator[Engine]:
    """:func:`connected`, for as long as the block lasts."""
    engine = connected()
    try:
        yield engine
    finally:
        engine.close()


def described_engine(engine: Engine) -> dict[str, str]:
    """What a reader must know of an engine to compare: version, and how it keeps layers."""
    with engine_errors("docker: describe the engine"):
        said = engine.info()
    return {"engine": f"docker {said['ServerVersion']}", "storage_driver": str(said["Driver"])}


@contextlib.contextmanager
def engine_errors(what: str) -> Iterator[None]:
    """What the engine refuses, or that it is gone, as a StackError in one line."""
    try:
        yield
    except ENGINE_FAULTS as error:
        raise StackError(f"{what}: {one_line_reason(error)}") from error


def one_line_reason(error: BaseException) -> str:
    """The innermost words of an error of the SDK, which wraps them several times."""
    said = getattr(error, "explanation", None) or str(error) or type(error).__name__
    return " ".join(str(said).split())[:_MOST_CHARACTERS]
