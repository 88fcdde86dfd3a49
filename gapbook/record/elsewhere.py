"""Servers that ran on another machine than the one that a run's record is of, as they are said."""

from __future__ import annotations

from gapbook.record.placement import ELSEWHERE
from gapbook.record.run import Run

__all__ = ["WHERE", "elsewhere_words", "systems_elsewhere"]

WHERE = "on another machine, of which nothing is recorded"


def systems_elsewhere(run: Run) -> list[str]:
    """The systems whose server the reader named on another machine, as a reader calls them, each once."""
    servers = run.manifest.systems
    return list(
        dict.fromkeys(
            contestant.system_label
            for contestant in run.scenario.contestants
            if (server := servers.get(contestant.server)) and server.backend == ELSEWHERE
        )
    )


def elsewhere_words(run: Run) -> str:
    """``Postgres on another machine, of which nothing is recorded``; empty where all servers ran beside their client."""
    systems = systems_elsewhere(run)
    return f"{' and '.join(systems)} {WHERE}" if systems else ""
