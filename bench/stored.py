"""Bars that the published runs themselves answer: ceilings, overhead, memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from gapbook.book.chapters import chapters
from gapbook.errors import RecordError
from gapbook.record.run import Run, latest_published
from gapbook.record.scenario import RecordedScenario
from gapbook.record.stored_trial import ValidTrial

__all__ = ["lines"]


def lines() -> Iterator[str]:
    """One line a bar and published run."""
    for chapter in chapters():
        try:
            run = latest_published(chapter)
        except RecordError as error:
            yield str(error)
            continue
        scenario = run.scenario
        yield from (*_ceilings(run, scenario), _overhead(run, scenario), *_memory(run, scenario))


def _ceilings(run: Run, scenario: RecordedScenario) -> Iterator[str]:
    """The smallest over trials of what the client did in that block against a server that does nothing, by the
    trial's goodput. A run from before ceilings were measured has none, nor has a client without a null server."""
    for key, rows in _valid_rows(run, scenario).items():
        ratios = [row["ceiling_per_s"] / row["goodput_per_s"] for row in rows if row["ceiling_per_s"]]
        found = f"{min(ratios):.1f} (bar >= 5)" if ratios else "no ceiling was measured"
        yield f"{run.run_id} ceiling ÷ goodput, smallest, {key}: {found}"


def _overhead(run: Run, scenario: RecordedScenario) -> str:
    loaded_s = run.trials.height * (scenario.warmup_s + scenario.window_s)
    if run.manifest.finished_unix_s is None:
        return f"{run.run_id} wall time: not recorded"
    wall_s = run.manifest.finished_unix_s - run.manifest.started_unix_s
    return f"{run.run_id} wall time ÷ warm-ups and windows: {wall_s / loaded_s:.2f} (bar <= 1.2)"


def _memory(run: Run, scenario: RecordedScenario) -> Iterator[str]:
    for key, rows in _valid_rows(run, scenario).items():
        peak_bytes = max(row["client_peak_memory_bytes"] or 0 for row in rows)
        if peak_bytes:
            yield (
                f"{run.run_id} client memory, {scenario.connections} connections, {key}: "
                f"{peak_bytes / 1e6:.0f} MB (bar <= 50 MB)"
            )


def _valid_rows(run: Run, scenario: RecordedScenario) -> dict[str, list[ValidTrial]]:
    """The trials that did something and were not refused, by client, protocol and depth."""
    keys = {each.name: f"{each.client}/{each.protocol}/{each.in_flight}" for each in scenario.contestants}
    found: dict[str, list[ValidTrial]] = {key: [] for key in sorted(keys.values())}
    for row in cast(Iterator[ValidTrial], run.trials.iter_rows(named=True)):
        if row["valid"] and row["goodput_per_s"]:
            found[keys[row["contestant"]]].append(row)
    return {key: rows for key, rows in found.items() if rows}
