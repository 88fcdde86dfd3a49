"""The one loader of declaration files: TOML into the struct of its kind, or one line that says what is wrong where.

``stacks/x/stack.toml:12: native.verion: unknown key; did you mean version? allowed: package, program, version``
"""

from __future__ import annotations

import datetime
import difflib
import json
import re
import tomllib
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from gapbook.declared.lines import KeyPath, line_of, offsets
from gapbook.errors import DeclarationError, cut
from gapbook.paths import CHECKOUT

__all__ = ["Declared", "converted", "named", "parsed", "problems", "read", "required", "text_of"]

T = TypeVar("T")
_NEAR_FRAC = 0.6
"""How alike two keys are before one is named for the other, as :mod:`difflib` counts."""
_PLACE = re.compile(r" \(at line (\d+), column \d+\)$")
_DATES = (datetime.datetime, datetime.date)
"""What TOML has of its own: a text is none of them."""
_WORDS: Mapping[Any, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    datetime.datetime: "a date with its time",
    datetime.date: "a date",
    Any: "any value",
}


class Declared(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of a declaration file: a key that is no field is refused, a field without a default is required."""


@dataclass(frozen=True)
class _Problem:
    path: KeyPath
    says: str


def read(path: Path, kind: type[T]) -> T:
    """What a declaration file says; raises DeclarationError with the first thing that it may not say."""
    text = text_of(path)
    return converted(parsed(text, named(path)), kind, named(path), text)


def named(path: Path) -> str:
    """A file as messages name it: from the checkout on."""
    return str(path.relative_to(CHECKOUT) if path.is_relative_to(CHECKOUT) else path)


def text_of(path: Path) -> str:
    """The text of a declaration file; raises DeclarationError for one that cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"no UTF-8 ({error.reason})"
        raise DeclarationError(f"{named(path)}: cannot be read: {reason}") from error


def parsed(text: str, where: str) -> dict[str, Any]:
    """The keys of a TOML text; raises DeclarationError, with its line, for one that is not TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        line = int(place[1]) if place else text.rstrip().count("\n") + 1
        raise DeclarationError(
            f"{where}:{line}: not TOML: {_PLACE.sub('', str(error)).removesuffix(' (at end of document)')}"
        ) from error


def converted(data: Mapping[str, Any], kind: type[T], where: str, text: str) -> T:
    """Keys as the struct of their kind; raises DeclarationError with the first that is not allowed."""
    try:
        return msgspec.convert(data, kind, builtin_types=_DATES)
    except msgspec.ValidationError as error:
        found = problems(data, kind, where, text)
        more = f" ({len(found) - 1} more; see: gapbook check)" if len(found) > 1 else ""
        raise DeclarationError(f"{found[0]}{more}") from error


def problems(data: Mapping[str, Any], kind: type, where: str, text: str) -> list[str]:
    """Everything that a declaration may not say, a line each."""
    found = offsets(text)
    return [
        f"{where}:{line_of(text, one.path, found)}: {_dotted(one.path)}{one.says}"
        for one in _problems(data, kind, ())
    ]


def required(value: T | None, key: str) -> T:
    """An optional part that this system needs; raises DeclarationError naming the key where it is not declared."""
    if value is None:
        raise DeclarationError(f"{key}: missing; this system needs it")
    return value


def _dotted(path: KeyPath) -> str:
    """``durability.commit_log_timer[2].verified: ``"""
    words = ""
    for key in path:
        if isinstance(key, int):
            words += f"[{key + 1}]"
        else:
            quoted = key if re.fullmatch(r"[\w-]+", key) else json.dumps(key, ensure_ascii=False)
            words += f".{quoted}" if words else quoted
    return f"{cut(words)}: " if words else ""


# --- what is wrong ----------------------------------------------------------------------------
def _problems(value: Any, kind: Any, path: KeyPath) -> Iterator[_Problem]:
    """Everything that a value may not say, unknown and missing keys before what stands deeper."""
    deeper: list[_Problem] = []
    kind = _meant(kind, value)
    origin = get_origin(kind)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and isinstance(value, Mapping):
        deeper = list(_problems_of_table(value, kind, path))
    elif origin is dict and isinstance(value, Mapping):
        keys, values = get_args(kind)
        for key, inner in value.items():
            if keys is not str and not _fits(key, keys):
                deeper.append(_Problem((*path, key), _unknown_key(key, list(map(str, _words_of(keys))))))
            else:
                deeper += _problems(inner, values, (*path, key))
    elif (origin is list or (origin is tuple and get_args(kind)[-1] is ...)) and isinstance(value, list):
        for place, inner in enumerate(value):
            deeper += _problems(inner, get_args(kind)[0], (*path, place))
    if deeper:
        yield from deeper
        return
    try:
        msgspec.convert(value, kind, builtin_types=_DATES)
    except msgspec.ValidationError as error:
        yield _Problem(path, _not_allowed(value, kind, str(error)))


def _problems_of_table(
    value: Mapping[str, Any], kind: type[msgspec.Struct], path: KeyPath
) -> Iterator[_Problem]:
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    for key in (key for key in value if key not in fields):
        yield _Problem((*path, key), _unknown_key(key, list(fields)))
    for name, field in fields.items():
        if field.required and name not in value:
            yield _Problem((*path, name), f"missing; {_allowed(field.type)} is required")
    for name, field in fields.items():
        if name in value:
            yield from _problems(value[name], field.type, (*path, name))


def _unknown_key(key: str, allowed: Sequence[str]) -> str:
    return f"unknown key; {_nearest(key, allowed)}allowed: {', '.join(allowed)}"


def _nearest(word: str, allowed: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(allowed), n=1, cutoff=_NEAR_FRAC)
    return f"did you mean {near[0]}? " if near else ""


def _not_allowed(value: Any, kind: Any, error: str) -> str:
    said = (
        "a table" if isinstance(value, Mapping) else cut(json.dumps(value, ensure_ascii=False, default=str))
    )
    words = [word for word in _words_of(kind) if isinstance(word, str)]
    near = _nearest(value, words) if isinstance(value, str) and value not in words else ""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and isinstance(value, Mapping):
        # What a struct checks of its fields together says itself what is allowed.
        return error.partition(" - at `")[0]
    bounds = error.partition(" - at `")[0]
    allowed = (
        bounds if "match regex" in bounds or "`int` >" in bounds or "`int` <" in bounds else _allowed(kind)
    )
    return f"{said} is not allowed; {near}allowed: {allowed}"


def _meant(kind: Any, value: Any) -> Any:
    """Of several kinds the one that a value of its shape can only mean."""
    if get_origin(kind) not in (Union, types.UnionType):
        return kind
    kinds = [one for one in get_args(kind) if one not in (types.NoneType, msgspec.UnsetType)]
    if len(kinds) == 1:
        return kinds[0]
    shape = (
        [one for one in kinds if _is_table(one)]
        if isinstance(value, Mapping)
        else [one for one in kinds if get_origin(one) in (tuple, list)]
        if isinstance(value, list)
        else []
    )
    return shape[0] if len(shape) == 1 else Union[tuple(kinds)]  # noqa: UP007 (made of what is found)


def _is_table(kind: Any) -> bool:
    return get_origin(kind) is dict or (isinstance(kind, type) and issubclass(kind, msgspec.Struct))


def _fits(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind, builtin_types=_DATES)
    except msgspec.ValidationError:
        return False
    return True


def _words_of(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) is Literal else ()


def _allowed(kind: Any) -> str:
    """``a whole number or true or false``: what may stand there, for people."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return f"a table of {', '.join(kind.__struct_encode_fields__)}"
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        return ", ".join(map(str, inner))
    if origin is dict:
        return "a table"
    if origin in (tuple, list):
        many = "" if origin is list or inner[-1] is ... else f" of {len(inner)}"
        return f"a list{many}, each {_allowed(inner[0])}"
    if origin in (Union, types.UnionType):
        kinds = [one for one in inner if one not in (types.NoneType, msgspec.UnsetType)]
        return " or ".join(dict.fromkeys(map(_allowed, kinds)))
    if hasattr(kind, "__metadata__"):
        return _allowed(kind.__origin__)
    return _WORDS.get(kind, str(kind))
