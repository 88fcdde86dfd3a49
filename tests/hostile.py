"""Variables that a profile, a debugger's terminal or a colleague's machine sets, and that change what programs do."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

__all__ = ["HOSTILE", "hostile_names", "hostile_shell"]

_NOWHERE = "http://127.0.0.1:9"
HOSTILE: Mapping[str, str] = {
    "PGOPTIONS": "-c synchronous_commit=on -c enable_indexscan=off -c enable_bitmapscan=off",
    "PGSSLMODE": "require",
    "PGHOST": "127.0.0.9",
    "PGPORT": "9",
    "PGUSER": "nobody-we-know",
    "PGDATABASE": "elsewhere",
    "PGPASSWORD": "a secret of the reader's",
    "PGAPPNAME": "hostile",
    "PGTZ": "Asia/Kathmandu",
    "PGDATA": "/nonexistent",
    "NODE_OPTIONS": "--jitless --max-old-space-size=64",
    "NODE_EXTRA_CA_CERTS": "/nonexistent",
    "NODE_DEBUG": "net,http",
    "NODE_V8_COVERAGE": "/nonexistent",
    "UV_THREADPOOL_SIZE": "1",
    "BUN_OPTIONS": "--smol",
    "BUN_JSC_useJIT": "0",
    "TOKIO_WORKER_THREADS": "1",
    "RUST_LOG": "trace",
    "RUST_BACKTRACE": "full",
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_CHECK_": "3",
    "MALLOC_PERTURB_": "85",
    "LD_PRELOAD": "/nonexistent.so",
    "LD_LIBRARY_PATH": "/nonexistent",
    "LD_BIND_NOW": "1",
    "GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=1",
    "OPENSSL_CONF": "/nonexistent",
    "SSL_CERT_FILE": "/nonexistent",
    "PYTHONHOME": "/nonexistent",
    "PYTHONPATH": "/nonexistent",
    "PYTHONMALLOC": "debug",
    "PYTHONASYNCIODEBUG": "1",
    "PYTHONTRACEMALLOC": "25",
    "GODEBUG": "madvdontneed=1",
    "GOMAXPROCS": "1",
    "GOGC": "1",
    "GOMEMLIMIT": "8MiB",
    "K6_VUS": "1",
    "K6_DURATION": "1s",
    "AWS_ENDPOINT_URL": _NOWHERE,
    "AWS_CA_BUNDLE": "/nonexistent",
    "AWS_PROFILE": "elsewhere",
    "http_proxy": _NOWHERE,
    "HTTPS_PROXY": _NOWHERE,
    "ALL_PROXY": _NOWHERE,
    "SPACETIMEDB_LOG_CONFIG": "/nonexistent",
    "SQLITE_TMPDIR": "/nonexistent",
    "OMP_NUM_THREADS": "1",
}


@contextmanager
def hostile_shell() -> Iterator[None]:
    """All of them set in this process, as the shell that started it would have them."""
    before = {name: os.environ[name] for name in HOSTILE if name in os.environ}
    os.environ.update(HOSTILE)
    try:
        yield
    finally:
        for name in HOSTILE:
            os.environ.pop(name, None)
        os.environ.update(before)


def hostile_names(pid: int) -> set[str]:
    """Which of them a running process was started with, as the shell has them: a stack may declare a value of its own.
    Nothing of one that has ended."""
    try:
        told = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return set()
    return {name for name, value in HOSTILE.items() if f"{name}={value}".encode() in told}
