"""Declarations: whatever a file may not say is refused with file, line, key and the nearest key, for every key of
every kind; and the committed schemas are those of the structs."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import json
import re
import types
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import jsonschema
import msgspec
import pytest

from gapbook import cli
from gapbook.book import check, declarations
from gapbook.book.declarations import KINDS, Kind, directive, schema_of
from gapbook.declared.client import ClientDeclaration
from gapbook.declared.lines import KeyPath, offsets
from gapbook.declared.reading import converted, parsed, problems, read
from gapbook.declared.stack import StackDeclaration
from gapbook.errors import DeclarationError
from gapbook.paths import CHECKOUT

Pattern = tuple[str, ...]
"""A key of a kind, with ``*`` for a name that its writer chooses and for a place in an array."""

_DAY, _HOUR = datetime.date(2026, 1, 1), datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
_WRONG = datetime.time(12)
"""A value that TOML can hold and no key may have."""


# --- the keys that a kind has -----------------------------------------------------------------
def _alternatives(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _patterns(kind: Any, above: Pattern = ()) -> Iterator[tuple[Pattern, bool]]:
    """Every key that a struct and the structs in it have, and whether it is required."""
    for one in _alternatives(kind):
        if isinstance(one, type) and issubclass(one, msgspec.Struct):
            for own in msgspec.structs.fields(one):
                path = (*above, own.encode_name)
                yield path, own.required
                yield from _patterns(own.type, path)
        elif get_origin(one) is dict:
            yield from _patterns(get_args(one)[1], (*above, "*"))
        elif get_origin(one) in (tuple, list):
            yield from _patterns(get_args(one)[0], (*above, "*"))


def _occurring(
    value: Any, kind: Any, above: KeyPath = (), pattern: Pattern = ()
) -> Iterator[tuple[Pattern, KeyPath]]:
    """The keys of structs that a file has, each with where it stands."""
    for one in _alternatives(kind):
        if isinstance(one, type) and issubclass(one, msgspec.Struct) and isinstance(value, Mapping):
            for own in msgspec.structs.fields(one):
                if own.encode_name in value:
                    path, named = (*above, own.encode_name), (*pattern, own.encode_name)
                    yield named, path
                    yield from _occurring(value[own.encode_name], own.type, path, named)
        elif get_origin(one) is dict and isinstance(value, Mapping):
            for key, inner in value.items():
                yield from _occurring(inner, get_args(one)[1], (*above, key), (*pattern, "*"))
        elif get_origin(one) in (tuple, list) and isinstance(value, list):
            for place, inner in enumerate(value):
                yield from _occurring(inner, get_args(one)[0], (*above, place), (*pattern, "*"))


@dataclasses.dataclass(frozen=True)
class _Case:
    """A key where it first stands in a text that is whole."""

    pattern: Pattern
    path: KeyPath
    text: str
    required: bool


def _filled(kind: Any) -> Any:
    """A value that a kind allows, with every key that it may have."""
    one = next(one for one in _alternatives(kind) if one not in (types.NoneType, msgspec.UnsetType))
    origin, inner = get_origin(one), get_args(one)
    if isinstance(one, type) and issubclass(one, msgspec.Struct):
        return {own.encode_name: _filled(own.type) for own in msgspec.structs.fields(one)}
    if origin is dict:
        return {_filled(inner[0]): _filled(inner[1])}
    if origin in (tuple, list):
        return [_filled(each) for each in inner if each is not ...]
    if origin is Literal:
        return inner[0]
    if origin is Annotated:
        return "0" * 64
    return {str: "x", int: 1, float: 1.5, bool: True, Any: 1, datetime.date: _DAY, datetime.datetime: _HOUR}[
        one
    ]


def _written(table: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """A table as TOML, its own keys before the tables in it."""
    tables = {key: value for key, value in table.items() if isinstance(value, dict)}
    rows = {
        key: value for key, value in table.items() if isinstance(value, list) and isinstance(value[0], dict)
    }
    for key in (key for key in table if key not in tables and key not in rows):
        value = table[key]
        said = value.isoformat() if isinstance(value, datetime.date) else json.dumps(value)
        yield f"{key} = {said}"
    for key, inner in tables.items():
        yield f"[{above}{key}]"
        yield from _written(inner, f"{above}{key}.")
    for key, several in rows.items():
        for inner in several:
            yield f"[[{above}{key}]]"
            yield from _written(inner, f"{above}{key}.")


def _texts(kind: Kind) -> Iterator[str]:
    """Texts that are each allowed, and together have every key: one with all of them, unless some exclude others;
    then those of the checkout."""
    whole = "\n".join(_written(_filled(kind.struct)))
    if _refusal(parsed(whole, "whole"), kind, whole) == "allowed":
        yield whole
    else:
        yield from (path.read_text(encoding="utf-8") for path in kind.files())


@cache
def _cases(kind: Kind) -> tuple[_Case, ...]:
    wanted = dict(_patterns(kind.struct))
    cases: dict[Pattern, _Case] = {}
    for text in _texts(kind):
        for pattern, path in _occurring(parsed(text, "text"), kind.struct):
            cases.setdefault(pattern, _Case(pattern, path, text, wanted[pattern]))
    assert cases.keys() == wanted.keys()
    return tuple(cases.values())


def _dotted(path: KeyPath) -> str:
    words = ""
    for key in path:
        if isinstance(key, int):
            words += f"[{key + 1}]"
        else:
            words += "." * bool(words) + (key if re.fullmatch(r"[\w-]+", key) else json.dumps(key))
    return words


def _misspelt(key: str) -> str:
    """A key as a tired hand types it: one letter left out, of a short key one doubled."""
    middle = len(key) // 2
    return key[:middle] + key[middle + 1 :] if len(key) > 4 else key[:middle] + key[middle] + key[middle:]


def _refusal(data: Mapping[str, Any], kind: Kind, text: str) -> str:
    try:
        converted(data, kind.struct, "a.toml", text)
    except DeclarationError as error:
        return str(error)
    return "allowed"


_offsets = cache(offsets)


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


_KINDS = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


@_KINDS
def test_every_key_misspelt_is_refused_with_line_and_nearest_key(kind: Kind) -> None:
    failed = []
    for case in _cases(kind):
        key, offset = str(case.path[-1]), _offsets(case.text)[case.path]
        assert case.text[offset:].startswith(key)
        wrong = _misspelt(key)
        text = f"{case.text[:offset]}{wrong}{case.text[offset + len(key) :]}"
        says = _refusal(parsed(text, "a.toml"), kind, text)
        dotted = _dotted((*case.path[:-1], wrong))
        if not says.startswith(
            f"a.toml:{_line(text, offset)}: {dotted}: unknown key; did you mean {key}? allowed: "
        ):
            failed.append(says)
        if "\n" in says:
            failed.append(says)
    assert not failed


@_KINDS
def test_every_required_key_left_out_is_refused_by_name(kind: Kind) -> None:
    failed = []
    for case in (case for case in _cases(kind) if case.required):
        data = copy.deepcopy(parsed(case.text, "a.toml"))
        table: Any = data
        for key in case.path[:-1]:
            table = table[key]
        del table[case.path[-1]]
        if f": {_dotted(case.path)}: missing; " not in _refusal(data, kind, case.text):
            failed.append(_dotted(case.path))
    assert not failed


@_KINDS
def test_every_value_of_a_wrong_type_is_refused_with_line_and_key(kind: Kind) -> None:
    failed = []
    for case in _cases(kind):
        data = copy.deepcopy(parsed(case.text, "a.toml"))
        table: Any = data
        for key in case.path[:-1]:
            table = table[key]
        table[case.path[-1]] = _WRONG
        line = _line(case.text, _offsets(case.text)[case.path])
        says = _refusal(data, kind, case.text)
        if not re.match(
            rf'a\.toml:{line}: {re.escape(_dotted(case.path))}: "12:00:00" is not allowed; allowed: \S', says
        ):
            failed.append(says)
    assert not failed


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('a = 1\nb = "', "s.toml:2: not TOML: "),
        (
            'isolation = "serialisable"\n',
            '1: isolation: "serialisable" is not allowed; did you mean serializable? ',
        ),
        (
            "[durability.synchronous.wal.delaye]\n",
            "1: durability.synchronous.wal.delaye: unknown key; did you mean delayed? ",
        ),
        (
            '# a = 1\n[settings."a.b"]\nvale = """\nx = 1"""\n',
            '3: settings."a.b".vale: unknown key; did you mean value? ',
        ),
        ("in_process = 1\n", "1: in_process: 1 is not allowed; allowed: true or false"),
        (
            '[native.wheels."1"]\nx86_64 = { sha256 = "AB" }\n',
            "2: native.wheels.1.x86_64.megabytes: missing; a whole number is required",
        ),
    ],
)
def test_a_refusal_says_where_and_what_is_allowed(text: str, says: str) -> None:
    try:
        found = problems(parsed(text, "s.toml"), StackDeclaration, "s.toml", text)
    except DeclarationError as error:
        found = [str(error)]
    assert any(says in line for line in found), found


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match=r"stack\.toml: cannot be read: No such file"):
        read(tmp_path / "stack.toml", StackDeclaration)


# --- schemas ----------------------------------------------------------------------------------
@_KINDS
def test_schema_and_first_lines_are_those_of_the_structs(kind: Kind) -> None:
    """To write them anew: ``python -m gapbook.book.declarations``."""
    assert kind.schema_path.read_text(encoding="utf-8") == schema_of(kind)
    files = list(kind.files())
    assert files
    for path in () if kind.written else files:
        first = path.read_text(encoding="utf-8").partition("\n")[0]
        assert first == directive(kind, path)
        assert (path.parent / first.removeprefix("#:schema ")).resolve() == kind.schema_path


@_KINDS
def test_schema_says_what_the_loader_says(kind: Kind) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(schema_of(kind)))
    path = next(kind.files())
    text = path.read_text(encoding="utf-8")
    data = json.loads(json.dumps(parsed(text, "a.toml"), default=lambda value: value.isoformat()))
    validator.validate(data)
    assert not validator.is_valid({**data, "unheard": 1})


def test_no_declaration_is_left_out() -> None:
    """Every TOML file of ours is of a kind, but for those that belong to tools."""
    read_by_tools = {"Cargo.toml", "rustfmt.toml", "pyproject.toml"}
    known = {path for kind in KINDS for path in kind.files()}
    found = {
        path
        for folder in ("book", "clients", "gapbook", "modules", "notebooks", "results", "stacks", "workloads")
        for path in (CHECKOUT / folder).rglob("*.toml")
        if path.name not in read_by_tools and not {"node_modules", "target"} & set(path.parts)
    }
    assert found == known


def test_contributing_has_a_row_for_each_key_of_a_client() -> None:
    text = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("\n## Add a client\n")[2].partition("\n## ")[0]
    keys = re.findall(r"^\| `\[?(\w+)\]?` \|", section, re.MULTILINE)
    assert sorted(keys) == sorted(ClientDeclaration.__struct_encode_fields__)


# --- between files ----------------------------------------------------------------------------
@pytest.fixture(name="whole", scope="module")
def _whole() -> check._Read:
    return check._read_all()


def test_all_declarations_are_as_they_must_be() -> None:
    count, wrong = check.checked()
    assert not wrong
    assert count == sum(len(list(kind.files())) for kind in declarations.KINDS)


@pytest.mark.parametrize(
    ("name", "old", "new", "held", "says"),
    [
        (
            "modules/postgres/module.toml",
            '"drizzle", "sql"',
            '"drizle", "sql"',
            check._systems,
            "'drizle' is no access level; did you mean drizzle?",
        ),
        (
            "modules/postgres/module.toml",
            'system = "postgres"',
            'system = "postgre"',
            check._systems,
            "is not the name of its folder",
        ),
        (
            "stacks/plant/stack.toml",
            'protocol = "postgres"',
            'protocol = "postgrse"',
            check._systems,
            "'postgrse' is no protocol of a client; did you mean postgres?",
        ),
        (
            "modules/sqlite/transfer/procedure.toml",
            'journal_mode = "delete"',
            'journal_mode = "delet"',
            check._levels,
            "'delet' is no value of its others in stack.toml; did you mean delete?",
        ),
        (
            "modules/sqlite/transfer/procedure.toml",
            'client_level = "sql"',
            'client_level = "sqk"',
            check._levels,
            "'sqk' is no access level here; did you mean sql?",
        ),
        (
            "modules/sqlite/transfer/procedure.toml",
            "{from}",
            "{form}",
            check._levels,
            "'form' is no field of transfer; did you mean from?",
        ),
        (
            "clients/node/client.toml",
            '"reducer-hash"',
            '"reducer-hsh"',
            check._clients,
            "'reducer-hsh' is no access level; did you mean reducer-hash?",
        ),
        (
            "book/claims.toml",
            'source = "walsync-benchmarks"',
            'source = "walsinc-benchmarks"',
            check._claims,
            "did you mean walsync-benchmarks?",
        ),
        (
            "book/verdicts.toml",
            'claim = "keynote-headline-14x"',
            'claim = "keynote-headline-41x"',
            check._verdicts,
            "'keynote-headline-41x' is no claim; did you mean keynote-headline-14x?",
        ),
        (
            "workloads/fibonacci/golden/cases.toml",
            "{ n = 45 }",
            "{ n = 46 }",
            check._vectors,
            "n: 46 is not allowed by workload fibonacci",
        ),
    ],
)
def test_what_files_say_of_one_another_must_be_there(
    whole: check._Read, name: str, old: str, new: str, held: Callable[[check._Read], None], says: str
) -> None:
    path = CHECKOUT / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    changed = text.replace(old, new, 1)
    kind = type(whole.files[path])
    files = {**whole.files, path: converted(parsed(changed, name), kind, name, changed)}
    found = check._Read(files=files)
    held(found)
    assert any(line.startswith(f"{name}:") and says in line for line in found.wrong), found.wrong


def test_a_system_without_its_class_and_its_module_is_told(whole: check._Read) -> None:
    path = CHECKOUT / "stacks" / "shelf" / "stack.toml"
    found = check._Read(
        files={**whole.files, path: whole.of(StackDeclaration)[CHECKOUT / "stacks/plant/stack.toml"]}
    )
    check._systems(found)
    assert found.wrong == [
        f"stacks/shelf/stack.toml:1: the system has no {file}; write it"
        for file in ("stacks/shelf/stack.py", "modules/shelf/module.toml")
    ]


def test_a_first_line_that_names_another_schema_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "directive", lambda kind, path: "#:schema elsewhere")
    stacks = next(kind for kind in KINDS if kind.name == "stack")
    monkeypatch.setattr(check, "KINDS", (stacks,))
    wrong = check._read_all().wrong
    assert len(wrong) == len(list(stacks.files()))
    assert wrong[0] == "stacks/convex/stack.toml:1: its first line must be: #:schema elsewhere"


def test_the_command_prints_a_line_a_problem_and_ends_with_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(check, "checked", lambda: (2, ["a.toml:1: b: unknown key", "a.toml:2: c: missing"]))
    assert cli.main(["check"]) == 2
    assert capsys.readouterr().err.splitlines() == ["a.toml:1: b: unknown key", "a.toml:2: c: missing"]
    monkeypatch.setattr(check, "checked", lambda: (2, []))
    assert cli.main(["check"]) == 0
