"""The systems of a checkout, as their folders declare them: versions, workloads with access levels, tiers, clients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from gapbook.declared.client import ClientDeclaration
from gapbook.declared.module import ModuleDeclaration, ProcedureDeclaration
from gapbook.declared.procedures import procedures_of
from gapbook.declared.reading import read
from gapbook.declared.stack import StackDeclaration
from gapbook.paths import CHECKOUT

__all__ = ["System", "as_json", "as_lines", "systems"]


class System(msgspec.Struct, frozen=True, kw_only=True):
    """One system: ``versions`` that can be asked for, the first runs unless another is; ``access`` has the levels of
    each workload, ``tiers`` what can stand between client and system, ``clients`` who can drive it."""

    name: str
    label: str
    summary: str
    versions: tuple[str, ...]
    access: dict[str, tuple[str, ...]]
    tiers: dict[str, str]
    clients: tuple[str, ...]
    on_demand: bool
    simulated: bool


def systems() -> list[System]:
    """Every system, by name; raises DeclarationError for a file that says what it may not."""
    clients = {
        path.parent.name: read(path, ClientDeclaration)
        for pattern in ("clients/*/client.toml", "clients/*/*/client.toml")
        for path in sorted(CHECKOUT.glob(pattern))
    }
    return [_system(path, clients) for path in sorted(CHECKOUT.glob("stacks/*/stack.toml"))]


def _system(path: Path, clients: Mapping[str, ClientDeclaration]) -> System:
    name, stack = path.parent.name, read(path, StackDeclaration)
    file = CHECKOUT / "modules" / name / "module.toml"
    module = read(file, ModuleDeclaration) if file.is_file() else ModuleDeclaration(system=name, tier={})
    procedures = procedures_of(file, module)
    asked = set(_asked_of_clients(stack, module, procedures))
    return System(
        name=name,
        label=stack.label,
        summary=stack.summary,
        versions=tuple(dict.fromkeys(_versions(stack))),
        access={workload: tuple(one.access) for workload, one in procedures.items()},
        tiers={tier: one.summary for tier, one in module.tier.items()},
        clients=tuple(client for client, one in clients.items() if any(_can(one, each) for each in asked)),
        on_demand=stack.on_demand,
        simulated=stack.simulated,
    )


class _Asked(NamedTuple):
    """What a client must be able to do to be of use: draw the workload, speak the protocol, express the level."""

    workload: str
    protocol: str
    level: str


def _asked_of_clients(
    stack: StackDeclaration, module: ModuleDeclaration, procedures: Mapping[str, ProcedureDeclaration]
) -> Iterator[_Asked]:
    for workload, procedure in procedures.items():
        for name, level in procedure.access.items():
            for tier in module.tier.values():
                if tier.access is None or name in tier.access:
                    yield _Asked(workload, tier.protocol or stack.protocol, level.client_level or name)


def _can(client: ClientDeclaration, asked: _Asked) -> bool:
    return (
        (client.workloads == ("*",) or asked.workload in client.workloads)
        and asked.protocol in client.protocols
        and asked.level in client.access.get(asked.protocol, (asked.level,))
    )


def _versions(stack: StackDeclaration) -> Iterator[str]:
    native, container = stack.native, stack.container
    if native is not None:
        yield from filter(None, (native.version, native.newer_version))
        yield from native.wheels
        yield from native.prebuilt.sha256 if native.prebuilt else ()
    if container is not None and container.version:
        yield container.version


def as_json(found: Sequence[System]) -> str:
    """The systems as data, a list."""
    return msgspec.json.format(msgspec.json.encode(found), indent=1).decode()


def as_lines(found: Sequence[System]) -> str:
    """The systems for a terminal."""
    return "\n".join(map(_told, found))


def _told(one: System) -> str:
    access = "; ".join(f"{workload}: {', '.join(levels)}" for workload, levels in one.access.items())
    remark = " (simulated)" if one.simulated else " (installed on demand)" if one.on_demand else ""
    lines = (
        f"{one.name}: {one.summary}{remark}",
        f"  versions  {', '.join(one.versions) or 'one'}",
        f"  access    {access or 'none declared'}",
        f"  tiers     {', '.join(one.tiers) or 'none'}",
        f"  clients   {', '.join(one.clients) or 'none'}",
    )
    return "\n".join((*lines, ""))
