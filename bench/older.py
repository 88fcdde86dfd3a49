"""What an earlier build of a client is told: the same load, in the version of the contract that it describes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gapbook.errors import ClientError
from gapbook.load.contract import CONTRACT_VERSION

__all__ = ["described_contract", "told_in"]

_WITHIN_S = 20.0


def described_contract(program: Path) -> int:
    """The version of the contract that a client describes; raises ClientError for one that nobody here speaks."""
    try:
        asked = subprocess.run(
            [program, "--describe"],
            capture_output=True,
            timeout=_WITHIN_S,
            check=True,
            stdin=subprocess.DEVNULL,
        )
        version = json.loads(asked.stdout)["contract"]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        raise ClientError(f"{program}: --describe does not say its contract: {error}") from error
    if version not in _TOLD_IN:
        spoken = ", ".join(map(str, _TOLD_IN))
        raise ClientError(f"{program}: speaks contract {version!r}; the bench can tell {spoken}")
    return int(version)


def told_in(contract: int, configuration: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration of today's contract, in the words of that version."""
    return _TOLD_IN[contract](configuration)


def _in_version_1(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """One workload whose parameters stand beside its name, and one request over HTTP, which nobody declares."""
    workload = configuration["workload"]
    table = workload["files"]["alias_table"]
    parameters = {name: workload["parameters"][name] for name in ("accounts", "alpha", "amount_max")}
    return {
        **configuration,
        "contract": 1,
        "endpoint": {key: value for key, value in configuration["endpoint"].items() if key != "requests"},
        "workload": {
            "name": workload["name"],
            "seed": workload["seed"],
            **parameters,
            "alias_table": table["path"],
            "alias_table_sha256": table["sha256"],
        },
    }


_TOLD_IN: Mapping[int, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    1: _in_version_1,
    CONTRACT_VERSION: dict,
}
