"""Templates of requests: ``{field}`` stands for a field of the operation, ``{{`` for a brace."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from urllib.parse import quote

from gap_python.decode import refused
from gap_python.workload import Fields, Kind

Writer = Callable[[Fields], str]
"""Writes the text that a template makes of an operation's fields."""

_PARTS = re.compile(r"\{\{|\{[^{}]*\}?")
_BRACE = "{{"


def in_json(value: int | str) -> str:
    return json.dumps(value, ensure_ascii=False)


def in_path(value: int | str) -> str:
    return quote(str(value), safe="")


def compile_template(template: str, kind: Kind, path: str, write: Callable[[int | str], str] = str) -> Writer:
    """``write`` says how a value is written. Raises ClientError, naming ``path``, for a field that the kind does
    not have."""
    names = list(kind)
    texts, places = [""], []
    at = 0
    for part in _PARTS.finditer(template):
        texts[-1] += template[at : part.start()]
        at = part.end()
        if part[0] == _BRACE:
            texts[-1] += "{"
            continue
        if not part[0].endswith("}") or part[0][1:-1] not in names:
            fields = ", ".join(f"{{{name}}}" for name in names)
            raise refused(path, template, f"the fields {fields}, and {_BRACE} for a brace,")
        places.append(names.index(part[0][1:-1]))
        texts.append("")
    texts[-1] += template[at:]
    return _writer(texts, places, write)


def _writer(texts: list[str], places: list[int], write: Callable[[int | str], str]) -> Writer:
    first, *rest = texts
    if not places:
        return lambda _fields: first
    parts = tuple(zip(places, rest, strict=True))

    def written(fields: Fields) -> str:
        return first + "".join([write(fields[place]) + text for place, text in parts])

    return written
