"""The parameters of chapters: one table of names, types and ranges; strict before any server starts.

papermill checks no types and only logs an unknown name. Every chapter therefore hands its names to
:func:`check_parameters`, and so does the command line before it starts a kernel. The parameters of a workload
are those that its folder declares.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from gapbook.errors import ParameterError, cut, nearest, shown
from gapbook.model import declaration
from gapbook.record.durability import Durability
from gapbook.record.placement import NATIVE, Placement

__all__ = [
    "MEASURING",
    "Parameter",
    "Range",
    "chapter_parameters",
    "check_parameters",
    "names_in",
    "parse_assignment",
]

MEASURING = frozenset({"live", "resume", "session"})
"""The sources that measure; any other reads a stored run."""

_WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]*")
_NUMBER = re.compile(r"(?!-0$)-?(0|[1-9][0-9]*)(\.[0-9]+)?(e-?[0-9]+)?")
# What is out when the window ends must be answered in the drain, which lasts 30 s and so does the patience for
# one request, where a chapter does not say more. Systems that pipeline answer at least 30,000 a second, or little
# of what was asked is ever timed.
_MOST_OUT_AT_ONCE = 30 * 30_000


@dataclass(frozen=True)
class Range:
    """The check of a number, whole or any, from ``low`` to ``high``."""

    low: float
    high: float
    whole: bool = False

    def __call__(self, value: Any) -> bool:
        return (
            isinstance(value, int if self.whole else int | float)
            and not isinstance(value, bool)
            # Neither NaN nor an infinity passes, and no integer is too large to be compared.
            and self.low <= value <= self.high
        )


@dataclass(frozen=True)
class _Several:
    """One value, or a list of different ones."""

    accepts: Callable[[Any], bool]

    def __call__(self, value: Any) -> bool:
        values = value if isinstance(value, list | tuple) else [value]
        return bool(values) and all(map(self.accepts, values)) and len(set(values)) == len(values)


@dataclass(frozen=True)
class Parameter:
    """One parameter: how its value is checked, and what is said to be allowed.

    ``everywhere``: every chapter has it. ``varies``: a chapter may take several values of it, as its treatment.
    ``absent`` is what it was in a run from before there was such a parameter, where that can be said.
    """

    name: str
    allowed: str
    check: Callable[[Any], bool]
    help: str
    everywhere: bool = True
    varies: bool = False
    absent: Any = None

    @property
    def range(self) -> Range | None:
        """The range of each of its values, where they are numbers."""
        one = self.check.accepts if isinstance(self.check, _Several) else self.check
        return one if isinstance(one, Range) else None


def _is_integer(low: int, high: int) -> Range:
    return Range(low, high, whole=True)


def _is_seconds(low: float, high: float) -> Range:
    return Range(low, high)


def _one_or_several(accepts: Callable[[Any], bool]) -> _Several:
    return _Several(accepts)


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


def _is_place(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(Placement.parse(value))
    except ParameterError:
        return False


_SOURCE = Parameter(
    "source",
    "live, resume, session, published or a run id",
    _is_text,
    "where the trials come from (session: measure the next session of a run, and stop)",
)
_OF_LOAD = (
    Parameter(
        "connections",
        "a whole number from 1 to 10,000, or a list of different ones",
        _one_or_several(_is_integer(1, 10_000)),
        "connections of the load",
        varies=True,
    ),
    Parameter(
        "databases",
        "a whole number from 1 to 200, or a list of different ones",
        _one_or_several(_is_integer(1, 200)),
        "database files over which the load is spread",
        everywhere=False,
        varies=True,
    ),
    Parameter(
        "in_flight",
        "a whole number from 1 to 16384",
        _is_integer(1, 16384),
        "requests in flight a connection, where deep",
        everywhere=False,
    ),
    Parameter("window_s", "seconds from 0.5 to 3600", _is_seconds(0.5, 3600), "measured window"),
    Parameter("warmup_s", "seconds from 0 to 600", _is_seconds(0, 600), "warm-up before the window"),
    Parameter(
        "request_timeout_s",
        "seconds from 1 to 600",
        _is_seconds(1, 600),
        "longest wait for an answer",
        everywhere=False,
        absent=30,
    ),
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
        "trials in each block of what the first screen compares",
        everywhere=False,
    ),
    Parameter(
        "others_every",
        "a whole number from 1 to 100",
        _is_integer(1, 100),
        "blocks from one trial to the next, of what the first screen does not compare",
        everywhere=False,
        absent=1,
    ),
    Parameter(
        "attempts", "a whole number from 1 to 5", _is_integer(1, 5), "times that a refused trial is tried"
    ),
)
_OF_RUN = (
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
    Parameter(
        "cuts",
        "a whole number from 0 to 1000",
        _is_integer(0, 1000),
        "power cuts of each contestant's disk",
        everywhere=False,
    ),
    Parameter("contestants", "names separated by commas, or all", _is_names, "who is measured"),
    Parameter(
        "servers",
        "STACK=BINARY, STACK=URL, STACK=env:VARIABLE, STACK=image:NAME or STACK@VERSION=..., separated by commas, or nothing",
        _are_servers,
        "servers that you name yourself",
    ),
    Parameter(
        "backend",
        Placement.ALLOWED,
        _is_place,
        "where servers run that can run there",
        everywhere=False,
        absent=str(NATIVE),
    ),
)


@cache
def chapter_parameters(workload: str | None = None) -> Mapping[str, Parameter]:
    """What a chapter of that workload may be told, by name; without one, what any chapter may."""
    names = declaration.workload_names() if workload is None else (workload,)
    own = _of_workloads(names)
    varied = [parameter for parameter in own if parameter.varies]
    fixed = [parameter for parameter in own if not parameter.varies]
    return {each.name: each for each in (_SOURCE, *varied, *_OF_LOAD, *fixed, *_OF_RUN)}


def _of_workloads(names: Iterable[str]) -> list[Parameter]:
    """What the workloads declare. Of a name that two of them have, a value is allowed that one of them allows;
    the chapter, which has one workload, is stricter."""
    declared: dict[str, list[declaration.Parameter]] = {}
    for workload in names:
        for name, parameter in declaration.declaration_of(workload).parameters.items():
            declared.setdefault(name, []).append(parameter)
    return [_declared(name, several) for name, several in declared.items()]


def _declared(name: str, several: list[declaration.Parameter]) -> Parameter:
    varies = any(parameter.treatment for parameter in several)
    allowed = " or ".join(dict.fromkeys(parameter.allowed() for parameter in several))

    def one_accepts(value: Any) -> bool:
        return any(parameter.accepts(value) for parameter in several)

    accepts = _range_of(several) or one_accepts
    return Parameter(
        name,
        f"{allowed}, or a list of different ones" if varies else allowed,
        _one_or_several(accepts) if varies else accepts,
        several[0].words,
        everywhere=False,
        varies=varies,
    )


def _range_of(several: list[declaration.Parameter]) -> Range | None:
    """The one range of a number that is declared alike wherever it is."""
    ranges = {
        Range(one.minimum, one.maximum, whole=one.type == "integer")
        for one in several
        if one.minimum is not None and one.maximum is not None
    }
    numbers = all(one.type != "choice" for one in several)
    return ranges.pop() if numbers and len(ranges) == 1 else None


def check_parameters(
    given: Mapping[str, Any],
    declared: frozenset[str] | None = None,
    *,
    workload: str | None = None,
    treatment: str | None = None,
) -> dict[str, Any]:
    """The given parameters, checked by name, type and range, and those two whose product is bounded.

    ``declared`` narrows the names to those of one chapter, ``workload`` to those of one workload;
    ``treatment`` is the one parameter that may then have several values. Raises ParameterError naming the
    parameter, what was given and what is allowed.
    """
    table = chapter_parameters(workload)
    known = [name for name in table if declared is None or name in declared]
    for name, value in given.items():
        if name not in known:
            raise ParameterError(
                f"parameter {cut(name)}: unknown; allowed: {', '.join(known)}{nearest(name, known)}"
            )
        if not table[name].check(value):
            raise ParameterError(
                f"parameter {name}: {shown(value)} is not allowed; allowed: {table[name].allowed}"
                f"{_nearest_word(value, table[name].allowed)}"
            )
        several = table[name].varies and isinstance(value, list | tuple)
        if several and treatment not in (None, name):
            raise ParameterError(
                f"parameter {name}: {shown(value)} are several; allowed: one, for this chapter varies {treatment}"
            )
    _require_answerable(given)
    return dict(given)


def _nearest_word(value: Any, allowed: str) -> str:
    """The allowed word that a mistyped one is like."""
    mistyped = isinstance(value, str) and re.fullmatch(r"[A-Za-z+-]+", value)
    return nearest(value, re.findall(r"[a-z][a-z-]{3,}", allowed)) if mistyped else ""


def _require_answerable(given: Mapping[str, Any]) -> None:
    """Raises ParameterError where more requests are out at once than the drain can answer."""
    connections, databases = (_largest(given.get(name, 1)) for name in ("connections", "databases"))
    in_flight = given.get("in_flight", 1)
    lines = connections * databases
    if lines * in_flight <= _MOST_OUT_AT_ONCE:
        return
    to_each = f" to each of {databases:,} databases" if databases > 1 else ""
    if lines <= _MOST_OUT_AT_ONCE:
        out = lines * in_flight
        asked = f"in_flight: {in_flight:,} on each of {connections:,} connections{to_each}"
        allowed = f"{_MOST_OUT_AT_ONCE // lines:,} on each"
    else:
        # One on each is too many already, whether more were asked for or none.
        out = lines
        asked = f"connections: {connections:,}{to_each}"
        allowed = f"{_MOST_OUT_AT_ONCE // databases:,} to each"
    raise ParameterError(
        f"parameter {asked} are {out:,} requests out at once, more than the drain of 30 s can answer; "
        f"allowed: at most {_MOST_OUT_AT_ONCE:,} in all, here {allowed}"
    )


def _largest(value: Any) -> int:
    """The one value of a parameter, or the largest of several."""
    return int(max(value) if isinstance(value, list | tuple) else value)


def parse_assignment(text: str) -> tuple[str, Any]:
    """``alpha=0.5,1.5`` from a command line as a name and a value of the type that it looks like.

    Raises ParameterError for another form, and for a comma that can be one of a number or one between two.
    """
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ParameterError(f"parameter {cut(repr(text))}: not of the form name=value")
    known = chapter_parameters().get(name)
    if known is not None and known.check(value):
        return name, value  # a parameter that is text stays text, also where it looks like a number
    if known is not None and known.varies and "," in value:
        return name, _parse_list(known, value)
    return name, _parse_value(value)


def _parse_list(parameter: Parameter, text: str) -> list[Any]:
    """Several values. Whole numbers alone may be meant as others with decimal commas, where these are allowed too:
    then ParameterError tells how to write the one and the other."""
    parts = [part.strip(" ") for part in text.split(",")]
    values = [_parse_value(part) for part in parts]
    if all(map(_WHOLE_NUMBER.fullmatch, parts)):
        with_commas = [".".join(parts[at : at + 2]) for at in range(0, len(parts), 2)]
        if all(parameter.check(_parse_value(part)) for part in with_commas):
            apart = [*parts[:-1], f"{parts[-1]}.0"]
            raise ParameterError(
                f"parameter {parameter.name}: {cut(text)} can be read in two ways; write "
                f"{parameter.name}={cut(','.join(with_commas))} or {parameter.name}={cut(','.join(apart))}"
            )
    return values


def _parse_value(text: str) -> Any:
    """A number where it is written as one, in plain digits; anything else stays text."""
    if _WHOLE_NUMBER.fullmatch(text):
        # Python reads no whole number of more than 4,300 digits, and no range here has one of 30.
        return int(text) if len(text) < 30 else text
    return float(text) if _NUMBER.fullmatch(text) else text


def names_in(value: str | Sequence[str]) -> list[str]:
    """The names that a parameter holds, as a list or separated by commas; none where it is ``all``."""
    names = [name.strip() for name in value.split(",")] if isinstance(value, str) else list(value)
    return [] if names == ["all"] else [name for name in names if name]
