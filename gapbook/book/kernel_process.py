"""The kernel as a process: always of our own interpreter, and how it ended in words."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager

from gapbook.deploy.process import log_tail

__all__ = ["KernelProcess"]

_COMMAND = [
    *(sys.executable, "-X", "faulthandler", "-m", "ipykernel_launcher", "-f", "{connection_file}"),
    # Standard error stays our log to the end: what a library says as it crashes would come too late for the notebook.
    "--IPKernelApp.capture_fd_output=False",
]
_OF_SOMEBODY = {
    signal.SIGKILL: ", as where memory is short",
    signal.SIGTERM: "",
    signal.SIGHUP: "",
    signal.SIGINT: "",
}
"""Signals that come from outside; any other a process brings upon itself."""


class KernelProcess:
    """The process of one kernel: its ``manager`` class starts it, whatever kernelspecs there are on the machine.

    ``log`` gets what it says on standard error and not in the notebook: before it is up, and as it crashes.
    """

    def __init__(self, log: Path) -> None:
        self.log = log
        self.popen: subprocess.Popen[bytes] | None = None
        self.manager = _manager_of(self)

    def ending(self) -> str:
        """How it ended: ``ended with code 1: ModuleNotFoundError: ...``, ``was ended from outside by signal 15 (SIGTERM)``."""
        code = None if self.popen is None else self.popen.poll()
        if code is None:
            return "is not there any more"
        if code >= 0:
            return f"ended with code {code}: {log_tail(self.log)}"
        try:
            number = signal.Signals(-code)
        except ValueError:
            return f"ended by signal {-code}: {log_tail(self.log)}"
        if number in _OF_SOMEBODY:
            return f"was ended from outside by signal {-code} ({number.name}{_OF_SOMEBODY[number]})"
        return f"ended by signal {-code} ({number.name}), the crash of a library: {log_tail(self.log)}"


def _manager_of(process: KernelProcess) -> type[AsyncKernelManager]:
    """The class that the library makes its manager of; it makes the object itself."""

    class OwnKernelManager(AsyncKernelManager):
        @property
        def kernel_spec(self) -> KernelSpec:
            return KernelSpec(argv=_COMMAND, display_name="Python 3", language="python")

        async def _async_launch_kernel(self, kernel_cmd: list[str], **kw: Any) -> None:
            with process.log.open("ab") as log:
                await super()._async_launch_kernel(kernel_cmd, **kw, stderr=log)
            process.popen = getattr(self.provisioner, "process", None)

    return OwnKernelManager
