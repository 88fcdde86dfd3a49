"""Published tables of throughput and latency, told from themselves: no run is needed to read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gapbook.claims.closed_loop import Row, explained, in_flight_with_tail
from gapbook.markup import Html, values_table
from gapbook.model.plant import Knobs, true_goodput_per_s

__all__ = ["explanations_table", "loops_table"]


def loops_table(rows: Mapping[str, Sequence[Row]], *, duration_s: float) -> Html:
    """Each published row of each system with what Little's law makes of it.

    ``duration_s`` is how long a row was measured: what ends later explains more requests than users only if it
    was counted.
    """
    return values_table(
        (
            "users",
            "system",
            "requests/s",
            "mean latency",
            "in flight",
            "differs from the users by",
            "in flight at most, if late answers are counted",
            "time outside each request",
            "possible with so many users?",
        ),
        [_loop(system, row, duration_s) for system, published in rows.items() for row in published],
    )


def _loop(system: str, row: Row, duration_s: float) -> list[str | Html]:
    least_ms, most_ms = row.outside_ms
    return [
        f"{row.users:,}",
        system,
        f"{row.rate_per_s:,.0f}/s",
        f"{row.latency_ms:,g} ms",
        f"{row.in_flight:,.1f}",
        f"{100 * row.departure_frac:+.1f} %".replace("-", "−"),
        f"{in_flight_with_tail(row.users, row.latency_ms, duration_s):,.1f}",
        # Where it may be less than nothing, the tail hides it.
        f"{least_ms:.2f} to {most_ms:.2f} ms" if least_ms >= 0 else "–",
        "yes" if row.is_possible(duration_s) else "no",
    ]


def explanations_table(
    rows: Sequence[Row], machines: Mapping[str, Knobs], *, fewer_users: Sequence[int]
) -> Html:
    """What each machine would answer a second, by users: those that were published and fewer, and how far it is
    from the published rows at most."""
    users = [*sorted(fewer_users), *(row.users for row in rows)]
    printed = {row.users: f"{row.rate_per_s:,.0f}/s" for row in rows}
    rates = {
        name: [true_goodput_per_s(machine, count, 1) for count in users] for name, machine in machines.items()
    }
    body: list[list[str | Html]] = [
        [f"{count:,}", printed.get(count, "–"), *(f"{rates[name][place]:,.0f}/s" for name in machines)]
        for place, count in enumerate(users)
    ]
    distances = explained(rows, {name: of_all[len(fewer_users) :] for name, of_all in rates.items()})
    body.append(["off a published row by at most", "", *(f"{100 * far:.0f} %" for far in distances.values())])
    return values_table(("users", "published", *machines), body)
