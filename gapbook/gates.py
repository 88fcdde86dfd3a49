"""Gates: rules, fixed before any run, that refuse a trial. A refused trial is kept and shown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import stats

from gapbook.audit import Audit

__all__ = [
    "LIMITS",
    "Gate",
    "Limits",
    "labels",
    "littles_law",
    "noise",
    "reconciled",
    "seconds_inside",
    "settings_as_declared",
    "steady",
    "within_failures",
]


@dataclass(frozen=True)
class Limits:
    """The limits of all gates, each with its unit in its name."""

    littles_law_frac: float = 0.05
    failures_frac: float = 0.001
    trend_frac: float = 0.20
    trend_p: float = 0.01
    trend_min_seconds: int = 5
    steal_frac: float = 0.05
    other_cpu_frac: float = 0.10
    client_ceiling_frac: float = 0.80
    client_core_frac: float = 0.90
    catch_up_frac: float = 0.10


LIMITS = Limits()


@dataclass(frozen=True)
class Gate:
    """One gate of one trial. ``value`` is against ``limit`` in the same unit; NaN: not assessed."""

    name: str
    passed: bool
    value: float
    limit: float
    text: str

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "value": None if math.isnan(self.value) else self.value}


def reconciled(audit: Audit) -> Gate:
    """Acknowledged, committed and balance-derived counts agree to the unit."""
    uncounted = 0 if audit.committed is None else abs(audit.acknowledged - audit.committed)
    off = uncounted + audit.mismatched_accounts + audit.in_doubt
    return Gate("reconciled", audit.agrees, float(off), 0.0, audit.explain())


def littles_law(window: Mapping[str, float], window_s: float) -> Gate:
    """Mean in flight = rate x mean service time, within 5 % (Little 1961, doi 10.1287/opre.9.3.383).

    A rate that was not steady, a clock read between batches or requests that straddle the window's
    edges break it.
    """
    rate_per_s = window["completed"] / window_s
    predicted = rate_per_s * window["mean_service_time_s"]
    off = abs(window["mean_in_flight"] / predicted - 1) if predicted > 0 else math.inf
    text = f"{window['mean_in_flight']:.1f} in flight, {predicted:.1f} predicted from rate × service time"
    return Gate("Little's law", off <= LIMITS.littles_law_frac, off, LIMITS.littles_law_frac, text)


def settings_as_declared(
    declared: Mapping[str, str], read_back: Mapping[str, str], durability_ok: bool, durability_text: str
) -> Gate:
    """Every declared setting reads back as declared, and the durability class is proven."""
    off = [
        f"{key} is {read_back[key]}, declared {value}"
        for key, value in declared.items()
        if key in read_back and read_back[key] != value
    ]
    hidden = [key for key in declared if key not in read_back]
    problems = off + ([] if durability_ok else [durability_text])
    shown = len(declared) - len(hidden) - len(off)
    text = "; ".join(problems) or f"{shown} of {len(declared)} settings as declared; {durability_text}"
    return Gate("settings", not problems, float(len(problems)), 0.0, text)


def within_failures(report: Mapping[str, Any]) -> Gate:
    """Failures of all classes stay under the allowance, no connection was lost, and something was
    acknowledged."""
    failed = sum(report["failed"].values())
    frac = failed / report["attempted"] if report["attempted"] else math.inf
    lost = int(report["lost_connections"])
    text = ", ".join(f"{count} {name}" for name, count in report["failed"].items() if count) or "no failure"
    if report.get("first_error"):
        text += f" (first: {report['first_error']})"
    if lost:
        text += f"; {lost} connections lost"
    acknowledged = int(report["window"]["acknowledged"])
    if not acknowledged:
        text += "; nothing acknowledged within the window"
    passed = frac <= LIMITS.failures_frac and lost == 0 and acknowledged > 0
    return Gate("failures", passed, frac, LIMITS.failures_frac, text)


def seconds_inside(warmup_s: float, window_s: float) -> slice:
    """Where the whole seconds inside the window are in a count by second since the load began."""
    return slice(math.ceil(warmup_s), math.floor(warmup_s + window_s))


def steady(per_second: Sequence[int], warmup_s: float, window_s: float) -> Gate:
    """The window has no trend: the fitted change over the window is small, or not significant.

    Ordinary least squares over the whole seconds inside the window; not assessed under five of them.
    """
    series = np.asarray(per_second[seconds_inside(warmup_s, window_s)], dtype=np.float64)
    if len(series) < LIMITS.trend_min_seconds or series.mean() == 0:
        return Gate("steady", True, math.nan, LIMITS.trend_frac, f"not assessed: {len(series)} whole seconds")
    if np.ptp(series) == 0:
        return Gate("steady", True, 0.0, LIMITS.trend_frac, "no change over the window")
    fit = stats.linregress(np.arange(len(series)), series)
    change = fit.slope * len(series) / series.mean()
    refused = abs(change) > LIMITS.trend_frac and fit.pvalue < LIMITS.trend_p
    return Gate(
        "steady",
        not refused,
        abs(float(change)),
        LIMITS.trend_frac,
        f"{change:+.1%} fitted over the window (p = {fit.pvalue:.2g})",
    )


def noise(other_cpu_s: float, steal_s: float, window_s: float, processors: int) -> Gate:
    """Neither the hypervisor nor other processes took much of the machine inside the window.

    ``other_cpu_s`` is NaN for a server that is not ours to watch: then only steal is assessed.
    """
    capacity_s = window_s * processors
    other, steal = other_cpu_s / capacity_s, steal_s / capacity_s
    watched = math.isfinite(other)
    passed = not (watched and other > LIMITS.other_cpu_frac) and not steal > LIMITS.steal_frac
    others = f"{other:.1%} (limit {LIMITS.other_cpu_frac:.0%})" if watched else "not assessed"
    text = f"other processes {others}, steal {steal:.1%} (limit {LIMITS.steal_frac:.0%})"
    return Gate("quiet machine", passed, max(other, steal) if watched else steal, LIMITS.other_cpu_frac, text)


def labels(
    *,
    goodput_per_s: float,
    ceiling_per_s: float | None,
    client_cpu_s: float,
    client_threads: int,
    window_s: float,
    catch_up_s: float,
    loaded_s: float,
    durability_s: float,
) -> list[str]:
    """What a valid trial must be read with: ``client-bound`` or ``not sustained``."""
    found = []
    bound = ceiling_per_s is not None and goodput_per_s > LIMITS.client_ceiling_frac * ceiling_per_s
    if bound or client_cpu_s > LIMITS.client_core_frac * client_threads * window_s:
        found.append("client-bound")
    if catch_up_s > durability_s + LIMITS.catch_up_frac * loaded_s:
        found.append(f"not sustained: {catch_up_s:.1f} s to catch up")
    return found
