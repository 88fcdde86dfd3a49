"""The environment of everything that a deployment starts, built from an allow-list.

A variable of the reader's shell, be it from a profile or a debugger's terminal, alters some programs and not others:
``PGOPTIONS`` slows what goes through libpq or node-postgres, and no client in Rust. So servers, tiers, clients and
null servers get nothing of it but ``PATH``. What a reader wants to vary is a setting of the contestant
(``environment``), which is recorded.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from gapbook.deploy.warden import TOKEN_VARIABLE, bare_environment
from gapbook.errors import ParameterError, cut
from gapbook.record.environment import Environment

__all__ = [
    "build_environment",
    "child_environment",
    "described_environment",
    "kernel_environment",
    "make_home",
    "only_variables",
    "require_declarable",
    "without_variables",
]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED = re.compile(r"PATH|HOME|TMPDIR|GAPBOOK_\w*")
"""What every program gets from its deployment, and no contestant can declare."""
_MOST_CHARACTERS = 1_000
_HOME = "home"
_IGNORED = "GAPBOOK_IGNORED"
"""Tells a kernel what the shell of the command that started it had."""
_ALTERS = re.compile(
    r"(PG|NODE_|BUN_|PYTHON(?!UTF8|UNBUFFERED|DONTWRITEBYTECODE)|TOKIO_|RUST_|(_RJEM_)?MALLOC_|MIMALLOC_|LD_|K6_|AWS_|SPACETIMEDB_|SQLITE_|OPENSSL_|SSL_)\w+"
    r"|UV_(THREADPOOL_SIZE|USE_IO_URING)|V8_\w+|GLIBC_TUNABLES|GO(DEBUG|GC|MAXPROCS|MEMLIMIT|TRACEBACK)|OMP_NUM_THREADS"
    r"|[A-Z]+_PROXY|[a-z]+_proxy"
)
"""Names of variables that are known to change what servers and clients do."""
_BUILDS = re.compile(
    r"(CARGO_(ENCODED_|BUILD_|TARGET_\w+_)?)?RUST(DOC)?FLAGS|CARGO_PROFILE_\w+|CARGO_BUILD_TARGET|CARGO_INCREMENTAL"
    r"|(HOST_|TARGET_)?(C|CPP|CXX|LD|AS)FLAGS(_\w+)?|CGO_\w+|GO(FLAGS|AMD64|EXPERIMENT|DEBUG)|NODE_(ENV|OPTIONS)"
    r"|PYTHON(PATH|HOME|STARTUP)|LD_PRELOAD"
)
"""Names of variables that change what a build makes; what it made is kept under the hash of its sources alone."""
_FOLDERS = ("GAPBOOK_BUILD", "GAPBOOK_CACHE", "GAPBOOK_DATA", "GAPBOOK_RUNS")
_KERNEL = re.compile(
    r"GAPBOOK_\w+|HOME|USER|LOGNAME|XDG_CACHE_HOME|TMPDIR|TZ|DOCKER_(HOST|CONFIG|CONTEXT|CERT_PATH|TLS_VERIFY)"
)
"""What a kernel needs besides: where things are kept, and where the container engine is."""
_ONE_AT_A_TIME = threading.RLock()
"""A process has one environment, which its threads share."""


def child_environment(directory: Path, token: str, declared: Mapping[str, str]) -> dict[str, str]:
    """What a program of a deployment in ``directory`` is started with: the shell's ``PATH``, one locale for all, a
    home and a temporary folder of the deployment's, and what its caller declares, which goes before these."""
    own = {"HOME": str(directory / _HOME), "TMPDIR": str(directory)}
    return {**bare_environment(), **own, **declared, TOKEN_VARIABLE: token}


def require_declarable(variables: Mapping[str, str]) -> None:
    """Raise ParameterError for variables that cannot be those of a contestant."""
    for name, value in variables.items():
        if _NAME.fullmatch(name) is None or _RESERVED.fullmatch(name):
            raise ParameterError(
                f"environment: {cut(repr(name))} cannot be set; allowed: letters, digits and _, and none of PATH, HOME, "
                "TMPDIR and GAPBOOK_..., which the deployment has itself"
            )
        if not isinstance(value, str) or len(value) > _MOST_CHARACTERS or not value.isprintable():
            raise ParameterError(
                f"environment: {name} = {cut(repr(value))} is no value; allowed: a line of at most "
                f"{_MOST_CHARACTERS} characters"
            )


def build_environment() -> dict[str, str]:
    """What a compiler or a package manager is started with: the shell's environment, in which people say how the
    network is reached and where tools lie, without what would make another program of the same sources."""
    kept = {name: value for name, value in os.environ.items() if _BUILDS.fullmatch(name) is None}
    # Empty, not absent: then cargo's own configuration files add no flags either.
    return {**kept, "CARGO_ENCODED_RUSTFLAGS": ""}


def kernel_environment() -> dict[str, str]:
    """What the kernel of a chapter is started with, in which our own sessions and reports run."""
    kept = {name: value for name, value in os.environ.items() if _KERNEL.fullmatch(name)}
    # A kernel works in the checkout: a folder that was named from where the command was given stays that folder.
    kept |= {name: str(Path(kept[name]).absolute()) for name in _FOLDERS if kept.get(name)}
    return {**kept, **bare_environment(), _IGNORED: ",".join(_ignored())}


def described_environment() -> Environment:
    """What a record says: the variables that all programs share, and the names of those of the reader's shell that
    are known to change servers and were not passed on. No value of the shell's is told, for it may be a secret."""
    shared = {**bare_environment(), "PATH": "the shell's", "HOME": "a new folder", "TMPDIR": "a new folder"}
    return Environment(shared, _ignored())


def _ignored() -> list[str]:
    before = os.environ.get(_IGNORED, "").split(",")
    return sorted({name for name in (*os.environ, *before) if _ALTERS.fullmatch(name)})


@contextmanager
def only_variables(variables: Mapping[str, str]) -> Iterator[None]:
    """These variables alone for what is started meanwhile, then all as before."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def without_variables(prefix: str, instead: Mapping[str, str] | None = None) -> Iterator[None]:
    """No variable whose name begins so but those of ``instead``, for a library that reads them in this process; other
    threads that want the like wait."""
    instead = {name: value for name, value in (instead or {}).items() if name.startswith(prefix)}
    with _ONE_AT_A_TIME:
        before = {name: value for name, value in os.environ.items() if name.startswith(prefix)}
        for name in before:
            del os.environ[name]
        os.environ.update(instead)
        try:
            yield
        finally:
            for name in instead:
                del os.environ[name]
            os.environ.update(before)


def make_home(directory: Path) -> None:
    """The home of a deployment's programs."""
    (directory / _HOME).mkdir()
