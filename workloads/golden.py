"""Write the golden vectors that every client is held to: ``workloads/NAME/golden/*.json`` and the files they name.

    PYTHONPATH=. python workloads/golden.py

``golden/cases.toml`` lists the vectors of a workload: the name of each and what is drawn.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypedDict

import numpy as np

from gapbook.declared.reading import read
from gapbook.declared.vectors import VectorDeclaration, VectorsDeclaration
from gapbook.load.configuration import ConfiguredFile
from gapbook.model.declaration import ParameterValue, workload_names
from gapbook.model.workload import Workload
from gapbook.trial.workloads import find_workload

__all__ = ["operation_rows", "vector_of"]


class Vector(TypedDict):
    """What a client is told, and the operations that it must draw."""

    workload: str
    parameters: dict[str, ParameterValue]
    files: dict[str, ConfiguredFile]
    seed: int
    connection: int
    first_index: int
    operations: list[list[int | str]]


HERE = Path(__file__).parent


def operation_rows(
    workload: Workload, seed: int, connection: int, first_index: int, count: int
) -> list[list[int | str]]:
    """Operations in the order of their indices, each as its kind and its fields as declared."""
    indices = np.arange(first_index, first_index + count, dtype=np.uint64)
    rows: list[list[int | str]] = [[] for _ in range(count)]
    for kind, drawn in workload.draw(seed, connection, indices).items():
        fields = [field.name for field in workload.declaration.kinds[kind].fields]
        for place, *values in drawn.select("place", *fields).rows():
            rows[place] = [kind, *values]
    return rows


def vector_of(case: VectorDeclaration, workload: Workload, folder: Path) -> Vector:
    """One vector, whose files are written into the folder."""
    drawn = operation_rows(workload, case.seed, case.connection, case.first_index, case.operations)
    return {
        "workload": workload.name,
        "parameters": dict(workload.parameters),
        "files": {
            name: {"path": file.path.name, "sha256": file.sha256}
            for name, file in workload.files(folder).items()
        },
        "seed": case.seed,
        "connection": case.connection,
        "first_index": case.first_index,
        "operations": drawn,
    }


def main() -> None:
    for name in workload_names():
        folder = HERE / name / "golden"
        for stale in (*folder.glob("*.bin"), *folder.glob("*.json")):
            stale.unlink()
        for case in read(folder / "cases.toml", VectorsDeclaration).vectors:
            vector = vector_of(case, find_workload(name, case.parameters), folder)
            (folder / f"{case.name}.json").write_text(
                json.dumps(vector, separators=(",", ":")) + "\n", encoding="utf-8"
            )


if __name__ == "__main__":
    main()
