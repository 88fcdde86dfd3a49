"""Bars that the published runs themselves answer: ceilings, overhead, memory."""

from __future__ import annotations

from gapbook.book import chapters
from gapbook.errors import RecordError
from gapbook.record import Run, latest_published
from gapbook.scenario import Scenario

__all__ = ["lines"]


def lines() -> list[str]:
    """One line a bar and published run."""
    found = []
    for chapter in chapters():
        try:
            run = latest_published(chapter)
        except RecordError as error:
            found.append(str(error))
            continue
        found += [*_ceilings(run), _overhead(run), *_memory(run)]
    return found


def _ceilings(run: Run) -> list[str]:
    """A run from before ceilings were measured, or of a client without a null server, has none for a key."""
    ceilings = run.manifest.get("ceilings_per_s", {})
    return [
        f"{run.run_id} ceiling ÷ highest goodput, {key}: "
        + (f"{ceilings[key] / goodput:.1f} (bar >= 5)" if ceilings.get(key) else "no ceiling was measured")
        for key, goodput in _highest(run, "goodput_per_s").items()
    ]


def _overhead(run: Run) -> str:
    scenario = _scenario(run)
    loaded_s = run.trials.height * (scenario.warmup_s + scenario.window_s)
    wall_s = run.manifest["finished_unix_s"] - run.manifest["started_unix_s"]
    return f"{run.run_id} wall time ÷ warm-ups and windows: {wall_s / loaded_s:.2f} (bar <= 1.2)"


def _memory(run: Run) -> list[str]:
    connections = _scenario(run).connections
    return [
        f"{run.run_id} client memory, {connections} connections, {key}: {value / 1e6:.0f} MB (bar <= 50 MB)"
        for key, value in _highest(run, "client_peak_memory_bytes").items()
    ]


def _highest(run: Run, column: str) -> dict[str, float]:
    """The highest value of a column over all trials, by client, protocol and depth."""
    scenario = _scenario(run)
    highest: dict[str, float] = {}
    for row in run.trials.iter_rows(named=True):
        contestant = scenario.contestant(row["contestant"])
        key = f"{contestant.client}/{contestant.protocol}/{contestant.in_flight}"
        if row[column]:
            highest[key] = max(highest.get(key, 0.0), float(row[column]))
    return dict(sorted(highest.items()))


def _scenario(run: Run) -> Scenario:
    return Scenario.from_dict(dict(run.manifest["scenario"]))
