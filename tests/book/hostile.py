"""A published run in which every text that its record may hold is an attack of its own, told apart by number."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
from msgspec import inspect

from gapbook.record.run import canonical, latest_published, run_id_of
from gapbook.record.schema import Manifest, checked_manifest

__all__ = ["Attacks", "payload", "write_hostile_run"]

# Names by which a chapter's notebook finds its run and its contestants.
_NAMES = ("name", "chapter", "server")
_FILES = ("trials.parquet", "histograms.parquet", "metrics.parquet")


def payload(number: int) -> str:
    """Script, handler, style, link, refresh and open comment in one, which call ``h(number)`` or ``/hit/number``."""
    return (
        f"javascript:h({number})//'\"></script></title></style><img src=/hit/{number} onerror=h({number})>"
        f"<script>h({number})</script><style>*{{background:url(/hit/{number})}}</style><!--"
    )


class Attacks:
    """The texts by which those of a run were replaced: one for each field, however often it stands."""

    def __init__(self) -> None:
        self.fields: dict[str, int] = {}

    def on(self, field: str) -> str:
        return payload(self.fields.setdefault(field, len(self.fields) + 1))


_Change = Callable[[str, str], str]
"""A text by the name of its field and the text that was there."""


def write_hostile_run(chapter: str, runs: Path, attacks: Attacks) -> str:
    """Write the run among the reader's own, under the id that follows from what it holds, which is returned.

    A field in which the record allows no such text keeps its own, and is none of ``attacks``.
    """
    published = latest_published(chapter).folder
    folder = Path(shutil.copytree(published, runs / chapter / "hostile"))
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    del manifest["run_id"]
    allowed = {field for field in _fields(manifest) if _is_allowed(manifest, field)}
    hostile = _changed(manifest, lambda field, text: attacks.on(field) if field in allowed else text)
    _attack_trials(folder / "trials.parquet", attacks)
    for name in _FILES:
        if name in hostile["files"]:
            hostile["files"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    run_id = run_id_of(hostile)
    (folder / "manifest.json").write_bytes(canonical({**hostile, "run_id": run_id}))
    folder.rename(folder.with_name(run_id))
    return run_id


def _fields(manifest: dict[str, Any]) -> list[str]:
    seen: dict[str, None] = {}

    def note(field: str, text: str) -> str:
        seen.setdefault(field)
        return text

    _changed(manifest, note)
    return [field for field in seen if not field.endswith(_NAMES)]


def _is_allowed(manifest: dict[str, Any], field: str) -> bool:
    """Whether the record allows an attack in a field: the others stay as they are."""
    try:
        checked_manifest(_changed(manifest, lambda one, text: payload(999) if one == field else text))
    except ValueError:
        return False
    return True


def _changed(manifest: dict[str, Any], change: _Change) -> dict[str, Any]:
    """The manifest with its texts changed, and the names of what has no fields of its own."""
    changed: dict[str, Any] = _walk(manifest, inspect.type_info(Manifest), "", change)
    return changed


def _walk(content: Any, kind: inspect.Type, field: str, change: _Change) -> Any:
    kind = _told(kind, content)
    if isinstance(content, str):
        return change(field, content)
    if isinstance(content, dict) and isinstance(kind, inspect.StructType):
        kinds = {one.encode_name: one.type for one in kind.fields}
        return {
            name: _walk(value, kinds[name], f"{field}.{name}", change) if name in kinds else value
            for name, value in content.items()
        }
    if isinstance(content, dict):
        values = kind.value_type if isinstance(kind, inspect.DictType) else inspect.AnyType()
        # Of names, only the first is changed: two that are alike would be one.
        return {
            (change(f"{field} (name)", name) if number == 0 else name): _walk(
                value, values, f"{field}.*", change
            )
            for number, (name, value) in enumerate(content.items())
        }
    if isinstance(content, list):
        each = list(_kinds_of(kind, len(content)))
        return [_walk(value, one, f"{field}[]", change) for value, one in zip(content, each, strict=True)]
    return content


def _kinds_of(kind: inspect.Type, count: int) -> Iterator[inspect.Type]:
    if isinstance(kind, inspect.TupleType):
        yield from kind.item_types
    else:
        for _ in range(count):
            yield kind.item_type if isinstance(kind, inspect.ListType) else inspect.AnyType()


def _told(kind: inspect.Type, content: Any) -> inspect.Type:
    """Of kinds that a value may have, that which it has."""
    while isinstance(kind, inspect.Metadata | inspect.UnionType):
        if isinstance(kind, inspect.Metadata):
            kind = kind.type
            continue
        wanted: dict[type, tuple[type, ...]] = {
            dict: (inspect.StructType, inspect.DictType),
            list: (inspect.ListType, inspect.TupleType),
        }
        known = wanted.get(type(content), ())
        kind = next((one for one in kind.types if isinstance(one, known)), inspect.AnyType())
    return kind


def _attack_trials(path: Path, attacks: Attacks) -> None:
    """Texts of the trials: why one is refused, its remarks, settings, and words of its gates; the last trial is refused."""
    table = pl.read_parquet(path)
    last = pl.int_range(pl.len()) == pl.len() - 1
    changes: list[pl.Expr] = [
        pl.when(last).then(False).otherwise(pl.col("valid")).alias("valid"),
        pl.when(last | pl.col("refused_because").is_not_null())
        .then(pl.lit(attacks.on("trials: refused_because")))
        .alias("refused_because"),
    ]
    for name, content in (
        ("remarks", [attacks.on("trials: remarks")]),
        ("settings", {attacks.on("trials: settings (name)"): attacks.on("trials: settings")}),
    ):
        if name in table.columns:
            changes.append(pl.lit(json.dumps(content)).alias(name))
    if "client_build_id" in table.columns:
        changes.append(pl.lit(attacks.on("trials: client_build_id")).alias("client_build_id"))
    gates = [
        json.dumps([{**gate, "text": attacks.on("trials: gates[].text")} for gate in json.loads(text)])
        for text in table["gates"]
    ]
    table.with_columns(*changes, pl.Series("gates", gates)).write_parquet(path)
