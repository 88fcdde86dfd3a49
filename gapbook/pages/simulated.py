"""Simulations whose outcome is known: it follows from their code and from what they are asked, so none is made twice.

Outcomes that the published book shows are kept in ``results/simulated.json``, which ``python -m
gapbook.book.simulations`` writes; others in the cache. A change of the code that simulates, or of numpy or scipy, makes
all of them unknown.
"""

from __future__ import annotations

import ast
import hashlib
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, get_type_hints

import msgspec
import numpy
import scipy

from gapbook.paths import CHECKOUT, cache_directory, hash_files

__all__ = ["KNOWN", "imported_by", "key_of", "read_outcomes", "simulated"]

KNOWN = CHECKOUT / "results" / "simulated.json"
"""The outcomes that the published book shows, by key."""
_Asked = ParamSpec("_Asked")
_Outcome = TypeVar("_Outcome")


def simulated(simulate: Callable[_Asked, _Outcome], *asked: _Asked.args, **named: _Asked.kwargs) -> _Outcome:
    """What a simulation comes to, made only where it is not known.

    ``simulate`` has a seed among what it is asked or of its own, and its annotations say what it returns: a data class
    that JSON holds without loss. One that JSON does not hold so, with a number that is none, is made each time.
    """
    returned = get_type_hints(simulate)["return"]
    key = key_of(simulate, *asked, **named)
    kept = cache_directory() / "simulated" / f"{key}.json"
    if (known := _known().get(key)) is not None:
        return msgspec.convert(known, returned)  # type: ignore[no-any-return]
    if kept.is_file():
        return msgspec.json.decode(kept.read_bytes(), type=returned)  # type: ignore[no-any-return]
    outcome = simulate(*asked, **named)
    written = msgspec.json.encode(outcome)
    if _holds(written, returned, outcome):
        _write(kept, written)
    return outcome


def read_outcomes(file: Path) -> dict[str, Any]:
    """Outcomes by key; none where there is no such file."""
    return msgspec.json.decode(file.read_bytes(), type=dict[str, Any]) if file.is_file() else {}


@cache
def _known() -> dict[str, Any]:
    return read_outcomes(KNOWN)


def _holds(written: bytes, returned: Any, outcome: object) -> bool:
    try:
        return bool(msgspec.json.decode(written, type=returned) == outcome)
    except msgspec.ValidationError:
        return False


def _write(file: Path, content: bytes) -> None:
    """Another process may read it meanwhile. A cache that cannot be written costs time only."""
    new = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        new.write_bytes(content)
        new.replace(file)
    except OSError:
        return


def key_of(simulate: Callable[_Asked, object], *asked: _Asked.args, **named: _Asked.kwargs) -> str:
    """A hash of what is asked, of the code that answers, and of the libraries that it computes with."""
    name = f"{simulate.__module__}.{simulate.__qualname__}"
    of_all = msgspec.json.encode([name, asked, sorted(named.items()), _code(simulate.__module__)])
    return hashlib.sha256(of_all).hexdigest()[:32]


@cache
def _code(module: str) -> str:
    """One hash of all that a module of ours computes with."""
    return f"{hash_files(imported_by(module), CHECKOUT)} numpy {numpy.__version__} scipy {scipy.__version__}"


def imported_by(module: str) -> set[Path]:
    """The file of a module of ours and of all modules of ours that it imports, and those import."""
    return set(_imported(_file_of(module), set()))


def _imported(file: Path, seen: set[Path]) -> Iterator[Path]:
    if file in seen or not file.is_file():
        return
    seen.add(file)
    yield file
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("gapbook."):
            yield from _imported(_file_of(node.module), seen)
            for name in node.names:
                yield from _imported(_file_of(f"{node.module}.{name.name}"), seen)
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name.startswith("gapbook."):
                    yield from _imported(_file_of(name.name), seen)


def _file_of(module: str) -> Path:
    return CHECKOUT.joinpath(*module.split(".")).with_suffix(".py")
