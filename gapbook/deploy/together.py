"""Several processes that come and go within a trial, counted as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gapbook.deploy.deployment import Deployment
from gapbook.deploy.process import Process
from gapbook.deploy.usage import Memory, cpu_s, memory_of
from gapbook.errors import StackError

__all__ = ["Together"]


class Together:
    """See :class:`gapbook.deploy.backend.Running`; the CPU of what has ended stays counted."""

    def __init__(self, deployment: Deployment, name: str) -> None:
        self.deployment = deployment
        self.name = name
        self._living: list[Process] = []
        self._ended_cpu_s = 0.0

    def start(self, command: Sequence[str | Path], environment: Mapping[str, str]) -> Process:
        """One more process; raises StackError when it cannot be started."""
        process = self.deployment.start(command, name=self.name, environment=environment)
        self._living.append(process)
        return process

    def count(self, process: Process) -> None:
        """Count a process that somebody else has started, and will end."""
        self._living.append(process)

    def end(self) -> None:
        """Ask every process to end, wait, and let go of it."""
        self._leave()
        for process in self._living:
            self.deployment.stop(process)
        self._living.clear()

    def kill(self) -> None:
        """End every process at once."""
        self._leave()
        for process in self._living:
            process.kill()
            self.deployment.stop(process)
        self._living.clear()

    def _leave(self) -> None:
        self._ended_cpu_s += self._living_cpu_s()

    def _living_cpu_s(self) -> float:
        """Read at once: each reading goes through every process of the machine."""
        return cpu_s([process.pid for process in self._living])

    def __len__(self) -> int:
        return len(self._living)

    @property
    def running(self) -> bool:
        return bool(self._living) and all(process.running for process in self._living)

    def require_running(self) -> None:
        """Raise StackError when one has ended, or none was started."""
        if not self._living:
            raise StackError(f"{self.name}: it does not run")
        for process in self._living:
            process.require_running()

    def last_words(self) -> str:
        """Those of the first that has ended, else of the first that was started."""
        ended = [process for process in self._living if not process.running]
        return (ended or self._living)[0].last_words() if self._living else "(no log)"

    def cpu_s(self) -> float:
        return self._ended_cpu_s + self._living_cpu_s()

    def memory(self) -> Memory:
        return memory_of([process.pid for process in self._living])

    def memory_bytes(self) -> int | None:
        """Proportional set size; None when nothing runs any more."""
        return self.memory().pss if self._living else None
