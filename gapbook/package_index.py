"""A package manager run with what the reader says of indexes, and with nothing else that the reader set.

``python -I gapbook/package_index.py COMMAND...`` runs pip or uv. Where packages come from (index, proxy, certificate)
is the house's business: what pip was told of it, uv is told too. Where they go to, and which of them, is the
project's: ``PIP_USER``, ``PIP_TARGET``, ``UV_PYTHON`` and their like are dropped, from files of pip as well.
The standard library alone, for it runs before any package is there.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Mapping

__all__ = ["environment_of_packages", "read_settings"]

_OF_PIP = frozenset(
    {
        "index-url", "extra-index-url", "find-links", "no-index", "trusted-host", "proxy", "cert", "client-cert",
        "timeout", "default-timeout", "retries", "keyring-provider",
    }
)  # fmt: skip
_OF_UV = frozenset(
    {
        "UV_CACHE_DIR", "UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS",
        "UV_INDEX_STRATEGY", "UV_INSECURE_HOST", "UV_KEYRING_PROVIDER", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS",
        "UV_HTTP_TIMEOUT", "UV_OFFLINE",
    }
)  # fmt: skip
_AS_UV_CALLS_IT = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "trusted-host": "UV_INSECURE_HOST",
    "keyring-provider": "UV_KEYRING_PROVIDER",
    "timeout": "UV_HTTP_TIMEOUT",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "cert": "SSL_CERT_FILE",
    "client-cert": "SSL_CLIENT_CERT",
    "proxy": "ALL_PROXY",
}
_SECTIONS = ("global", "download", "install", ":env:")
"""Of the settings of pip, later ones before earlier ones."""


def environment_of_packages(environment: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    """The environment for pip and uv: ``settings`` are those of pip, by the name that pip gives them."""
    kept = {
        name: value
        for name, value in environment.items()
        if not name.startswith(("PIP_", "UV_")) or name in _OF_UV
    }
    told = {name: value for name, value in settings.items() if name in _OF_PIP}
    for name, value in told.items():
        kept["PIP_" + name.upper().replace("-", "_")] = value
        if name in _AS_UV_CALLS_IT:
            # What uv was told itself comes first.
            kept.setdefault(_AS_UV_CALLS_IT[name], " ".join(value.split()))
    if "find-links" in told:
        kept.setdefault("UV_FIND_LINKS", ",".join(told["find-links"].split()))
    if "extra-index-url" in told:
        # As pip does: the best of all indexes. Each package has its hash, wherever it comes from.
        kept.setdefault("UV_INDEX_STRATEGY", "unsafe-best-match")
    return {**kept, "PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def read_settings(listed: str) -> dict[str, str]:
    """What ``pip config list`` says: lines of ``section.name='value'``."""
    found: dict[str, dict[str, str]] = {section: {} for section in _SECTIONS}
    for line in listed.splitlines():
        key, _, value = line.partition("=")
        section, _, name = key.rpartition(".")
        if section in found and value:
            found[section][name] = str(ast.literal_eval(value))
    return {name: value for section in _SECTIONS for name, value in found[section].items()}


def _listed() -> str:
    # Its settings are options of this command too: PIP_USER would be a wish for the file of the user alone.
    read = {f"PIP_{name.upper().replace('-', '_')}" for name in (*_OF_PIP, "config-file")}
    return subprocess.run(
        [sys.executable, "-I", "-m", "pip", "config", "list"],
        env={
            name: value for name, value in os.environ.items() if not name.startswith("PIP_") or name in read
        },
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    ).stdout


def _main() -> None:
    os.execvpe(sys.argv[1], sys.argv[1:], environment_of_packages(os.environ, read_settings(_listed())))


if __name__ == "__main__":
    _main()
