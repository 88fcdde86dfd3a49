"""What a module declares of each workload, whichever of its files holds it."""

from __future__ import annotations

from pathlib import Path

from gapbook.declared.module import ModuleDeclaration, ProcedureDeclaration
from gapbook.declared.reading import read
from gapbook.errors import DeclarationError

__all__ = ["procedure_files", "procedures_of"]


def procedure_files(file: Path, module: ModuleDeclaration) -> list[Path]:
    """Each ``WORKLOAD/procedure.toml`` of the module that stands in ``file``: its own, and those in folders that it
    shares with others."""
    folders = [file.parent, *(file.parent / shared for shared in module.procedures)]
    return sorted(found.resolve() for folder in folders for found in folder.glob("*/procedure.toml"))


def procedures_of(file: Path, module: ModuleDeclaration) -> dict[str, ProcedureDeclaration]:
    """What the module in ``file`` declares, by workload; raises DeclarationError for a file that says what it may not,
    and where two declare the same."""
    procedures = dict(module.procedure)
    for own in procedure_files(file, module):
        workload = own.parent.name
        if workload in procedures:
            raise DeclarationError(
                f"modules/{file.parent.name}: {workload} is declared twice, in module.toml or in folders; keep one"
            )
        procedures[workload] = read(own, ProcedureDeclaration)
    return procedures
