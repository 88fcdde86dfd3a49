"""The treatment: what varies inside a scenario besides the contestant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gapbook.errors import ParameterError, cut
from gapbook.model.declaration import AsTreatment, declaration_of
from gapbook.record.scenario import CONNECTIONS, DATABASES, RecordedTreatment

__all__ = ["Treatment"]

_LOAD: Mapping[str, AsTreatment] = {
    CONNECTIONS: AsTreatment(label="users", words="virtual users, each on a connection of its own"),
    DATABASES: AsTreatment(label="databases", words="databases, each written by connections of its own"),
}


@dataclass(frozen=True)
class Treatment:
    """A parameter of the workload, or a setting of its load, with the values that it has in one scenario."""

    name: str
    values: tuple[float, ...]
    label: str
    words: str

    @classmethod
    def of(cls, name: str, workload: str, values: Iterable[float]) -> Treatment:
        """The treatment of that name in a workload; raises ParameterError for one that cannot be varied,
        or without a value."""
        declared = declaration_of(workload).parameters
        told = {**{key: given.treatment for key, given in declared.items() if given.treatment}, **_LOAD}
        if name not in told:
            raise ParameterError(
                f"treatment: {cut(repr(name))} cannot be varied in workload {workload}; allowed: {', '.join(told)}"
            )
        # A workload that takes whole numbers alone is told whole ones.
        whole = name in declared and declared[name].type == "integer"
        given = (float(value) for value in values)
        ordered = tuple(sorted(int(value) if whole and value.is_integer() else value for value in given))
        if not ordered or len(set(ordered)) != len(ordered):
            raise ParameterError(f"treatment: {name} needs one value or several different ones")
        return cls(name, ordered, told[name].label, told[name].words)

    @property
    def is_connections(self) -> bool:
        """Whether it is the number of the load's connections, not a parameter of the workload."""
        return self.name == CONNECTIONS

    @property
    def is_databases(self) -> bool:
        """Whether it is over how many database files the load is spread, each with connections of its own."""
        return self.name == DATABASES

    def parameters(self, value: float) -> dict[str, float]:
        """What the workload is told at one value; nothing where the treatment is a setting of the load."""
        return {} if self.name in _LOAD else {self.name: value}

    def recorded(self) -> RecordedTreatment:
        return RecordedTreatment(self.name, self.label, "", list(self.values), words=self.words)
