"""Warm-up: how each contestant came to the rate that was measured."""

from __future__ import annotations

from gapbook.markup import Html, values_table
from gapbook.method.findings import Findings
from gapbook.method.interval import format_factor
from gapbook.method.warmth import RISE_FRAC, Warmth
from gapbook.pages import page

__all__ = ["warmth_table"]

_COLUMNS = (
    "contestant",
    "each second of warm-up ÷ the rate measured",
    "window's second half ÷ first",
    "reading",
)
_READINGS = (
    f"Still rising: the second half of the window was more than {RISE_FRAC:.0%} faster than the first, and chance, "
    "allowing for the number of rows, does not explain it. Warm: such a rise is ruled out. Not resolved: it is not ruled out, so the rate may still "
    "be too low. Not known: too few blocks, or windows without whole seconds."
)


def warmth_table(found: Findings) -> Html:
    """Each contestant's way to its rate, over all valid trials, and all of them together."""
    scenario, together = found.scenario, found.warmth()
    if together == Warmth((), None):
        return page.banner(
            "note",
            f"Whether contestants were warm is not known from this run: {scenario.warmup_s:g} s of warm-up and "
            f"windows of {scenario.window_s:g} s hold too few whole seconds. What runs in Node takes seconds "
            "to reach its rate, and may be understated here.",
        )
    rows: list[list[str | Html]] = []
    named = [(contestant.name, found.warmth(contestant.name)) for contestant in scenario.contestants]
    for name, warmth in [*named, ("all together", together)]:
        approach = " · ".join(format_factor(rate) for rate in warmth.approach if rate > 0)
        rise = warmth.rise.as_factor() if warmth.rise else "–"
        rows.append([name, approach or "–", rise, warmth.reading])
    return values_table(_COLUMNS, rows, caption=_READINGS)
