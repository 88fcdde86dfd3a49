"""What a contestant is called where its version or its promise tells it from another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from gapbook.method import same
from gapbook.method.findings import Findings
from gapbook.record.scenario import RecordedContestant

__all__ = ["Groups", "labels_with_class", "version_of", "versioned_label"]

Groups: TypeAlias = Sequence[Sequence[RecordedContestant]]
"""The contestants of each comparison."""


def labels_with_class(found: Findings, contestants: Sequence[RecordedContestant]) -> dict[str, str]:
    """What each is called, with its class where there are several."""
    several = len({one.durability for one in contestants}) > 1
    return {
        one.name: f"{versioned_label(found, one)} ({one.durability})"
        if several
        else versioned_label(found, one)
        for one in contestants
    }


def versioned_label(found: Findings, contestant: RecordedContestant) -> str:
    """``SpacetimeDB 1.2.0``: the system with the version that its server said.

    An engine that each client embeds has no server to ask, and a simulated one no version.
    """
    version = version_of(found, contestant)
    label = contestant.system_label
    if contestant.in_process or contestant.simulated or not version or label.endswith(version):
        return label
    return f"{label} {version}"


def version_of(found: Findings, contestant: RecordedContestant) -> str:
    """The version of a contestant by :func:`gapbook.method.same.version_of`."""
    return same.version_of(found.run, contestant)
