"""The times that a benchmark's authors noted of their own runs, by system and client: no run of ours is needed.

They stand in ``book/BENCHMARK-times.toml``, whose head says what its fields are.
"""

from __future__ import annotations

from functools import cache

from gapbook.declared.published import TimesDeclaration
from gapbook.declared.reading import read
from gapbook.errors import ParameterError
from gapbook.markup import Html, values_table
from gapbook.method.interval import format_factor
from gapbook.paths import CHECKOUT

__all__ = ["absent_table", "published_rate", "published_ratio", "published_times_table"]


@cache
def _times_of(benchmark: str) -> TimesDeclaration:
    """Raises DeclarationError that says what is wrong with the file."""
    return read(CHECKOUT / "book" / f"{benchmark}-times.toml", TimesDeclaration)


def published_times_table(benchmark: str, what: str, fastest: str) -> Html:
    """Every noted time of one kind of work, and how many times that of ``fastest`` it is: with whichever client
    that was fastest, and with the same client."""
    known = _times_of(benchmark)
    noted = [one for one in known.time if one.what == what]
    least = [one for one in noted if one.system == fastest]
    if not least:
        raise ParameterError(f"published times: {fastest!r} has none of {what!r}")
    best = max(one.rate_per_s for one in least)
    alike = {one.client: one.rate_per_s for one in least}
    rows: list[list[str | Html]] = [
        [
            one.system,
            one.client,
            f"{one.operations:,}",
            f"{one.seconds:,.1f} s",
            f"{one.rate_per_s:,.0f}/s",
            f"×{format_factor(best / one.rate_per_s)}",
            f"×{format_factor(alike[one.client] / one.rate_per_s)}" if one.client in alike else "–",
        ]
        for one in noted
    ]
    columns = (
        "system",
        "client",
        "operations",
        "time for all",
        "operations per second",
        f"{fastest} with its fastest client ÷ this row",
        f"{fastest} with this row's client ÷ this row",
    )
    caption = f"As the authors noted it in {known.repository} (at {known.read_at[:8]}), on their own machine"
    return values_table(columns, rows, caption=caption)


def published_ratio(benchmark: str, what: str, *, over: str, under: str, client: str) -> str:
    """How many times the noted rate of ``under`` that of ``over`` is, both with the same client and each at its best.

    Raises ParameterError as :func:`published_rate` does.
    """
    over_rate, under_rate = (published_rate(benchmark, what, system, client) for system in (over, under))
    return format_factor(over_rate / under_rate)


def published_rate(benchmark: str, what: str, system: str, client: str) -> float:
    """The best noted rate of a system with a client, in operations a second.

    Raises ParameterError where it has no time with that client.
    """
    noted = [one for one in _times_of(benchmark).time if (one.system, one.what) == (system, what)]
    rates = [one.rate_per_s for one in noted if one.client == client]
    if not rates:
        raise ParameterError(f"published times: {system!r} has none of {what!r} with a client in {client}")
    return max(rates)


def absent_table(benchmark: str) -> Html:
    """What the published comparison has and this book does not measure, each with the reason."""
    return values_table(
        ("published", "here"), [[name, why] for name, why in _times_of(benchmark).absent.items()]
    )
