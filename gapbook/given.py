"""Which names of a notebook's namespace a caller has set: they are its parameters, or mistaken for one."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from gapbook.notebook_text import code_cells, names_bound, notebook_path

__all__ = ["given_names"]

_OF_SHELL = frozenset({"In", "Out", "exit", "quit", "get_ipython", "open"})
_INJECTED = "# Parameters\n"
"""How the cell begins that papermill puts behind the parameters cell."""


def given_names(name: str, namespace: Mapping[str, Any], parameters: frozenset[str]) -> dict[str, Any]:
    """The names that somebody has set, with their values of whatever type.

    ``parameters`` are those of the chapter ``name``. Besides them it is every name that papermill was told, and all
    other data: a private name, what the shell has, what another cell of the notebook binds, modules, functions,
    classes and objects of this project are none.
    """
    injected = _injected_names(namespace)
    own = _names_of_notebook(name)
    return {
        key: value
        for key, value in {**dict.fromkeys(injected), **namespace}.items()
        if key in parameters
        or key in injected
        or not (key.startswith("_") or key in _OF_SHELL or key in own or _is_code(value))
    }


def _names_of_notebook(name: str) -> frozenset[str]:
    if not notebook_path(name).is_file():
        return frozenset()
    return frozenset().union(*(names_bound(cell) for cell in code_cells(name, without_parameters=True)))


def _injected_names(namespace: Mapping[str, Any]) -> frozenset[str]:
    """What the cells bind that papermill injected into this session, also where the notebook binds it anew."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None or shell.user_ns is not namespace:
        return frozenset()
    cells = [cell for cell in shell.history_manager.input_hist_parsed if cell.startswith(_INJECTED)]
    return frozenset().union(*map(names_bound, cells))


def _is_code(value: Any) -> bool:
    """Whether it is what a notebook works with, no data: of a caller's parameters none can be."""
    return (
        isinstance(value, ModuleType)
        or callable(value)
        or str(type(value).__module__).partition(".")[0] == "gapbook"
    )
