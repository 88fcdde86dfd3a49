"""What a set-up needs of the machine, looked at before the first install: ``python3 -I gapbook/prerequisites.py``.

The standard library alone, and nothing newer than Python 3.6: it runs before there is an environment, and is what
says that the Python found is too old.
"""

import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = [
    "BUILD_NEEDS_BYTES",
    "CARGO_HINT",
    "COMPILER_HINT",
    "ENVIRONMENT_NEEDS_BYTES",
    "asked_version",
    "fault_of_checkout",
    "missing_of_python",
    "missing_to_build",
    "tool_fault",
]

CARGO_HINT = "https://rustup.rs, or your system's packages: cargo and rustc 1.88 or later"
COMPILER_HINT = "a C compiler, e.g. apt-get install gcc libc6-dev"
_PYTHON = (3, 11)
_CARGO = (1, 88)
"""What the packages ask for that the clients are locked to."""
BUILD_NEEDS_BYTES = 5 * 1024**3
"""What the set-up writes into the cache, and while it compiles, with a little room."""
ENVIRONMENT_NEEDS_BYTES = 2 * 1024**3
"""What the Python packages take in the checkout, with a little room."""
_PROGRAM = '#include <stdio.h>\nint main(void) { return puts("") < 0; }\n'
_ANSWERS_WITHIN_S = 20.0
_LOOPBACK_WITHIN_S = 2.0
_REFUSED = 2


def missing_of_python() -> "list[str]":
    """What an environment of Python packages lacks here, each in one line with how to get it."""
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < _PYTHON:
        return [f"Python 3.11 or later is needed, {found} found; name another: make PYTHON=python3.12"]
    try:
        import ensurepip  # noqa: F401, PLC0415 (the part of venv that systems leave out)
        import venv  # noqa: F401, PLC0415
    except ImportError:
        return ["Python's venv module is missing; install it: apt-get install python3-venv"]
    return []


def fault_of_checkout() -> "list[str]":
    """Why an environment of Python packages cannot be made in this checkout, in one line; empty where it can."""
    checkout = Path(__file__).resolve().parent.parent
    if not os.access(str(checkout), os.W_OK | os.X_OK):
        return [
            f"{checkout} cannot be written, where the Python environment is made (.venv); make it once where the "
            "checkout can be written, or take a copy of it"
        ]
    room = "" if (checkout / ".venv").is_dir() else _no_room(checkout, ENVIRONMENT_NEEDS_BYTES)
    return [f"{room}, or take a copy of the checkout elsewhere"] if room else []


def missing_to_build(cache: Path) -> "list[str]":
    """What servers and clients cannot be built or run without, each in one line with how to get it.

    ``cache`` is the folder that they are built into; it need not be there.
    """
    cargo = tool_fault("cargo", CARGO_HINT) or _too_old_cargo() or tool_fault("rustc", CARGO_HINT)
    compiler = tool_fault("cc", COMPILER_HINT) or _builds_no_program()
    faults = (_other_system(), cargo, compiler, _no_cache(cache), _no_loopback())
    return [fault for fault in faults if fault]


def _other_system() -> str:
    system = platform.system()
    if system == "Linux":
        return ""
    return (
        f"Linux is needed, {system} found; measure in a container, as README says: docker build -t gapbook ."
    )


def tool_fault(name: str, install_hint: str) -> str:
    """Why a program cannot be used, with what mends it; empty where it can.

    One that does not even say its version cannot: rustup puts a ``cargo`` into place that runs nothing before a
    toolchain was chosen.
    """
    found = shutil.which(name)
    if found is None:
        return f"{name} is missing; install it: {install_hint}"
    try:
        asked = asked_version(found)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{name}: {found} --version failed ({error}); install it: {install_hint}"
    if asked.returncode == 0:
        return ""
    said = next((line for line in asked.stderr.splitlines() if line.strip()), "it says nothing")
    hint = "rustup default stable" if "rustup" in asked.stderr else install_hint
    return f"{name}: {found} does not run ({said.strip()[:200]}); mend it: {hint}"


def _builds_no_program() -> str:
    """Why the C compiler, which runs, builds nothing: systems have it without the headers of its library."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            built = subprocess.run(
                ["cc", "-x", "c", "-", "-o", os.path.join(folder, "program")],  # noqa: PTH118 (strings, for an old Python)
                input=_PROGRAM,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                timeout=_ANSWERS_WITHIN_S,
                check=False,
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"cc: builds no program ({error}); get one that does: {COMPILER_HINT}"
    if built.returncode == 0:
        return ""
    said = next((line for line in built.stdout.splitlines() if "error" in line), "it says nothing")
    return f"cc: builds no program ({said.strip()[:200]}); get what is missing: {COMPILER_HINT}"


def asked_version(program: str) -> "subprocess.CompletedProcess[str]":
    """How a program ended that was asked for its version, and what it said."""
    return subprocess.run(  # noqa: UP022 (capture_output is of Python 3.7)
        [program, "--version"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        timeout=_ANSWERS_WITHIN_S,
        check=False,
    )


def _too_old_cargo() -> str:
    said = asked_version("cargo").stdout
    version = re.match(r"cargo (\d+)\.(\d+)", said)
    if version is None or (int(version[1]), int(version[2])) >= _CARGO:
        return ""
    return f"cargo 1.88 or later is needed, {version[1]}.{version[2]} found; get it: {CARGO_HINT}"


def _no_cache(cache: Path) -> str:
    another = "name another folder for what is built: GAPBOOK_CACHE=FOLDER"
    if not os.access(str(_nearest_folder(cache)), os.W_OK):
        return f"{cache} cannot be written; {another}"
    room = _no_room(cache, BUILD_NEEDS_BYTES)
    return f"{room}, or {another}" if room else ""


def _no_room(folder: Path, needs_bytes: int) -> str:
    free = shutil.disk_usage(str(_nearest_folder(folder))).free
    if free >= needs_bytes:
        return ""
    return f"{folder} has {free / 1024**3:.1f} GiB of room, {needs_bytes / 1024**3:.0f} are needed; make room"


def _nearest_folder(folder: Path) -> Path:
    whole = folder.absolute()
    return next(there for there in (whole, *whole.parents) if there.is_dir())


def _no_loopback() -> str:
    try:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen(1)
            with socket.create_connection(listener.getsockname(), timeout=_LOOPBACK_WITHIN_S):
                return ""
    except OSError as error:
        return f"127.0.0.1 cannot be reached ({error}), where servers listen; bring it up: ip link set lo up"


def _cache() -> Path:
    """As :func:`gapbook.paths.cache_directory`, which an old Python cannot read."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 (no error without a home)
    return Path(os.environ.get("GAPBOOK_CACHE") or base + "/gapbook")


def _main() -> int:
    absent = missing_of_python() + fault_of_checkout()
    # A cache that was built into may have all that is wanted: the set-up itself sees to that.
    if "--build" in sys.argv[1:] and not any(_cache().glob("clients/*/bin")):
        absent += missing_to_build(_cache())
    for line in absent:
        sys.stderr.write(f"gapbook: {line}\n")
    return _REFUSED if absent else 0


if __name__ == "__main__":
    sys.exit(_main())
