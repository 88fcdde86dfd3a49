"""The gates of a run, each over all its trials."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from gapbook import charts
from gapbook.method.findings import Findings
from gapbook.pages.provenance import provenance
from gapbook.record.tables import StoredGate

__all__ = ["gates_chart"]


def gates_chart(found: Findings) -> charts.Figure:
    """Every gate over all trials of the run: the worst trial against the limit."""
    judged: dict[str, list[StoredGate]] = {}
    for text in found.run.trials["gates"].to_list():
        for gate in msgspec.json.decode(text, type=list[StoredGate]):
            judged.setdefault(gate.name, []).append(gate)
    cells = [_gate_cell(name, gates) for name, gates in judged.items()]
    total, valid = found.run.trials.height, int(found.run.trials["valid"].sum())
    title = f"{valid} of {total} trials count: no gate refused them"
    if unassessed := [cell.name for cell in cells if cell.unassessed]:
        title += f"; in some or all of them not assessed: {', '.join(unassessed)}"
    if not cells:
        return charts.missing(title, "No trial came as far as its gates.", provenance=provenance(found))
    return charts.gates(
        cells,
        provenance=provenance(found),
        title=title,
        subtitle="Number: the worst trial, refused ones included. Dots: all trials. Tick: the limit, fixed before the run.",
    )


def _gate_cell(name: str, judged: Sequence[StoredGate]) -> charts.Gate:
    """A gate over all trials: one that was assessed in none of them has neither passed nor failed."""
    assessed = [gate for gate in judged if gate.passed is False or gate.value is not None]
    values = tuple(gate.value for gate in assessed if gate.value is not None)
    passed = sum(gate.passed is not False for gate in assessed)
    limit = judged[0].limit
    worst = max(values, default=math.nan)
    exact = limit == 0
    off = f"{worst:,.0f} off" if exact else f"{worst:.2%}"
    return charts.Gate(
        name=name,
        worst=off if math.isfinite(worst) else "no value" if assessed else "not assessed",
        limit="limit: none off" if exact else f"limit {limit:.1%}",
        values=values,
        limit_value=limit,
        passed=passed,
        total=len(judged),
        state=_gate_state(passed, len(assessed)),
        unassessed=len(judged) - len(assessed),
    )


def _gate_state(passed: int, assessed: int) -> charts.GateState:
    """A gate that refuses trials has worked: what is wrong is one that leaves none."""
    if not assessed:
        return "unassessed"
    return "refused none" if passed == assessed else "refused some" if passed else "refused all"
