"""Gates: rules that refuse a trial. A refused trial is kept and shown, and each trial keeps the gates that judged it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from gapbook.model.report import Report
from gapbook.record.gates import LIMITS, OWN_WORK, Gate
from gapbook.record.series import bins_inside
from gapbook.trial.audit import Audit
from gapbook.trial.trend import trend

__all__ = [
    "depth",
    "of_client_alone",
    "quiet",
    "reconciled",
    "settings_as_declared",
    "steady",
    "steal",
    "throttled",
    "within_failures",
]

_QUIET, _STEAL = "quiet machine", "steal"
_OF_A_MACHINE = frozenset({_QUIET, _STEAL})
"""What is judged of the whole machine that clients and server share."""
_ANSWERS_IN_A_BIN, _FEWEST_BINS = 5, 10
"""How many answers a bin is to hold on average where most tenths of a second hold none, and how many such bins tell
a trend."""


def reconciled(audit: Audit) -> Gate:
    """What was acknowledged, what was committed and what the state holds agree to the unit."""
    return Gate("reconciled", audit.agrees, float(audit.off), 0.0, audit.explain())


def depth(mean_in_flight: float, expected: float | None) -> Gate:
    """The client kept as many requests out as the contestant says: connections × in flight, within 10 %.

    ``expected`` is None in an open loop, where how many are out follows from the load. Where a single request is
    out, none is while the client works on the next. That work is part of what is measured, and a limit of 10 %
    would pick the trials in which it happened to be short. So it is a gate of its own, *own work*, with another
    limit, and labels the trial (:mod:`gapbook.record.labels`).
    """
    if expected is None:
        return Gate("depth", None, math.nan, LIMITS.depth_frac, "not assessed: an open loop keeps no depth")
    if expected == 1 and mean_in_flight <= 1:
        own_frac, limit = 1 - mean_in_flight, LIMITS.own_work_frac
        text = f"none in flight for {own_frac:.0%} of the window, one declared (limit {limit:.0%})"
        return Gate(OWN_WORK, own_frac <= limit, own_frac, limit, text)
    off = abs(mean_in_flight / expected - 1)
    text = f"{mean_in_flight:,.2f} in flight on average, {expected:,.0f} declared (limit {LIMITS.depth_frac:.0%} apart)"
    return Gate("depth", off <= LIMITS.depth_frac, off, LIMITS.depth_frac, text)


def settings_as_declared(
    declared: Mapping[str, str],
    read_back: Mapping[str, str],
    durability_ok: bool | None,
    durability_text: str,
) -> Gate:
    """Every declared setting reads back as declared, and the durability class is proven; not assessed where nobody
    can read that class (None) and nothing else is off."""
    off = [
        f"{key} is {read_back[key]}, declared {value}"
        for key, value in declared.items()
        if key in read_back and read_back[key] != value
    ]
    hidden = [key for key in declared if key not in read_back]
    problems = off + ([durability_text] if durability_ok is False else [])
    shown = len(declared) - len(hidden) - len(off)
    text = "; ".join(problems) or f"{shown} of {len(declared)} settings as declared; {durability_text}"
    if durability_ok is None and not problems:
        return Gate("settings", None, math.nan, 0.0, f"not assessed: {text}")
    return Gate("settings", not problems, float(len(problems)), 0.0, text)


def within_failures(report: Report) -> Gate:
    """Failures of all classes stay under the allowance, no connection was lost, and something was
    acknowledged."""
    failed = sum(report.failed.values())
    frac = failed / report.attempted if report.attempted else math.inf
    lost = report.lost_connections
    text = ", ".join(f"{count} {name}" for name, count in report.failed.items() if count) or "no failure"
    if report.first_error:
        text += f" (first: {report.first_error})"
    if lost:
        text += f"; {lost} connections lost"
    acknowledged = report.window.acknowledged
    if not acknowledged:
        text += "; nothing acknowledged within the window"
    passed = frac <= LIMITS.failures_frac and lost == 0 and acknowledged > 0
    return Gate("failures", passed, frac, LIMITS.failures_frac, text)


def steady(per_100ms: Sequence[int], warmup_s: float, window_s: float) -> Gate:
    """The window has no trend: its fitted change is small, or not significant (:mod:`gapbook.trial.trend`).

    Where most bins are empty, the median of their slopes is 0 whatever happened, so that bins are joined until each
    holds some answers. Not assessed in windows shorter than two seconds, nor where too few such bins are left.
    """
    inside = bins_inside(warmup_s, window_s)
    counted = per_100ms[inside]
    series = np.zeros(max(inside.stop - inside.start, 0))
    series[: len(counted)] = counted
    if window_s < LIMITS.trend_min_window_s or not series.any():
        text = (
            f"not assessed: a window of {window_s:g} s" if series.any() else "not assessed: nothing counted"
        )
        return Gate("steady", None, math.nan, LIMITS.trend_frac, text)
    if np.median(series) == 0:
        joined = math.ceil(_ANSWERS_IN_A_BIN / series.mean())
        bins = len(series) // joined
        if bins < _FEWEST_BINS:
            text = f"not assessed: {series.sum():,.0f} answered in the window"
            return Gate("steady", None, math.nan, LIMITS.trend_frac, text)
        series = series[: bins * joined].reshape(bins, joined).sum(axis=1)
    found = trend(series)
    refused = abs(found.change_frac) > LIMITS.trend_frac and found.p_value < LIMITS.trend_p
    return Gate(
        "steady",
        not refused,
        abs(found.change_frac),
        LIMITS.trend_frac,
        f"{found.change_frac:+.1%} fitted over the window (p = {found.p_value:.2g})",
    )


def quiet(other_cpu_s: float, window_s: float, processors: int) -> Gate:
    """Other processes took little of the machine inside the window; what the kernel did is none of them.

    NaN for a server that is not ours to watch. A little below 0 is the grain of the kernel's counters.
    """
    other = other_cpu_s / (window_s * processors)
    limit = LIMITS.other_cpu_frac
    if math.isnan(other):
        return Gate(_QUIET, None, math.nan, limit, "other processes not assessed")
    return Gate(_QUIET, other <= limit, other, limit, f"other processes {other:.2%} (limit {limit:.0%})")


def steal(steal_s: float, window_s: float, processors: int, own_frac: float) -> Gate:
    """The hypervisor gave little of the machine to others inside the window; NaN where it says nothing.

    ``own_frac`` is the share that it takes on account of the contestant itself (:mod:`gapbook.trial.own_steal`).
    """
    stolen = steal_s / (window_s * processors)
    limit = LIMITS.steal_frac
    if math.isnan(stolen):
        return Gate(_STEAL, None, math.nan, limit, "not assessed")
    allowed = f" (limit {limit:.0%})"
    if own_frac:
        allowed = f", {own_frac:.2%} is usual for this contestant (limit {limit:.0%} beyond that)"
    text = f"{stolen:.2%} taken by the hypervisor{allowed}"
    # Both are whole ticks of the kernel: what subtraction adds must not decide at the limit.
    others = round(stolen - own_frac, 6)
    return Gate(_STEAL, others <= limit, others, limit, text)


def of_client_alone(gate: Gate) -> Gate:
    """A gate that was judged beside the client, of a server on another machine: what it saw refuses the trial as ever,
    and of the server's machine, where it did not look, it has passed nothing."""
    if gate.name not in _OF_A_MACHINE or gate.passed is not True:
        return gate
    text = f"not assessed on the server's machine; on the client's: {gate.text}"
    return Gate(gate.name, None, gate.value, gate.limit, text)


def throttled(throttled_s: float, window_s: float, processors: int) -> Gate:
    """A quota of processor time kept little of the work waiting inside the window; NaN where the window is unknown."""
    frac = throttled_s / (window_s * processors)
    limit = LIMITS.throttled_frac
    if math.isnan(frac):
        return Gate("throttled", None, math.nan, limit, "not assessed")
    text = f"work waited for the quota of processor time during {frac:.2%} (limit {limit:.0%})"
    return Gate("throttled", frac <= limit, frac, limit, text)
