"""The machine of a run as it is recorded, and what of it is said in words.

A container, a quota or a set of allowed processors gives a run a part of its machine. Both are recorded: what the
machine has, and what the run could use of it.
"""

from __future__ import annotations

import msgspec

from gapbook.record.fields import Amount, Count, Positive, Sha256

__all__ = [
    "Machine",
    "Usable",
    "allowed_count",
    "cores_number",
    "cores_words",
    "machine_in_full",
    "machine_with_sides",
    "processor_and_cores",
    "processor_name",
    "processor_words",
    "same_machine",
    "usable_cores",
]


class Usable(msgspec.Struct, frozen=True):
    """What a run could use of its machine."""

    processors: tuple[Count, ...]
    """The numbers of the processors on which it may run: its affinity, which a cpuset narrows."""
    quota_cores: Amount | None
    """Processor seconds that it may use in a second, by the smallest quota of its control group and of all groups
    above; None where there is no quota."""
    memory_bytes: Count | None
    """The smallest limit of memory of the same groups; None where there is none."""

    @property
    def cores(self) -> float:
        """How many processors the run can keep busy."""
        allowed = float(len(self.processors))
        return allowed if self.quota_cores is None else min(allowed, self.quota_cores)


class Machine(msgspec.Struct, omit_defaults=True):
    """Fields with None were not recorded by the version that measured."""

    processor: str
    processors: Positive
    """How many processors the machine has, whoever may use them."""
    memory_bytes: Count
    kernel: str
    file_system: str
    """That of the folder in which servers keep their data."""
    virtual: bool
    python: str | None = None
    usable: Usable | None = None
    data_kept: bool | None = None
    """Whether what was fsynced to that folder outlives the machine's stop."""
    data_kept_said: bool = False
    """Whether that is so because the reader said it: the kind of the file system does not tell."""
    identity: dict[str, str] | None = None
    """What tells processors apart that share a name: vendor, family, model, stepping and microcode."""
    topology: dict[str, str] | None = None
    """What ``lscpu`` says of hypervisor, threads, highest clock and caches, by its own names."""
    clock_source: str | None = None
    """By what the kernel tells the time."""
    autogroup: bool | None = None
    """Whether the kernel shares processors out among sessions of processes first, and within each only then: a
    server and its client then have equal parts, however many threads either has (sched(7), *the autogroup feature*).
    It does not where the processes lie in a control group for processors."""
    disk: dict[str, str] | None = None
    """What the kernel says of the disk under the servers' data, by its own names; None where there is no one disk."""
    boot_sha256: Sha256 | None = None
    """Tells whether two runs were made on one machine without a restart between them; names no machine."""


def allowed_count(machine: Machine) -> int:
    """On how many processors a recorded run could run; all that the machine has, where that was not recorded."""
    return machine.processors if machine.usable is None else len(machine.usable.processors)


def usable_cores(machine: Machine) -> float:
    """How many processors a recorded run could keep busy; all that the machine has, where that was not recorded."""
    return float(machine.processors) if machine.usable is None else machine.usable.cores


def cores_number(machine: Machine) -> str:
    """``2``; ``1 of 2`` or ``0.5 of 2`` where a run could use a part of its machine."""
    has, used = machine.processors, usable_cores(machine)
    return f"{has}" if used == has else f"{used:.3g} of {has}"


def cores_words(machine: Machine) -> str:
    """``2 cores``, ``1 of 2 cores``"""
    return f"{cores_number(machine)} core{'' if machine.processors == 1 else 's'}"


def processor_name(machine: Machine) -> str:
    """``AMD EPYC``: by name alone, without marks of trade, family and model."""
    return _without_marks(machine.processor.partition(" (family ")[0])


def machine_in_full(machine: Machine) -> str:
    """``AMD EPYC (family 25, model 17), 2 cores``; ``(family not recorded)`` of a run that does not tell it."""
    name, _, family = machine.processor.partition(" (family ")
    return f"{_without_marks(name)} (family {family or 'not recorded)'}, {cores_words(machine)}"


def _without_marks(name: str) -> str:
    return " ".join(name.replace("(R)", "").replace("(TM)", "").split()).removesuffix(" Processor")


def same_machine(one: Machine, other: Machine) -> bool:
    """Whether both are one machine since it started; not where one of them does not say its boot."""
    return one.boot_sha256 is not None and one.boot_sha256 == other.boot_sha256


def processor_and_cores(machine: Machine) -> str:
    """``AMD EPYC, 2 cores``"""
    return f"{processor_name(machine)}, {cores_words(machine)}"


def machine_with_sides(machine: Machine, sides: str) -> str:
    """``AMD EPYC, client and server on 2 cores``"""
    return f"{processor_name(machine)}, {sides} on {cores_words(machine)}"


def processor_words(machine: Machine) -> str:
    """``an AMD EPYC``"""
    name = processor_name(machine)
    return f"{'an' if name[:1] in 'AEIOUaeiou' else 'a'} {name}"
