"""The parameters of chapters: one table of names, types and ranges; strict before any server starts.

papermill checks no types and only logs an unknown name. Every chapter therefore hands its names to
:func:`check_parameters`, and so does the command line before it starts a kernel.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gapbook.errors import ParameterError, cut
from gapbook.record.durability import Durability

__all__ = ["PARAMETERS", "Parameter", "check_parameters", "parse_assignment"]


_WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]*")
_NUMBER = re.compile(r"(?!-0$)-?(0|[1-9][0-9]*)(\.[0-9]+)?(e-?[0-9]+)?")
# A transfer draws its two accounts anew up to 64 times while they are the same; see clients/CONTRACT.md. At an
# alpha of 5 that fails once in a hundred, at 6 once in nine: nearly all transfers then have one payer, who drains.
_MOST_ALPHA = 5
# What is out when the window ends must be answered in the drain, which lasts 30 s and so does the patience for
# one request. Systems that pipeline answer at least 30,000 a second, or little of what was asked is ever timed.
_MOST_OUT_AT_ONCE = 30 * 30_000


@dataclass(frozen=True)
class Parameter:
    """One parameter: how its value is checked, and what is said to be allowed.

    ``everywhere``: every chapter has it.
    """

    name: str
    allowed: str
    check: Callable[[Any], bool]
    help: str
    everywhere: bool = True


def _is_integer(low: int, high: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _is_number(value: Any, low: float, high: float) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        # Neither NaN nor an infinity passes, and no integer is too large to be compared.
        and low <= value <= high
    )


def _is_seconds(low: float, high: float) -> Callable[[Any], bool]:
    return lambda value: _is_number(value, low, high)


def _is_alphas(value: Any) -> bool:
    values = value if isinstance(value, list | tuple) else [value]
    return (
        bool(values)
        and all(_is_number(v, 0, _MOST_ALPHA) for v in values)
        and len(set(values)) == len(values)
    )


def _is_names(value: Any) -> bool:
    names = value.split(",") if isinstance(value, str) else value
    return isinstance(names, list | tuple) and bool(names) and all(map(_is_text, names))


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _are_servers(value: Any) -> bool:
    return isinstance(value, str) and all("=" in part for part in value.split(",") if part.strip())


def _is_durability(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(Durability.parse(value))
    except ParameterError:
        return False


PARAMETERS: Mapping[str, Parameter] = {
    parameter.name: parameter
    for parameter in (
        Parameter("source", "live, resume, published or a run id", _is_text, "where the trials come from"),
        Parameter(
            "alpha",
            f"a number from 0 to {_MOST_ALPHA}, or a list of different ones",
            _is_alphas,
            "Zipf exponent",
        ),
        Parameter(
            "connections", "a whole number from 1 to 200", _is_integer(1, 200), "connections of the load"
        ),
        Parameter(
            "in_flight",
            "a whole number from 1 to 16384",
            _is_integer(1, 16384),
            "requests in flight a connection, where deep",
        ),
        Parameter("window_s", "seconds from 0.5 to 3600", _is_seconds(0.5, 3600), "measured window"),
        Parameter("warmup_s", "seconds from 0 to 600", _is_seconds(0, 600), "warm-up before the window"),
        Parameter("blocks", "a whole number from 1 to 1000", _is_integer(1, 1000), "randomised blocks"),
        Parameter(
            "sessions",
            "a whole number from 1 to 100",
            _is_integer(1, 100),
            "fresh deployments over which the blocks are spread",
            everywhere=False,
        ),
        Parameter(
            "end_trials",
            "a whole number from 1 to 100",
            _is_integer(1, 100),
            "trials of both ends of the gap in each block",
            everywhere=False,
        ),
        Parameter(
            "attempts", "a whole number from 1 to 5", _is_integer(1, 5), "times that a refused trial is tried"
        ),
        Parameter("accounts", "a whole number from 2 to 2097152", _is_integer(2, 2**21), "bank accounts"),
        Parameter(
            "seed",
            "a whole number from 0 to 9007199254740991",
            _is_integer(0, 2**53 - 1),
            "seed of plan and work",
        ),
        Parameter(
            "durability",
            "none, fsync-per-commit, delayed or delayed(N ms)",
            _is_durability,
            "durability class of all contestants",
        ),
        Parameter(
            "kills",
            "a whole number from 0 to 100",
            _is_integer(0, 100),
            "kill -9 of each contestant's server",
        ),
        Parameter("contestants", "names separated by commas, or all", _is_names, "who is measured"),
        Parameter(
            "servers",
            "STACK=BINARY, STACK=URL or STACK@VERSION=BINARY, separated by commas, or nothing",
            _are_servers,
            "servers that you name yourself",
        ),
    )
}


def check_parameters(given: Mapping[str, Any], declared: frozenset[str] | None = None) -> dict[str, Any]:
    """The given parameters, checked by name, type and range, and those two whose product is bounded.

    ``declared`` narrows the names to those of one chapter. Raises ParameterError naming the
    parameter, what was given and what is allowed.
    """
    known = [name for name in PARAMETERS if declared is None or name in declared]
    for name, value in given.items():
        if name not in known:
            raise ParameterError(f"parameter {cut(name)}: unknown; allowed: {', '.join(known)}")
        if not PARAMETERS[name].check(value):
            raise ParameterError(
                f"parameter {name}: {cut(repr(value))} is not allowed; allowed: {PARAMETERS[name].allowed}"
            )
    out = given.get("connections", 1) * given.get("in_flight", 1)
    if out > _MOST_OUT_AT_ONCE:
        raise ParameterError(
            f"parameter in_flight: {given['in_flight']:,} on each of {given['connections']:,} connections are "
            f"{out:,} requests out at once, more than the drain of 30 s can answer; allowed: at most "
            f"{_MOST_OUT_AT_ONCE:,} in all, here {_MOST_OUT_AT_ONCE // given['connections']:,} on each"
        )
    return dict(given)


def parse_assignment(text: str) -> tuple[str, Any]:
    """``alpha=0.5,1.5`` from a command line as a name and a value of the type that it looks like."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ParameterError(f"parameter {cut(repr(text))}: not of the form name=value")
    if name in PARAMETERS and PARAMETERS[name].check(value):
        return name, value  # a parameter that is text stays text, also where it looks like a number
    if name == "alpha" and "," in value:
        return name, [_parse_value(part.strip(" ")) for part in value.split(",")]
    return name, _parse_value(value)


def _parse_value(text: str) -> Any:
    """A number where it is written as one, in plain digits; anything else stays text."""
    if _WHOLE_NUMBER.fullmatch(text):
        # Python reads no whole number of more than 4,300 digits, and no range here has one of 30.
        return int(text) if len(text) < 30 else text
    return float(text) if _NUMBER.fullmatch(text) else text
