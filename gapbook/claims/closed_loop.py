"""Arithmetic of closed loops: what a row of throughput and latency says about itself.

A closed loop of N users has N requests under way, less what its users do between them. So throughput times
mean latency is at most N, and a table of latencies can be told from the table of throughputs beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gapbook.claims.claim import claim
from gapbook.errors import ParameterError

__all__ = [
    "Row",
    "explained",
    "in_flight",
    "in_flight_with_tail",
    "most_per_s",
    "outside_ms",
    "published_rows",
]

_MS_PER_S = 1000.0


def in_flight(rate_per_s: float, latency_ms: float) -> float:
    """How many requests are under way in the mean: Little's law."""
    return rate_per_s * latency_ms / _MS_PER_S


def in_flight_with_tail(users: float, latency_ms: float, duration_s: float) -> float:
    """What Little's law gives for so many users if requests that end after the duration are counted as in it.

    Each user's last request ends half a latency after the duration in the mean, and is divided by the duration.
    """
    return users * (duration_s + latency_ms / _MS_PER_S / 2) / duration_s


def most_per_s(users: float, latency_ms: float) -> float:
    """The most requests a second that so many users can make, if each takes so long."""
    return users / latency_ms * _MS_PER_S


def outside_ms(users: float, rate_per_s: float, latency_ms: float) -> float:
    """How long a user spends outside its requests, for each of them; below 0 where the row cannot be."""
    return users / rate_per_s * _MS_PER_S - latency_ms


@dataclass(frozen=True)
class Row:
    """One published row: ``rate_per_s`` and the mean ``latency_ms`` of so many users, with the digits printed."""

    users: int
    rate_per_s: float
    latency_ms: float

    @property
    def in_flight(self) -> float:
        return in_flight(self.rate_per_s, self.latency_ms)

    @property
    def departure_frac(self) -> float:
        """How far Little's law is from the users, as a fraction of them."""
        return self.in_flight / self.users - 1

    @property
    def outside_ms(self) -> tuple[float, float]:
        """Time outside requests, from the least to the most that the printed digits allow."""
        half_rate, half_latency = _half_digit(self.rate_per_s), _half_digit(self.latency_ms)
        return (
            outside_ms(self.users, self.rate_per_s + half_rate, self.latency_ms + half_latency),
            outside_ms(self.users, self.rate_per_s - half_rate, self.latency_ms - half_latency),
        )

    def is_possible(self, duration_s: float) -> bool:
        """Whether a closed loop can have this row: whatever tail was counted, however its figures were rounded."""
        least = in_flight(
            self.rate_per_s - _half_digit(self.rate_per_s), self.latency_ms - _half_digit(self.latency_ms)
        )
        return least <= in_flight_with_tail(self.users, self.latency_ms, duration_s)


def _half_digit(printed: float) -> float:
    """Half of the last digit that was printed: 0.05 for 2.1, 0.5 for 226."""
    _, point, decimals = f"{printed:.10g}".partition(".")
    return 0.5 * 10.0 ** -(len(decimals) if point else 0)


def published_rows(benchmark: str, system: str, users: Sequence[int]) -> list[Row]:
    """The rows of one system in the tables of a benchmark, whose name begins the ids of its claims; raises
    ParameterError where the register has none."""
    return [
        Row(
            count,
            claim(f"{benchmark}-throughput-{system}-{count}vu").value,
            claim(f"{benchmark}-latency-{system}-{count}vu").value,
        )
        for count in users
    ]


def explained(rows: Sequence[Row], models: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """For each model the greatest distance between its rates and those of the rows, as a fraction of the latter."""
    distances = {}
    for name, rates_per_s in models.items():
        if len(rates_per_s) != len(rows):
            raise ParameterError(f"model {name}: {len(rates_per_s)} rates for {len(rows)} rows")
        distances[name] = max(
            abs(rate / row.rate_per_s - 1) for rate, row in zip(rates_per_s, rows, strict=True)
        )
    return distances
