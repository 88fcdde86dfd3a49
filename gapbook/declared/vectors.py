"""``workloads/NAME/golden/cases.toml``: the vectors that clients of every language are held to."""

from __future__ import annotations

from gapbook.declared.reading import Declared

__all__ = ["VectorDeclaration", "VectorsDeclaration"]


class VectorDeclaration(Declared, frozen=True, kw_only=True):
    """What one vector draws; ``parameters`` are those of the workload that are not its defaults."""

    name: str
    parameters: dict[str, int | float | str]
    seed: int
    connection: int
    first_index: int
    operations: int


class VectorsDeclaration(Declared, frozen=True, kw_only=True):
    """All vectors of a workload."""

    vectors: tuple[VectorDeclaration, ...]
