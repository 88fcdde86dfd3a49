"""What a workload declares of itself: parameters, operations, refusals, files, state, and what its audit proves.

``workloads/NAME/workload.toml`` is the one place of these facts; it is data, so that reading it runs no code.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from gapbook.declared.reading import Declared, read
from gapbook.errors import DeclarationError, ParameterError, SetupError, cut
from gapbook.paths import CHECKOUT

__all__ = [
    "WORKLOADS",
    "AsTreatment",
    "Declaration",
    "Field",
    "Kind",
    "Parameter",
    "ParameterValue",
    "StateTable",
    "declaration_of",
    "read_declaration",
    "workload_names",
]

ParameterValue: TypeAlias = int | float | str
"""A value of a workload's parameter: a whole number, a number, or one of its choices."""

WORKLOADS = CHECKOUT / "workloads"
_TAKEN_REFUSALS = {"error", "timeout"}
"""Failures that every client knows, whatever the workload (clients/CONTRACT.md)."""


class AsTreatment(Declared, frozen=True):
    """How a parameter is printed where it varies: ``label`` before a value, ``words`` on an axis."""

    label: str
    words: str


class Parameter(Declared, frozen=True):
    """One parameter: type, unit, range, default and what it means.

    ``treatment``: it may be varied within one scenario. ``short`` names a value that one contestant has of
    its own, with ``{value}`` in it.
    """

    type: Literal["integer", "number", "choice"]
    words: str
    default: ParameterValue
    unit: str = ""
    minimum: int | float | None = None
    maximum: int | float | None = None
    choices: tuple[str, ...] = ()
    treatment: AsTreatment | None = None
    short: str = ""

    def accepts(self, value: object) -> bool:
        """Whether the value has the type and lies in the range; NaN and infinities lie in none."""
        if self.type == "choice":
            return isinstance(value, str) and value in self.choices
        wanted = int if self.type == "integer" else (int, float)
        if isinstance(value, bool) or not isinstance(value, wanted):
            return False
        assert self.minimum is not None
        assert self.maximum is not None
        return bool(self.minimum <= value <= self.maximum)

    def allowed(self) -> str:
        """``a whole number from 2 to 2,097,152``"""
        if self.type == "choice":
            return " or ".join(self.choices)
        kind = "a whole number" if self.type == "integer" else "a number"
        return f"{kind} from {self.minimum:,} to {self.maximum:,}"

    def __post_init__(self) -> None:
        if problem := self._problem():
            raise ValueError(problem)

    def _problem(self) -> str | None:
        """What keeps this from being a parameter, or None."""
        if self.type == "choice":
            unfit = not self.choices or self.minimum is not None or self.maximum is not None
            return "a choice has choices, and no minimum or maximum" if unfit else self._problem_of_default()
        if self.choices or self.minimum is None or self.maximum is None or self.minimum > self.maximum:
            return f"type {self.type!r} has a minimum and a maximum not below it, and no choices"
        return self._problem_of_default()

    def _problem_of_default(self) -> str | None:
        return None if self.accepts(self.default) else f"default: {self.default!r} is not {self.allowed()}"


class Field(Declared, frozen=True):
    """A field of an operation, as clients draw it and pass it on."""

    name: str
    type: Literal["u32", "u64", "text"]
    words: str


class Kind(Declared, frozen=True):
    """A kind of operation; its fields in the order in which a server takes them."""

    words: str
    fields: tuple[Field, ...]


class StateTable(Declared, frozen=True):
    """A table of the state that a server holds and the audit reads; rows are told apart by their key."""

    words: str
    columns: dict[str, Literal["integer", "text"]]
    key: tuple[str, ...]


class Proof(Declared, frozen=True):
    """Sentences for pages: what the audit proves, and what it cannot see."""

    proves: tuple[str, ...]
    cannot: tuple[str, ...]


class Declaration(Declared, frozen=True):
    """The facts of one workload.

    ``refusals`` and ``files`` map names to what they mean. A refusal that is not named is an ``error``. A workload
    that stores nothing has no tables in its state: what its answers say is all that an audit has.
    """

    name: str
    label: str
    question: str
    parameters: dict[str, Parameter]
    kinds: dict[str, Kind]
    state: dict[str, StateTable]
    audit: Proof
    refusals: dict[str, str] = {}
    files: dict[str, str] = {}

    def checked(self, given: Mapping[str, Any]) -> dict[str, ParameterValue]:
        """All parameters, those given over the defaults.

        Raises ParameterError naming the parameter, what was given and what is allowed.
        """
        for name, value in given.items():
            if name not in self.parameters:
                known = ", ".join(self.parameters)
                raise ParameterError(
                    f"parameter {cut(name)}: unknown to workload {self.name}; allowed: {known}"
                )
            parameter = self.parameters[name]
            if not parameter.accepts(value):
                raise ParameterError(
                    f"parameter {name}: {cut(repr(value))} is not allowed by workload {self.name}; "
                    f"allowed: {parameter.allowed()}"
                )
        return {name: given.get(name, parameter.default) for name, parameter in self.parameters.items()}

    def told(self, parameters: Mapping[str, Any]) -> str:
        """``500 in each account``: parameters in words, as a label has them; empty without any."""
        return ", ".join(
            (self.parameters[name].short or f"{name.replace('_', ' ')} {{value}}").format(
                value=f"{value:,}" if isinstance(value, int) else value
            )
            for name, value in parameters.items()
        )

    def __post_init__(self) -> None:
        if problem := self._problem():
            raise ValueError(problem)

    def _problem(self) -> str | None:
        """What keeps this from being a workload, or None."""
        for name, table in self.state.items():
            if not table.key or not set(table.key) <= table.columns.keys():
                return f"state.{name}: key must name columns, of {', '.join(table.columns)}"
        for name, kind in self.kinds.items():
            if len({field.name for field in kind.fields}) != len(kind.fields):
                return f"kinds.{name}: a field is named twice"
        if taken := _TAKEN_REFUSALS & self.refusals.keys():
            return f"refusals: {', '.join(sorted(taken))} is a failure of every workload; name another"
        return None if self.kinds else "kinds: name at least one"


def workload_names() -> tuple[str, ...]:
    """The workloads there are: every folder under ``workloads/``, whole or broken."""
    return tuple(
        sorted(path.name for path in WORKLOADS.iterdir() if path.is_dir() and path.name[0] not in "._")
    )


@cache
def declaration_of(name: str) -> Declaration:
    """What a workload declares. Raises ParameterError for one that is not there, SetupError or DeclarationError for a broken one."""
    if name not in workload_names():
        raise ParameterError(
            f"workload: {cut(repr(name))} has no folder under workloads/; there are: {', '.join(workload_names())}"
        )
    return read_declaration(WORKLOADS / name)


def read_declaration(folder: Path) -> Declaration:
    """The declaration in a workload's folder; raises DeclarationError with what is wrong in it, SetupError where it is not there."""
    path = folder / "workload.toml"
    if not path.is_file():
        raise SetupError(f"workloads/{folder.name}/workload.toml: missing; a workload declares itself there")
    declared = read(path, Declaration)
    if declared.name != folder.name:
        raise DeclarationError(
            f"workloads/{folder.name}/workload.toml: name: {declared.name!r} is not that of its folder"
        )
    return declared
