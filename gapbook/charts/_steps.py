"""What a waterfall is made of: two ends, the steps between them, and each step as a bar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gapbook.charts._tokens import FAMILIES
from gapbook.method.interval import Interval

__all__ = ["Bar", "End", "Endpoint", "Family", "Step", "Then"]

Family = Literal["stack", "wire", "promise", "workload", "residual"]


@dataclass(frozen=True)
class Endpoint:
    """Where the gap starts or ends: a contestant, the value of its metric, and that of each block."""

    system: str
    label: str
    detail: str
    value: Interval
    blocks: tuple[float, ...] = ()


@dataclass(frozen=True)
class Step:
    """One factor of the gap; ``order_range`` is its least and greatest value over the orderings."""

    name: str
    detail: str
    family: Family
    factor: Interval
    order_range: tuple[float, float] | None = None
    blocks: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise ValueError(
                f"step {self.name}: family {self.family!r} is unknown: use {', '.join(FAMILIES)}"
            )


@dataclass(frozen=True)
class Then:
    """What follows a gap: one step more, with which its steps multiply to the ``total`` gap of the same two ends
    elsewhere. ``place`` and ``there`` say where both gaps were measured: ``α = 0.5``; ``start`` and ``end`` are the
    metric at the two ends there.
    """

    step: Step
    place: str
    there: str
    start: Interval
    end: Interval
    total: Interval


@dataclass(frozen=True)
class End:
    """A row of an end of the gap, with its value as it is printed there."""

    endpoint: Endpoint
    printed: str


@dataclass(frozen=True)
class Bar:
    """A step as it is drawn: from the value ``before`` it, its factor as ``printed``."""

    step: Step
    before: float
    printed: str

    @property
    def after(self) -> float:
        return self.before * self.step.factor.estimate

    @property
    def bounds(self) -> str:
        """The interval, to as many decimals as the factor."""
        factor = self.step.factor
        decimals = len(self.printed.partition(".")[2])
        if not factor.bounded:
            return f"n = {factor.n}"
        return f"[{factor.low:.{decimals}f}–{factor.high:.{decimals}f}]"
