"""How a version of a system gets to a machine that has none, by what its folder declares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from gapbook.book.expected import duration_words
from gapbook.declared.reading import read
from gapbook.declared.stack import Native, StackDeclaration
from gapbook.paths import CHECKOUT

__all__ = ["Arrival", "Kind", "arrival_of"]

Kind: TypeAlias = Literal["with its caller", "fetched", "compiled", "image", "nowhere"]
"""*With its caller*: each client and program embeds the engine. *Fetched*: in seconds. *Compiled*: from its sources.
*Image*: its makers publish nothing else. *Nowhere*: no command brings it, the reader names a program."""


@dataclass(frozen=True)
class Arrival:
    """A version of a system, as pages call it, and ``how`` it comes, in words."""

    system: str
    label: str
    version: str
    kind: Kind
    how: str

    @property
    def versioned(self) -> str:
        """``SpacetimeDB 1.2.0``"""
        return f"{self.label} {self.version}".strip()


def arrival_of(system: str, version: str | None) -> Arrival:
    """How a version comes; None is the one that runs where nobody names another."""
    facts = read(CHECKOUT / "stacks" / system / "stack.toml", StackDeclaration)
    label = "simulated server" if facts.simulated else facts.label
    native, container = facts.native, facts.container
    if container is not None and (container.only is not None or native is None):
        version = version or container.version or ""
        images = [container.image.replace("VERSION", version)]
        images += [service.image for service in container.services.values()]
        return Arrival(system, label, version, "image", ", ".join(images))
    if native is None:
        return Arrival(system, label, version or "", "with its caller", "inside the program that calls it")
    version = version or native.version or ""
    kind, how = _native(native, version)
    return Arrival(system, label, version, kind, how)


def _native(native: Native, version: str) -> tuple[Kind, str]:
    if native.prebuilt is not None and version in native.prebuilt.sha256:
        return "fetched", f"an archive of its makers, taken by its hash; {native.prebuilt.remark}"
    if version in native.wheels:
        megabytes = max(wheel.megabytes for wheel in native.wheels[version].values())
        return "fetched", native.costs or f"a wheel of {megabytes} MB"
    if version not in {"", native.version}:
        return "nowhere", native.other_versions_hint or native.install_hint
    if native.expected_install_s is not None:
        return "compiled", native.costs or f"about {duration_words(native.expected_install_s)} on two cores"
    return "fetched", native.costs or "comes with every set-up"
