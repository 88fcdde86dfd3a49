"""What the workloads are, read where they are declared: ``workloads/NAME/workload.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gap_k6.failure import refused

SCRIPTS = Path(__file__).parent.parent / "script"
_DECLARED = Path(__file__).parents[3] / "workloads"


@dataclass(frozen=True)
class Workload:
    """The kinds of operations with the names of their fields, in order, and the refusals by name."""

    fields: Mapping[str, Sequence[str]]
    refusals: Sequence[str]

    @property
    def failures(self) -> tuple[str, ...]:
        """Everything that a request can fail as."""
        return (*self.refusals, "error", "timeout")


def known_workloads() -> list[str]:
    """Those whose operations the script can draw."""
    return sorted(path.stem for path in (SCRIPTS / "workloads").glob("*.js"))


def read_workload(name: str) -> Workload:
    """Raises ClientError, of the configuration, for a workload that the script cannot draw."""
    if name not in known_workloads():
        allowed = ", ".join(f'"{known}"' for known in known_workloads())
        raise refused("workload.name", f'"{name}" is refused; allowed: {allowed}')
    declared = tomllib.loads((_DECLARED / name / "workload.toml").read_text(encoding="utf-8"))
    fields = {
        kind: tuple(field["name"] for field in facts["fields"]) for kind, facts in declared["kinds"].items()
    }
    return Workload(fields, tuple(declared.get("refusals", ())))
