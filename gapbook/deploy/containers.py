"""The containers of one server: started with their volumes and network, and removed with them, however the run
ends."""

from __future__ import annotations

import resource
import secrets
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import docker.types

from gapbook.declared.stack import Limits
from gapbook.deploy import remove_containers
from gapbook.deploy.container import Container
from gapbook.deploy.deployment import Deployment, Undo
from gapbook.deploy.engine import Engine, connected, described_engine, engine_address, engine_errors
from gapbook.deploy.images import Image
from gapbook.deploy.process import LOOPBACK
from gapbook.errors import StackError
from gapbook.record.placement import Placement

__all__ = ["DATA", "Containers"]

_NO_LIMITS = Limits()
DATA = "/srv/data"
"""Where the data of a server lies in its container: no image declares a volume there, so that the layer can hold it."""


class Containers:
    """The containers of one server, which share a network, and the volumes of their data.

    All carry a label by which they are found and removed: by :meth:`clear`, else when the deployment ends, else
    by its warden, else by the next deployment.
    """

    def __init__(
        self,
        deployment: Deployment,
        name: str,
        placement: Placement,
        *,
        processors: Sequence[int] | None = None,
        storage: Path | None = None,
    ) -> None:
        """``storage``: a folder of this machine that holds the data in place of a volume."""
        self.engine: Engine = connected()
        self._deployment, self._name, self._placement = deployment, name, placement
        self._processors, self._storage = processors, storage
        self._own_anew()
        self._network: str | None = None
        self.images: dict[str, Image] = {}

    def _own_anew(self) -> None:
        self.owner = secrets.token_hex(8)
        self._labels = {remove_containers.LABEL: self.owner}
        self._undo: Undo | None = None

    def facts(self) -> dict[str, str]:
        """What a record says of them: engine, network, place of the data, and each image with its hashes."""
        data = "the container's own layer" if self._placement.layer else "a volume"
        told = {
            "network": "host" if self._placement.host_network else "bridge",
            "data": "a folder of this machine" if self._storage else data,
        }
        for name, image in self.images.items():
            told[f"{name}: image"] = image.reference
            told[f"{name}: image id"] = image.id
            told[f"{name}: digest"] = image.digest or "none: it came from no registry"
            if image.built:
                told[f"{name}: built"] = image.built
        return {**described_engine(self.engine), **told}

    def start(
        self,
        image: Image,
        *,
        name: str,
        command: Sequence[str],
        ports: Mapping[int, int],
        limits: Limits = _NO_LIMITS,
        environment: Mapping[str, str] | None = None,
        entrypoint: Sequence[str] | None = None,
        files: Mapping[str, bytes] | None = None,
        user: str | None = None,
        data: str | None = DATA,
    ) -> Container:
        """Start a container whose server listens on ``ports``: those inside, each with the one on loopback through
        which it is reached. On the host's network both are the same. The first is that of the server.

        ``limits`` are those of stack.toml. Open files are limited as
        those of a process that we start. A health check that an image brings is switched off, for it would run
        inside the window: whether a server is ready is asked by its stack, and only before a trial. ``data`` is
        the folder of its data, None where it keeps none.
        """
        self._promise_removal()
        self.images[name] = image
        number = resource.getrlimit(resource.RLIMIT_NOFILE)
        with engine_errors(f"{name}: create its container"):
            handle = self.engine.containers.create(
                image.reference,
                list(command),
                entrypoint=None if entrypoint is None else list(entrypoint),
                name=self._named(name),
                labels=self._labels,
                environment={**(environment or {}), **self._deployment.declared},
                use_config_proxy=False,
                user=user,
                volumes={} if data is None else self._volumes(name, data),
                healthcheck={"test": ["NONE"]},
                ulimits=[docker.types.Ulimit(name="nofile", soft=number[0], hard=number[1])],
                cpuset_cpus=",".join(map(str, self._processors)) if self._processors else None,
                mem_limit=limits.memory_bytes,
                shm_size=limits.shared_memory_bytes,
                **self._connected_to_network(ports),
            )
        container = Container(handle, name, tuple(ports.values()))
        if files:
            container.put(files)
        container.start()
        return container

    def _promise_removal(self) -> None:
        if self._undo is None:
            self._undo = self._deployment.on_abandon(
                [sys.executable, "-I", remove_containers.__file__, self.owner, engine_address()],
                what=f"{self._name}: its containers, labelled {remove_containers.LABEL}={self.owner},",
            )

    def _volumes(self, name: str, data: str) -> dict[str, dict[str, str]]:
        if self._storage is not None:
            return {str(self._storage): {"bind": data, "mode": "rw"}}
        if self._placement.layer:
            return {}
        with engine_errors(f"{name}: create its volume"):
            volume = self.engine.volumes.create(self._named(name), labels=self._labels)
        return {volume.name: {"bind": data, "mode": "rw"}}

    @property
    def on_host_network(self) -> bool:
        """Whether what listens in them listens on this machine itself, where it must do so on loopback alone."""
        return self._placement.host_network

    def host_of(self, name: str) -> str:
        """By what name another container of these reaches one."""
        return LOOPBACK if self._placement.host_network else self._named(name)

    def _named(self, name: str) -> str:
        return f"gapbook-{self.owner}-{name}"

    def _connected_to_network(self, ports: Mapping[int, int]) -> dict[str, Any]:
        if self._placement.host_network:
            return {"network_mode": "host"}
        if self._network is None:
            with engine_errors(f"{self._name}: create its network"):
                made = self.engine.networks.create(
                    f"gapbook-{self.owner}", driver="bridge", labels=self._labels
                )
            self._network = str(made.name)
        published = {f"{inside}/tcp": (LOOPBACK, outside) for inside, outside in ports.items()}
        return {"network": self._network, "ports": published}

    def clear(self) -> None:
        """Remove every container, volume and network; what fails is tried again when the deployment ends, which
        also says so."""
        if self._undo is not None:
            try:
                with engine_errors(f"{self._name}: remove its containers"):
                    remove_containers.remove(self.engine, self.owner)
            except StackError:
                # What is left keeps its owner, by whom it is removed later; the next start must not find its data.
                self._own_anew()
        # Its connections only: the next request opens them again.
        self.engine.close()
        self._network = None
