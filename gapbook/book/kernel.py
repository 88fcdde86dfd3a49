"""What an execution is given: a text notebook as .ipynb, and a kernel that nobody else can reach."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import jupytext
import nbformat
from jupyter_client.manager import AsyncKernelManager
from traitlets.config import Config

from gapbook.book.kernel_process import KernelProcess
from gapbook.deploy import warden
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.environment import kernel_environment, only_variables

__all__ = ["SharedKernel", "kernel_config", "read_text_notebook", "shared_kernel", "temporary_folder"]

# A socket's path has at most 107 bytes; what is made beneath the folder takes up to 50 of them.
_LONGEST_FOLDER = 50
_ANSWERS_WITHIN_S = 60
# A reset collects garbage, and would look through all libraries and stored runs for it.
_RESET = "__import__('gc').freeze(); get_ipython().reset()"


def read_text_notebook(path: Path) -> str:
    """A MyST text notebook as the JSON of an .ipynb."""
    return str(nbformat.writes(jupytext.read(path)))


@contextmanager
def kernel_config(**further: str) -> Iterator[tuple[Config, KernelProcess]]:
    """A kernel behind sockets that only this user can open: no port, and no need of a network; and its process.

    Its folder is gone afterwards, whatever ends us, and holds its settings too: those of the reader's own
    notebooks do not change a chapter, nor does a home that is missing. Of the shell's variables it has those that
    :func:`gapbook.deploy.environment.kernel_environment` names and ``further`` ones; what it starts has fewer.

    The kernel is ended at once when its last cell has answered: nothing of ours waits for its exit, in which its
    threads race for their sockets and, rarely, abort with a line about it on standard error (libzmq).
    """
    with Deployment(temporary_folder()) as home:
        sockets, settings = home.directory / "kernel", home.directory / "ipython"
        for folder in (sockets, settings):
            folder.mkdir(mode=0o700)
        # By the token the kernel is a part of the deployment, and ended before its folder is gone: one that came up
        # without it would make another elsewhere.
        # Libraries in the kernel, too, read and write UTF-8, whatever the locale says.
        own = {"IPYTHONDIR": str(settings), "PYTHONUTF8": "1", warden.TOKEN_VARIABLE: home.token}
        with only_variables({**kernel_environment(), **own, **further}):
            process = KernelProcess(home.directory / "kernel.log")
            config = Config(
                {
                    "KernelManager": {"transport": "ipc", "connection_file": str(sockets / "kernel.json")},
                    "NotebookClient": {
                        "shutdown_kernel": "immediate",
                        "kernel_manager_class": process.manager,
                    },
                }
            )
            yield config, process


@dataclass(frozen=True)
class SharedKernel:
    """One kernel for chapters that are executed one after the other: libraries are loaded and stored runs read once."""

    config: Config
    process: KernelProcess
    manager: AsyncKernelManager

    def forget(self) -> None:
        """Make its notebook a new one, without a name or a number of the one before; starts no kernel that is not up.

        Raises RuntimeError where the kernel is not there any more, and TimeoutError where it does not answer.
        """
        if not self.manager.has_kernel:
            return
        if self.process.popen is not None and self.process.popen.poll() is not None:
            raise RuntimeError("Kernel died between two notebooks")
        client = self.manager.blocking_client()
        # The answer comes on the shell's channel; to be ready on the others would be waited for.
        client.start_channels(iopub=False, stdin=False, hb=False)
        try:
            client.execute(_RESET, silent=True, reply=True, timeout=_ANSWERS_WITHIN_S)
        finally:
            client.stop_channels()


@contextmanager
def shared_kernel() -> Iterator[SharedKernel]:
    """A kernel as of :func:`kernel_config` that the first notebook starts, and that ends with the block. It keeps to one
    processor, for the others have such a kernel each."""
    with kernel_config(POLARS_MAX_THREADS="1") as (config, process):
        manager = process.manager(config=config, kernel_name="python3")
        try:
            yield SharedKernel(config, process, manager)
        finally:
            if process.popen is not None:
                process.popen.kill()
                process.popen.wait()


def temporary_folder() -> Path:
    """The folder for temporary files, or a common one where its name is too long for sockets."""
    named = Path(tempfile.gettempdir()).resolve()
    return named if len(os.fsencode(named)) <= _LONGEST_FOLDER else Path("/tmp")
