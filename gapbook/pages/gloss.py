"""What the values of a treatment mean, in a sentence computed from the scenario."""

from __future__ import annotations

from gapbook.model.work import EXPONENT, REDRAW_BOTH, AliasTable, hot_share
from gapbook.record.scenario import RecordedScenario

__all__ = ["busiest_share", "exponent_at", "gloss_of", "share_words", "wanted_words"]

_FEW_FRAC = 0.1
_HARDLY_ANY_FRAC = 0.01
_READ_SHARE = "read_share"


def gloss_of(scenario: RecordedScenario) -> str:
    """How many transfers touch the busiest account at both ends of a Zipf exponent, or which operations read; empty
    for other treatments."""
    if scenario.treatment.name == _READ_SHARE:
        told = [f"{scenario.treatment.at(value)} {_read_words(value)}" for value in scenario.treatment.values]
        return f"{'; '.join(told)}."
    if not scenario.workload.accounts or scenario.treatment.name != EXPONENT:
        return ""
    values, label = scenario.treatment.values, scenario.treatment.label
    ends = dict.fromkeys((values[0], values[-1]))
    shares = [busiest_share(scenario, end) for end in ends]
    parts = [f"at {end:g}, {share_words(share)}" for end, share in zip(ends, shares, strict=True)]
    parts[0] += f" touch the busiest of {scenario.workload.accounts:,} accounts"
    parts[1:] = [f"{part} do" for part in parts[1:]]
    redrawn = (
        ""
        if scenario.workload.redraw == REDRAW_BOTH
        else " (where both accounts of a transfer are the same, only its destination is drawn again)"
    )
    return f"{label} says how unequal the load is: {'; '.join(parts)}{redrawn}."


def busiest_share(scenario: RecordedScenario, exponent: float) -> float:
    """The part of all transfers that touch the account which is drawn most."""
    workload = scenario.workload
    return hot_share(AliasTable.zipf_cached(workload.accounts, exponent), workload.redraw)


def exponent_at(scenario: RecordedScenario, treatment: float) -> float:
    """How unequal accounts are drawn at one value of the treatment, which may be another than the exponent."""
    if scenario.treatment.name == EXPONENT:
        return treatment
    return float(scenario.workload.parameters.get(EXPONENT) or 0)


def wanted_words(scenario: RecordedScenario, treatment: float) -> str:
    """How many transfers want the same account, for a line of conditions: ``63 % of transfers want one account``."""
    exponent = exponent_at(scenario, treatment)
    if exponent == 0:
        return "all accounts wanted alike"
    share = busiest_share(scenario, exponent)
    return (
        "few want the same account" if share < _HARDLY_ANY_FRAC else f"{share_words(share)} want one account"
    )


def _read_words(share: float) -> str:
    """What a share of reads means for the operations: ``means that every operation stores a message``."""
    if share in (0, 1):
        return f"means that every operation {'reads' if share else 'stores'} a message"
    return f"means that {100 * share:.0f} % of the operations read a message and the others store one"


def share_words(share: float) -> str:
    """``0.32 % of transfers``, ``58 % of transfers``"""
    digits = ".2g" if share < _FEW_FRAC else ".0f"
    return f"{100 * share:{digits}} % of transfers"
