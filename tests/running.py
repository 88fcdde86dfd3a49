"""``gapbook`` as a process of its own, and what of it is alive, listening or left at any moment."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from faults.belongings import belongs_to, command_line, listening, socket_inodes
from gapbook.deploy import warden
from gapbook.paths import CHECKOUT

CHAPTER = "both-optimized"
CLEAN_WITHIN_S = 15.0
BIN = Path(sys.executable).parent


def eventually(holds: Callable[[], bool], within_s: float = CLEAN_WITHIN_S) -> bool:
    deadline = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def environment_with(changed: Mapping[str, str | Path]) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(CHECKOUT),
        **{name: str(value) for name, value in changed.items()},
    }


@contextlib.contextmanager
def mounted(kind: str, options: str, folder: Path) -> Iterator[Path]:
    """A new folder with a file system of this kind mounted on it; the test is skipped where that cannot be."""
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", kind, "-o", options, kind, folder],
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    if done.returncode != 0:
        pytest.skip(f"no {kind} can be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


class Running:
    """``gapbook run`` of two contestants in folders of its own."""

    def __init__(self, data: Path, runs: Path, *words: str) -> None:
        self.data, self.runs = data, runs
        self.popen = subprocess.Popen(
            [BIN / "gapbook", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=CHECKOUT,
            env=environment_with({"GAPBOOK_DATA": data, "GAPBOOK_RUNS": runs}),
            encoding="utf-8",
        )
        self.seen: dict[int, int] = {}
        self.ports: set[int] = set()
        self.errors = ""
        """What it wrote to standard error, once it has ended."""

    @classmethod
    def chapter(cls, data: Path, runs: Path, source: str, **changed: str) -> Running:
        parameters = {
            "source": source,
            "contestants": "postgres-rust,spacetimedb-rust",
            "alpha": "0.5",
            "blocks": "4",
            "others_every": "1",
            "sessions": "1",
            "attempts": "1",
            "kills": "0",
            "window_s": "0.5",
            "warmup_s": "0.2",
            "accounts": "1000",
            **changed,
        }
        words = [word for name, value in parameters.items() for word in ("-p", f"{name}={value}")]
        return cls(data, runs, "run", CHAPTER, "--no-page", *words)

    def trials(self) -> dict[str, float]:
        """When each trial that is kept began, by its file's name."""
        return {
            path.name: float(json.loads(path.read_text(encoding="utf-8"))["content"]["started_unix_s"])
            for path in self.runs.glob("*/incomplete-*/trial-*.json")
        }

    def alive(self) -> dict[int, int]:
        """Every process that this run started, by its folder in the environment, arguments or place."""
        found = {self.popen.pid: 0, **warden.descendants([self.popen.pid]), **belongs_to(self.data)}
        return {pid: ticks for pid in found if (ticks := warden.process_start_ticks(pid)) is not None}

    def look(self) -> None:
        """Remember the processes and the ports of this moment, to miss them later."""
        self.seen |= self.alive()
        inodes = {inode for pid in self.seen for inode in socket_inodes(pid)}
        self.ports |= {port for port, inode in listening() if inode in inodes}

    def nothing_left(self) -> bool:
        return (
            not self.alive()
            and not [pid for pid, ticks in self.seen.items() if warden.process_start_ticks(pid) == ticks]
            and not self.ports & {port for port, _ in listening()}
            and not list(self.data.iterdir())
        )

    def end(self, number: int, pid: int | None = None) -> tuple[int, str]:
        """Send a signal at this moment; the exit code and the last line of standard error."""
        self.look()
        os.kill(pid or self.popen.pid, number)
        killed = time.monotonic()
        _, self.errors = self.popen.communicate(timeout=CLEAN_WITHIN_S)
        assert eventually(self.nothing_left, CLEAN_WITHIN_S - (time.monotonic() - killed)), self.alive()
        lines = self.errors.strip().splitlines()
        return self.popen.returncode, lines[-1] if lines else ""

    def kernel(self) -> int:
        # What the kernel starts has its command line for a moment, so the oldest is the kernel.
        started = warden.descendants([self.popen.pid])
        return min(
            (pid for pid in started if b"ipykernel_launcher" in command_line(pid)), key=started.__getitem__
        )


def loading(running: Running) -> bool:
    """Whether a client loads a server at this moment."""
    # Read once: between two looks a process can end.
    lines = [command_line(pid) for pid in warden.descendants([running.popen.pid])]
    return any(Path(os.fsdecode(line[0])).name.startswith("gap-") for line in lines if line)
