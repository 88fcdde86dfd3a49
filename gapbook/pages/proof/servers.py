"""What each server said of itself."""

from __future__ import annotations

import json

import polars as pl

from gapbook.markup import Html
from gapbook.method.findings import Findings
from gapbook.pages import page
from gapbook.record.describe import TIER_SETTING
from gapbook.record.elsewhere import WHERE
from gapbook.record.placement import ELSEWHERE

__all__ = ["systems_table"]


def systems_table(found: Findings) -> Html:
    """Version, binary and settings of each server and of each server in between, as they said them, and who could not
    be measured."""
    rows: list[tuple[str, str, str]] = []
    for name, system in found.run.manifest.systems.items():
        rows.append((name, "version", system.version))
        if system.built:
            rows.append((name, "how it was built", system.built))
        rows.append((name, "sha256 of the binary", system.sha256[:16] or "not readable"))
        if system.backend == ELSEWHERE:
            rows.append((name, "where it ran", WHERE))
        if system.container:
            rows.append((name, "where it ran", system.backend))
            rows += [(name, key, value) for key, value in system.container.items()]
        rows += [(name, key, value) for key, value in system.settings.items()]
    rows += _tier_rows(found)
    rows += [(name, "not measured here", reason) for name, reason in found.absent.items()]
    return page.settings_table(("server", "setting", "read back"), rows)


def _tier_rows(found: Findings) -> list[tuple[str, str, str]]:
    """What the servers between client and database said of themselves, an engine inside them included; several values
    where contestants differ."""
    said: dict[tuple[str, str], dict[str, None]] = {}
    for contestant in found.scenario.contestants:
        name = f"in front of {contestant.system_label}: {contestant.tier}"
        for row in found.run.trials.filter(pl.col("contestant") == contestant.name).iter_rows(named=True):
            for key, value in json.loads(row["settings"] or "{}").items():
                if key.startswith(TIER_SETTING):
                    said.setdefault((name, key.removeprefix(TIER_SETTING)), {})[str(value)] = None
    return [(name, setting, " or ".join(values)) for (name, setting), values in sorted(said.items())]
