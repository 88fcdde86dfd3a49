"""All kinds of declaration files of a checkout: where each is found, its struct, and its JSON Schema for editors.

    python -m gapbook.book.declarations

writes the schemas anew, after a change of a struct, and their names into the first lines of the files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from gapbook.book.plans import plan_kind
from gapbook.claims.entries import RegisterFile
from gapbook.declared.claims import ClaimsDeclaration
from gapbook.declared.client import ClientDeclaration, NullServerDeclaration
from gapbook.declared.famous import FamousDeclaration
from gapbook.declared.machines import MachinesDeclaration
from gapbook.declared.module import ModuleDeclaration, ProcedureDeclaration
from gapbook.declared.older import OlderDeclaration
from gapbook.declared.program import ProgramDeclaration
from gapbook.declared.published import HistoryDeclaration, TimesDeclaration
from gapbook.declared.reading import Declared
from gapbook.declared.stack import StackDeclaration
from gapbook.declared.vectors import VectorsDeclaration
from gapbook.declared.verdict_change import VerdictChanges
from gapbook.declared.verdicts import VerdictsDeclaration
from gapbook.model import declaration
from gapbook.paths import CHECKOUT

__all__ = ["KINDS", "REGISTER", "Kind", "directive", "schema_of"]

_SCHEMAS = CHECKOUT / "schemas"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True)
class Kind:
    """One kind of file: ``patterns`` find its files from the checkout on.

    ``written``: a build writes the file, and its first line is the build's.
    """

    name: str
    patterns: tuple[str, ...]
    struct: type[Declared]
    written: bool = False

    @property
    def schema_path(self) -> Path:
        return _SCHEMAS / f"{self.name}.schema.json"

    def files(self) -> Iterator[Path]:
        """The files of this kind, in the order of their names."""
        found = {path for pattern in self.patterns for path in CHECKOUT.glob(pattern)}
        yield from sorted(path for path in found if not {"node_modules", "target"} & set(path.parts))


KINDS: tuple[Kind, ...] = (
    Kind("stack", ("stacks/*/stack.toml",), StackDeclaration),
    Kind("module", ("modules/*/module.toml",), ModuleDeclaration),
    Kind("procedure", ("modules/*/*/procedure.toml", "modules/*/*/*/procedure.toml"), ProcedureDeclaration),
    Kind(
        "program",
        ("modules/*/*/program.wasm.toml", "modules/*/*/*/program.wasm.toml"),
        ProgramDeclaration,
        True,
    ),
    Kind("client", ("clients/*/client.toml", "clients/*/*/client.toml"), ClientDeclaration),
    Kind("null", ("clients/*/null.toml", "clients/*/*/null.toml"), NullServerDeclaration),
    Kind("workload", ("workloads/*/workload.toml",), declaration.Declaration),
    Kind("vectors", ("workloads/*/golden/cases.toml",), VectorsDeclaration),
    Kind("plan", ("notebooks/*.plan.toml",), plan_kind()),
    Kind("claims", ("book/claims.toml",), ClaimsDeclaration),
    Kind("famous", ("book/famous.toml",), FamousDeclaration),
    Kind("verdicts", ("book/verdicts*.toml",), VerdictsDeclaration),
    Kind("verdict-changes", ("book/verdict-changes.toml",), VerdictChanges),
    Kind("history", ("book/headline-history.toml",), HistoryDeclaration),
    Kind("times", ("book/*-times.toml",), TimesDeclaration),
    Kind("machines", ("results/machines.toml",), MachinesDeclaration),
    Kind("older", ("gapbook/record/older.toml",), OlderDeclaration),
)


REGISTER = Kind("register", (), RegisterFile, True)
"""The register as data, which the page of claims offers: no file of the checkout."""


def schema_of(kind: Kind) -> str:
    """What a file of this kind may say, as JSON Schema 2020-12."""
    described = {"$schema": _DIALECT, **_for_toml(msgspec.json.schema(kind.struct))}
    return json.dumps(described, indent=1, ensure_ascii=False) + "\n"


def _for_toml(schema: Any) -> Any:
    """Without null, which TOML does not have, so that a key that may be left out is not told to allow one; and with
    each description in one line."""
    if isinstance(schema, list):
        return [_for_toml(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    kept = {key: _for_toml(value) for key, value in schema.items() if (key, value) != ("default", None)}
    if isinstance(kept.get("description"), str):
        kept["description"] = " ".join(kept["description"].split())
    several = kept.get("anyOf")
    if isinstance(several, list):
        kept["anyOf"] = [one for one in several if one != {"type": "null"}]
        if len(kept["anyOf"]) == 1:
            kept |= kept.pop("anyOf")[0]
    return kept


def directive(kind: Kind, path: Path) -> str:
    """The first line of a file, by which editors find the schema."""
    return f"#:schema {os.path.relpath(kind.schema_path, path.parent)}"


def _write() -> None:
    _SCHEMAS.mkdir(exist_ok=True)
    for kind in (*KINDS, REGISTER):
        kind.schema_path.write_text(schema_of(kind), encoding="utf-8")
        for path in () if kind.written else kind.files():
            text = path.read_text(encoding="utf-8")
            first, _, rest = text.partition("\n")
            path.write_text(
                f"{directive(kind, path)}\n{rest if first.startswith('#:schema ') else text}",
                encoding="utf-8",
            )


if __name__ == "__main__":
    _write()
