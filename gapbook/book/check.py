"""All declarations of the checkout read, and held against one another: a line for each thing that is wrong.

What one file may say is in its struct; here stands what must be true between files. No library that draws or
computes is loaded, so that this can be asked before every commit.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from gapbook.book.chapters import chapters, own_parameters
from gapbook.book.declarations import KINDS, directive
from gapbook.book.plans import planned_chapters, published_plans
from gapbook.declared.claims import ClaimsDeclaration
from gapbook.declared.client import ClientDeclaration
from gapbook.declared.famous import FamousDeclaration
from gapbook.declared.lines import KeyPath, line_of, offsets
from gapbook.declared.machines import MachinesDeclaration
from gapbook.declared.module import Access, ModuleDeclaration, ProcedureDeclaration
from gapbook.declared.procedures import procedure_files
from gapbook.declared.reading import converted, named, parsed, problems, text_of
from gapbook.declared.stack import StackDeclaration
from gapbook.declared.vectors import VectorsDeclaration
from gapbook.declared.verdicts import VerdictsDeclaration
from gapbook.errors import DeclarationError, GapbookError, ParameterError
from gapbook.model.declaration import Declaration
from gapbook.paths import CHECKOUT, GIVEN_RUNS

__all__ = ["checked"]

T = TypeVar("T")
_FIELD = re.compile(r"\{\{|\{(\w+)\}")
"""A field of an operation in a request; ``{{`` is one brace."""


@dataclass
class _Read:
    """Every declaration that could be read, by its file, and what is wrong with the others."""

    wrong: list[str] = field(default_factory=list)
    files: dict[Path, Any] = field(default_factory=dict)

    def of(self, kind: type[T]) -> Mapping[Path, T]:
        return {path: one for path, one in self.files.items() if isinstance(one, kind)}

    def say(self, path: Path, keys: KeyPath, says: str) -> None:
        """A thing that is wrong at a key of a file."""
        text = text_of(path)
        dotted = ".".join(f"[{key + 1}]" if isinstance(key, int) else key for key in keys).replace(".[", "[")
        self.wrong.append(f"{named(path)}:{line_of(text, keys, offsets(text))}: {dotted}: {says}")

    def require_known(
        self, path: Path, keys: KeyPath, what: str, words: Iterable[str], known: Collection[str]
    ) -> None:
        """Each word must be one of those that there are."""
        for word in words:
            if word not in known:
                there_are = sorted(known)
                near = difflib.get_close_matches(word, there_are, n=1)
                hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(there_are) or 'none'}"
                self.say(path, keys, f"{word!r} is no {what}; {hint}")


def checked() -> tuple[int, list[str]]:
    """How many declarations there are, and a line for each thing that is wrong in them or between them."""
    read = _read_all()
    if not read.wrong:
        for check in (_systems, _levels, _clients, _claims, _famous, _verdicts, _vectors, _machines):
            check(read)
        _plans(read)
    return len(read.files) + len(read.wrong), read.wrong


def _read_all() -> _Read:
    read = _Read()
    for kind in KINDS:
        for path in kind.files():
            try:
                text = text_of(path)
                data = parsed(text, named(path))
                if found := _wrong_in(data, kind.struct, named(path), text):
                    read.wrong += found
                    continue
                read.files[path] = converted(data, kind.struct, named(path), text)
            except DeclarationError as error:
                read.wrong.append(str(error))
                continue
            if not kind.written and text.partition("\n")[0] != directive(kind, path):
                read.wrong.append(f"{named(path)}:1: its first line must be: {directive(kind, path)}")
    for chapter in chapters():
        try:
            own_parameters(chapter)
        except DeclarationError as error:
            read.wrong.append(str(error))
    return read


def _wrong_in(data: Mapping[str, Any], struct: type, where: str, text: str) -> list[str]:
    try:
        converted(data, struct, where, text)
    except DeclarationError:
        return problems(data, struct, where, text)
    return []


# --- systems ----------------------------------------------------------------------------------
def _systems(read: _Read) -> None:
    stacks = {path.parent.name for path in read.of(StackDeclaration)}
    protocols = {name for one in read.of(ClientDeclaration).values() for name in one.protocols}
    for path, stack in read.of(StackDeclaration).items():
        for file in (path.with_name("stack.py"), CHECKOUT / "modules" / path.parent.name / "module.toml"):
            if not file.is_file():
                read.wrong.append(f"{named(path)}:1: the system has no {named(file)}; write it")
        read.require_known(path, ("protocol",), "protocol of a client", [stack.protocol], protocols)
        if stack.isolation_levels:
            read.require_known(
                path, ("isolation",), "level of isolation_levels", [stack.isolation], stack.isolation_levels
            )
    for path, module in read.of(ModuleDeclaration).items():
        if module.system != path.parent.name:
            read.say(
                path, ("system",), f"{module.system!r} is not the name of its folder, {path.parent.name}"
            )
        read.require_known(path, ("system",), "system with a folder under stacks", [module.system], stacks)
        levels = {level for one in _procedures(read, path, module).values() for level in one.access}
        for name, tier in module.tier.items():
            keys: KeyPath = ("tier", name)
            read.require_known(path, (*keys, "access"), "access level", tier.access or (), levels)
            if tier.protocol is not None:
                read.require_known(
                    path, (*keys, "protocol"), "protocol of a client", [tier.protocol], protocols
                )
        for kind, folders in (("sources", module.sources), ("procedures", module.procedures)):
            for folder in folders:
                if not (path.parent / folder).is_dir():
                    read.say(path, (kind,), f"{folder!r} is no folder")


def _procedures(
    read: _Read, path: Path, module: ModuleDeclaration
) -> Mapping[tuple[Path, str], ProcedureDeclaration]:
    """What a module declares of each workload, by the file that holds it."""
    own = {(path, name): one for name, one in module.procedure.items()}
    known = read.of(ProcedureDeclaration)
    return own | {
        (found, found.parent.name): known[found] for found in procedure_files(path, module) if found in known
    }


def _levels(read: _Read) -> None:
    """What modules say of a workload, held against the workload and the stack; a shared file is held against each
    system that shares it."""
    workloads = {path.parent.name: one for path, one in read.of(Declaration).items()}
    stacks = {path.parent.name: one for path, one in read.of(StackDeclaration).items()}
    for path, module in read.of(ModuleDeclaration).items():
        for (file, workload), procedure in _procedures(read, path, module).items():
            if workload not in workloads:
                read.require_known(file, (), "workload", [workload], workloads)
                continue
            declared = workloads[workload]
            _requests(read, file, procedure, declared)
            if procedure.seed:
                read.require_known(
                    file, ("seed", "arguments"), "parameter", procedure.seed.arguments, declared.parameters
                )
            read.require_known(file, ("tables",), "table of the state", procedure.tables, declared.state)
            for name, level in procedure.access.items():
                if level.client_level is not None:
                    read.require_known(
                        file,
                        ("access", name, "client_level"),
                        "access level here",
                        [level.client_level],
                        procedure.access,
                    )
                if stack := stacks.get(module.system):
                    _settings(read, file, name, level, stack)


def _requests(read: _Read, path: Path, procedure: ProcedureDeclaration, declared: Declaration) -> None:
    read.require_known(path, ("requests",), "kind of operation", procedure.requests, declared.kinds)
    told: list[tuple[KeyPath, str, Any]] = [
        (("requests", kind), kind, request) for kind, request in procedure.requests.items()
    ]
    for name, level in procedure.access.items():
        keys: KeyPath = ("access", name, "requests")
        read.require_known(path, keys, "kind of operation with a request", level.requests, procedure.requests)
        told += [((*keys, kind), kind, request) for kind, request in level.requests.items()]
    for keys, kind, request in told:
        if kind not in declared.kinds:
            continue
        fields = [one.name for one in declared.kinds[kind].fields]
        said = msgspec.to_builtins(request)
        for key in ("path", "body"):
            used = [found[1] for found in _FIELD.finditer(said.get(key, "")) if found[1]]
            read.require_known(path, (*keys, key), f"field of {kind}", used, fields)
        read.require_known(path, (*keys, "refusals"), "refusal", said.get("refusals", ()), declared.refusals)


def _settings(read: _Read, path: Path, name: str, level: Access, stack: StackDeclaration) -> None:
    keys: KeyPath = ("access", name, "settings")
    read.require_known(path, keys, "setting of the stack", level.settings, stack.settings)
    for setting, value in level.settings.items():
        if setting in stack.settings:
            others = stack.settings[setting].others
            read.require_known(path, (*keys, setting), "value of its others in stack.toml", [value], others)


def _clients(read: _Read) -> None:
    workloads = {path.parent.name for path in read.of(Declaration)}
    procedures = [
        *read.of(ProcedureDeclaration).values(),
        *(one for module in read.of(ModuleDeclaration).values() for one in module.procedure.values()),
    ]
    levels = {level for one in procedures for level in one.access}
    for path, client in read.of(ClientDeclaration).items():
        if client.workloads != ("*",):
            read.require_known(path, ("workloads",), "workload", client.workloads, workloads)
        read.require_known(path, ("sequential",), "protocol of its own", client.sequential, client.protocols)
        read.require_known(path, ("access",), "protocol of its own", client.access, client.protocols)
        for protocol, expressed in client.access.items():
            read.require_known(path, ("access", protocol), "access level", expressed, levels)


# --- the register -----------------------------------------------------------------------------
def _claims(read: _Read) -> None:
    for path, register in read.of(ClaimsDeclaration).items():
        known = {one.id for one in register.claim}
        seen: set[str] = set()
        for place, one in enumerate(register.claim):
            if one.id in seen:
                read.say(path, ("claim", place, "id"), f"{one.id!r} is the id of another claim too")
            seen.add(one.id)
            for key, what, words, there_are in (
                ("source", "source", [one.source], register.source),
                ("also_in", "source", one.also_in, register.source),
                ("hypotheses", "hypothesis", one.hypotheses, register.hypothesis),
                ("of", "claim", [one.of] if one.of else [], known),
                ("over", "claim", [one.over] if one.over else [], known),
            ):
                read.require_known(path, ("claim", place, key), what, words, there_are)


def _famous(read: _Read) -> None:
    claims = {one.id: one for register in read.of(ClaimsDeclaration).values() for one in register.claim}
    for path, file in read.of(FamousDeclaration).items():
        for place, one in enumerate(file.headline):
            read.require_known(path, ("headline", place, "claim"), "claim", [one.claim], claims)
            printed = claims[one.claim].as_printed if one.claim in claims else ()
            if one.quote and not any(one.quote in " ".join(words.split()) for words in printed):
                read.say(
                    path, ("headline", place, "quote"), f"{one.quote!r} is not in as_printed of {one.claim}"
                )


def _verdicts(read: _Read) -> None:
    known = {one.id for register in read.of(ClaimsDeclaration).values() for one in register.claim}
    notebooks = chapters()
    ruled: dict[str, Path] = {}
    for path, file in read.of(VerdictsDeclaration).items():
        for place, rule in enumerate(file.verdict):
            keys: KeyPath = ("verdict", place)
            read.require_known(path, (*keys, "claim"), "claim", [rule.claim], known)
            if rule.claim in ruled:
                read.say(
                    path, (*keys, "claim"), f"{rule.claim!r} has a rule in {named(ruled[rule.claim])} too"
                )
            ruled[rule.claim] = path
            terms = [one for one in (rule.terms or {}).values() if isinstance(one, str)]
            read.require_known(path, (*keys, "terms"), "claim", terms, known)
            named_chapters: dict[str, list[str]] = {
                "test": [test.chapter or "" for test in rule.test or ()],
                "told": [test.chapter for test in rule.told or ()],
            }
            for key, names in named_chapters.items():
                for number, name in enumerate(names):
                    chapter = [name] if name else []
                    read.require_known(path, (*keys, key, number, "chapter"), "chapter", chapter, notebooks)
    for path, register in read.of(ClaimsDeclaration).items():
        for place, one in enumerate(register.claim):
            if one.id not in ruled:
                read.say(path, ("claim", place), f"{one.id!r} has no rule in book/verdicts*.toml")


# --- values -----------------------------------------------------------------------------------
def _vectors(read: _Read) -> None:
    workloads = {path.parent: one for path, one in read.of(Declaration).items()}
    for path, file in read.of(VectorsDeclaration).items():
        for place, vector in enumerate(file.vectors):
            try:
                workloads[path.parent.parent].checked(vector.parameters)
            except ParameterError as error:
                read.say(path, ("vectors", place, "parameters"), str(error).removeprefix("parameter "))


def _machines(read: _Read) -> None:
    """Each run that was given has its entry, and each entry its run."""
    there = {path.parent.name for path in GIVEN_RUNS.glob("*/*/manifest.json")}
    for path, declared in read.of(MachinesDeclaration).items():
        entered = [one.run for one in declared.given]
        for number, run in enumerate(entered):
            read.require_known(path, ("given", number, "run"), "run under results/given", [run], there)
        for run in sorted(there - {*entered}):
            read.wrong.append(f"{named(path)}:1: given: run {run} under results/given has no entry")


def _plans(read: _Read) -> None:
    for chapter in planned_chapters():
        try:
            published_plans([chapter])
        except GapbookError as error:
            read.wrong.append(str(error).replace(f"{CHECKOUT}/", ""))
