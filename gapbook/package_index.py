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
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["command_of_packages", "environment_of_packages", "read_settings"]

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
        "UV_HTTP_TIMEOUT", "UV_HTTP_RETRIES", "UV_OFFLINE",
    }
)  # fmt: skip
_AS_UV_CALLS_IT = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "trusted-host": "UV_INSECURE_HOST",
    "keyring-provider": "UV_KEYRING_PROVIDER",
    "timeout": "UV_HTTP_TIMEOUT",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "retries": "UV_HTTP_RETRIES",
    "cert": "SSL_CERT_FILE",
    "client-cert": "SSL_CLIENT_CERT",
    "proxy": "ALL_PROXY",
}
_TRUE = frozenset({"y", "yes", "t", "true", "on", "1"})
"""As pip reads a setting."""
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


def command_of_packages(command: Sequence[str], settings: Mapping[str, str]) -> list[str]:
    """The command, told what no variable tells: uv has none for the setting ``no-index`` of pip."""
    without_index = settings.get("no-index", "").lower() in _TRUE
    match command:
        case [program, "pip", "sync" | "install" | "compile" as verb, *rest] if without_index:
            if Path(program).name == "uv":
                return [program, "pip", verb, "--no-index", *rest]
    return list(command)


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
    listed = subprocess.run(
        [sys.executable, "-I", "-m", "pip", "config", "list"],
        env={
            name: value for name, value in os.environ.items() if not name.startswith("PIP_") or name in read
        },
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if listed.returncode:
        # Without them, packages would come from another index than the house's.
        print(f"{listed.stdout}{listed.stderr}".rstrip(), file=sys.stderr)
        print("gapbook: pip refuses its own settings, see above; mend that file or variable", file=sys.stderr)
        sys.exit(listed.returncode)
    return listed.stdout


def _main() -> None:
    settings = read_settings(_listed())
    command = command_of_packages(sys.argv[1:], settings)
    os.execvpe(command[0], command, environment_of_packages(os.environ, settings))


if __name__ == "__main__":
    _main()
