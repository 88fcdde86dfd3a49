"""What to say of a run of which most trials were refused: how many, why, and what to do."""

from __future__ import annotations

from collections import Counter

from gapbook.record.run import Run

__all__ = ["mostly_refused"]

_OF_INTEREST_FRAC = 0.5
_WHAT_TO_DO = {
    "quiet machine": "end other work on this machine, or measure on another one",
    "steal": "measure on a machine whose processors are not shared with others",
    "throttled": "run without a quota of processor time (cpu.max, docker --cpus)",
    "steady": "warm up longer (warmup_s) or measure longer (window_s)",
    "depth": "measure longer (window_s), or ask for less at once (in_flight)",
    "own work": "use a client that does less between two requests",
    "failures": "ask for less at once (connections, in_flight)",
    "settings": "start the server that you named with the durability that the run declares",
}
_OTHERWISE = "read the reasons on the page, under refused trials"


def mostly_refused(run: Run) -> str | None:
    """One line when more than half of the trials of a run were refused, else None."""
    refused = run.trials.filter(~run.trials["valid"])
    if len(refused) <= _OF_INTEREST_FRAC * len(run.trials):
        return None
    # A reason is that of each gate that refused, "gate: text; gate: text", or what broke.
    reasons = Counter(
        kind
        for because in refused["refused_because"].drop_nulls()
        for kind in {part.partition(":")[0].strip() for part in because.split("; ")} & _WHAT_TO_DO.keys()
        or {because.partition(":")[0].strip()}
    )
    told = ", ".join(f"{kind} ({count:,})" for kind, count in reasons.most_common(3))
    advice = "; ".join(dict.fromkeys(_WHAT_TO_DO.get(kind, _OTHERWISE) for kind, _ in reasons.most_common(3)))
    return f"{len(refused):,} of {len(run.trials):,} trials were refused, by {told}: {advice}"
