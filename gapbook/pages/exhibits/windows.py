"""Whether a short window speaks for a long one."""

from __future__ import annotations

from collections.abc import Sequence

from gapbook.markup import Html, values_table
from gapbook.method.cells import Named
from gapbook.method.findings import Findings
from gapbook.pages.words import NOT_MEASURED

__all__ = ["long_windows_table"]


def long_windows_table(found: Findings, pairs: Sequence[tuple[Named, Named]]) -> Html:
    """Whether a short window speaks for a long one: pairs of a contestant and the same with a long window."""
    rows: list[list[str | Html]] = []
    for short, long in pairs:
        for treatment in found.treatments_of(short.name, long.name):
            rates = [found.goodput(contestant.name, treatment) for contestant in (short, long)]
            if rates[0] is None or rates[1] is None:
                rows.append([f"{short.name}, {found.at(treatment)}", NOT_MEASURED, NOT_MEASURED, "–"])
                continue
            kept = f"{rates[1].estimate / rates[0].estimate:.0%}"
            rows.append(
                [
                    f"{short.name}, {found.at(treatment)}",
                    *(f"{rate.as_count()}/s" for rate in rates if rate),
                    kept,
                ]
            )
    windows = {f"{found.contestant(long).window_s:g} s" for _, long in pairs}
    columns = ("contestant", f"{found.scenario.window_s:g} s", ", ".join(sorted(windows)), "long ÷ short")
    return values_table(columns, rows)
