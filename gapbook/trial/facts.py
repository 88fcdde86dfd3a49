"""What a manifest says besides its trials: the servers, the machine, the code."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import time
from pathlib import Path

import psutil

from gapbook.deploy.environment import described_environment
from gapbook.deploy.file_system import data_keeping, existing
from gapbook.deploy.fsync_test import fsync_test
from gapbook.deploy.limits import usable
from gapbook.deploy.stack import Stack
from gapbook.errors import RecordError
from gapbook.paths import CHECKOUT
from gapbook.record.kind import other_kind
from gapbook.record.machine import Machine
from gapbook.record.schema import UNKNOWN_REVISION, Code, Deployed, System

__all__ = [
    "code_version",
    "deployed",
    "described_server",
    "knows_revision",
    "machine",
    "processor_of",
    "require_same_kind",
]

_IDENTITY = ("vendor_id", "cpu family", "model", "stepping", "microcode")
_TOPOLOGY = (
    "Hypervisor vendor",
    "Thread(s) per core",
    "Core(s) per socket",
    "CPU max MHz",
    "L2 cache",
    "L3 cache",
)
_CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
_DISK = ("rotational", "scheduler", "write_cache", "fua", "nr_requests")
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_AUTOGROUP = Path("/proc/sys/kernel/sched_autogroup_enabled")


def described_server(stack: Stack) -> System:
    """What the running server says of itself: version, hash, settings, and how it was built where that is told;
    and where it runs."""
    server = stack.server()
    backend, container = stack.place()
    return System(server.version, server.sha256, stack.settings(), server.built or None, backend, container)


def machine() -> Machine:
    """What a reader must know to compare: processor, cores, memory, kernel, disk, and what of it this run may use;
    no host name."""
    described = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    memory_bytes, data = psutil.virtual_memory().total, data_keeping()
    return Machine(
        processor=processor_of(described) or platform.machine(),
        processors=os.cpu_count() or 1,
        memory_bytes=memory_bytes,
        kernel=f"{platform.system()} {platform.release()}",
        file_system=data.file_system,
        data_kept=data.kept,
        data_kept_said=data.said,
        virtual="hypervisor" in described,
        python=platform.python_version(),
        usable=usable(memory_bytes),
        identity=_identity(described),
        topology=_topology(),
        clock_source=_said_by(_CLOCK_SOURCE),
        autogroup=_autogroup(),
        disk=_disk_under(existing(data.folder)),
        boot_sha256=_boot_sha256(),
    )


def _identity(described: str) -> dict[str, str]:
    told = _first_processor(described)
    return {name: told[name] for name in _IDENTITY if name in told}


def deployed(session: int, here: Machine, tier_programs: dict[str, str]) -> Deployed:
    """A session that begins now on a machine: what of the shell is passed on, and how fast processor and disk are;
    with the versions of the programs that stand between clients and systems."""
    described = _first_processor(Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    return Deployed(
        session,
        time.time(),
        here,
        environment=described_environment(),
        clock_mhz=float(described["cpu MHz"]) if "cpu MHz" in described else None,
        fsync=fsync_test(existing(data_keeping().folder)),
        tier_programs=tier_programs,
    )


def _topology() -> dict[str, str] | None:
    """None where there is no ``lscpu``."""
    try:
        said = subprocess.run(
            ["lscpu"],
            capture_output=True,
            text=True,
            check=True,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, "LC_ALL": "C"},
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    told = _named_values(said)
    return {name: told[name] for name in _TOPOLOGY if name in told}


def _disk_under(folder: Path) -> dict[str, str] | None:
    """What the kernel says of the queue of the disk that holds a folder."""
    device = folder.stat().st_dev
    disk = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    # A partition has the queue of its disk.
    queue = next((place / "queue" for place in (disk, disk.parent) if (place / "queue").is_dir()), None)
    if queue is None:
        return None
    said = {name: _said_by(queue / name) for name in _DISK}
    return {name: text for name, text in said.items() if text is not None}


def _said_by(file: Path) -> str | None:
    """The one line of a file of the kernel's; None where there is none."""
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError:
        return None


def _autogroup() -> bool | None:
    """None where the kernel knows of no such thing."""
    enabled = _said_by(_AUTOGROUP)
    return None if enabled is None else enabled == "1"


def _boot_sha256() -> str | None:
    """A number of the machine's present boot, hashed: it tells boots apart and says nothing of the machine."""
    boot = _said_by(_BOOT)
    if boot is None:
        return None
    return hashlib.sha256(f"boot of a machine: {boot}".encode()).hexdigest()


def _first_processor(described: str) -> dict[str, str]:
    return _named_values(described.partition("\n\n")[0])


def _named_values(text: str) -> dict[str, str]:
    """The values of a text with a name, a colon and a value in each line."""
    pairs = (line.partition(":") for line in text.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def processor_of(described: str) -> str | None:
    """The first processor that ``/proc/cpuinfo`` describes; None where it names none, as on ARM.

    A hypervisor may give every generation one name, so family and model stand with it.
    """
    told = _first_processor(described)
    name = told.get("model name")
    if name is None or "cpu family" not in told or "model" not in told:
        return name
    return f"{name} (family {told['cpu family']}, model {told['model']})"


def require_same_kind(before: Machine, here: Machine) -> None:
    """Raise RecordError where a session would be put into a run of another kind of machine: the two cannot be set side
    by side."""
    if other := other_kind(before, here):
        raise RecordError(
            f"source: the run was begun on another kind of machine ({other} here); it is kept: go on upon a machine of "
            "that kind, or use source=live, and this one has a run of its own"
        )


def code_version() -> Code:
    """The git revision of this checkout and whether it was changed since; ``unknown`` where git knows none of just
    this folder, as in an archive, be it unpacked within another repository."""
    try:
        top, revision = _git("rev-parse", "--show-toplevel", "HEAD").rsplit("\n", 1)
        if Path(top).resolve() == CHECKOUT:
            return Code(revision, bool(_git("status", "--porcelain")))
    except (OSError, subprocess.CalledProcessError, ValueError):
        pass
    return Code(UNKNOWN_REVISION, changed=False)


def knows_revision(revision: str) -> bool:
    """Whether the repository of this checkout holds a commit; not where there is no git."""
    try:
        _git("cat-file", "-e", f"{revision}^{{commit}}")
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def _git(*words: str) -> str:
    """What git prints of this checkout; raises OSError without git, CalledProcessError where it refuses."""
    # The checkout is being run already, whoever owns it, so that asking git about it trusts nobody further.
    command = [
        "git",
        "-c",
        f"safe.directory={CHECKOUT}",
        "-c",
        "core.fsmonitor=false",
        "--no-optional-locks",
    ]
    done = subprocess.run(
        [*command, "-C", str(CHECKOUT), *words],
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
        errors="replace",
        env={name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    )
    return done.stdout.rstrip("\n")
