"""Workloads, discovered from their folders: ``workloads/NAME/workload.toml`` and ``workload.py``."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from gapbook.errors import SetupError
from gapbook.model.declaration import WORKLOADS, declaration_of
from gapbook.model.workload import Workload

__all__ = ["find_workload", "load_workload_class"]


def find_workload(name: str, parameters: Mapping[str, Any]) -> Workload:
    """The workload of that name with these parameters; left out means the default.

    Raises ParameterError for an unknown name and for parameters that are not allowed, SetupError for a
    broken folder.
    """
    declaration = declaration_of(name)
    return _class_of(name)(declaration, parameters)


@cache
def _class_of(name: str) -> type[Workload]:
    return load_workload_class(WORKLOADS / name)


def load_workload_class(folder: Path) -> type[Workload]:
    """The class ``Workload`` of a folder; raises SetupError, in one line, when there is none that can be used."""
    where = f"workloads/{folder.name}/workload.py"
    found: Any = getattr(_module_of(folder, where), "Workload", None)
    if Workload not in getattr(found, "__mro__", ())[1:]:
        raise SetupError(
            f"{where}: has no class Workload that extends gapbook.model.workload.Workload; add it"
        )
    workload: type[Workload] = found
    if missing := sorted(getattr(workload, "__abstractmethods__", ())):
        raise SetupError(f"{where}: its class Workload lacks {', '.join(missing)}; define what is missing")
    return workload


def _module_of(folder: Path, where: str) -> ModuleType:
    """The folder as a package, so that workload.py can import the modules beside it."""
    path, name = folder / "workload.py", f"gapbook_workload_{folder.name.replace('-', '_')}"
    if not path.is_file():
        raise SetupError(f"{where}: missing; the workload's class is there")
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=[str(folder)])
    if spec is None or spec.loader is None:
        raise SetupError(f"{where}: cannot be imported")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        said = " ".join(str(error).split())
        raise SetupError(f"{where}: cannot be imported: {type(error).__name__}: {said}") from error
    return module
