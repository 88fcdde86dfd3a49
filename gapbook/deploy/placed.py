"""Where a stack's server runs: what every stack has in common of running natively and in containers.

``[container]`` of stack.toml: ``image`` of the system's makers, pinned by its tag (``VERSION`` in it stands for
the version that is asked for); ``limits``; ``services``, further images by the names of their containers; and
``only``, why a system runs in no other way. A folder ``container`` beside it holds the Dockerfile of an image of
ours, whose ``program/`` are the files that run natively.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from gapbook.declared.reading import required
from gapbook.declared.stack import Container as ContainerFacts
from gapbook.declared.stack import DurabilityFacts, Native, StackDeclaration
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.process import free_port, require_port_free
from gapbook.deploy.server import Server, ServerChoice, sha256_of
from gapbook.errors import ParameterError, SetupError
from gapbook.record.placement import ELSEWHERE, Placement

if TYPE_CHECKING:
    from gapbook.deploy.container import Container
    from gapbook.deploy.containers import Containers
    from gapbook.deploy.engine import Engine
    from gapbook.deploy.images import Image

__all__ = ["Placed", "program_hash"]

_DOCKERFILE_FOLDER = "container"


class Placed:
    """A stack as far as it has a place."""

    name: ClassVar[str]
    """Name of the folder; set by discovery."""
    folder: ClassVar[Path]
    facts: ClassVar[StackDeclaration]
    """What stack.toml declares."""

    def __init__(
        self,
        deployment: Deployment,
        choice: ServerChoice,
        *,
        processors: Sequence[int] | None = None,
        storage: Path | None = None,
    ) -> None:
        self.deployment = deployment
        self.container: Container | None = None
        """The container of the server itself, while there is one."""
        self._choice, self._processors, self._storage = choice, processors, storage

    # --- what is declared ---------------------------------------------------------------------
    @classmethod
    def native(cls) -> Native:
        """How the server runs without a container; raises DeclarationError where stack.toml does not say."""
        return required(cls.facts.native, f"stacks/{cls.name}/stack.toml: native")

    @classmethod
    def container_facts(cls) -> ContainerFacts:
        """How the server runs in a container; raises DeclarationError where stack.toml does not say."""
        return required(cls.facts.container, f"stacks/{cls.name}/stack.toml: container")

    @classmethod
    def durability_facts(cls) -> DurabilityFacts:
        """What is promised of a commit; raises DeclarationError where stack.toml does not say."""
        return required(cls.facts.durability, f"stacks/{cls.name}/stack.toml: durability")

    # --- what is possible ---------------------------------------------------------------------
    @classmethod
    def runs_in_containers(cls) -> bool:
        return cls.facts.container is not None

    @classmethod
    def only_in_containers(cls) -> str | None:
        """Why the system runs in containers only; None for one that runs natively."""
        return cls.facts.container.only if cls.facts.container else None

    @classmethod
    def usual_placement(cls) -> Placement:
        """Where it runs unless somebody says otherwise."""
        return Placement(in_container=cls.only_in_containers() is not None)

    @classmethod
    def has_own_image(cls) -> bool:
        """Whether an image of ours can be built."""
        return (cls.folder / _DOCKERFILE_FOLDER / "Dockerfile").is_file()

    @classmethod
    def require_place(cls, choice: ServerChoice) -> None:
        """Raise ParameterError where what was named cannot run where it is asked to."""
        placement = choice.placement
        problem = None
        if placement.in_container:
            if not cls.runs_in_containers():
                problem = f"{cls.name} has no container to run in; allowed: {cls.usual_placement()}"
            elif choice.endpoint:
                problem = (
                    f"{cls.name} is a running server, whose place is its own affair; name one of both only"
                )
            elif placement.own_image and not cls.has_own_image():
                problem = f"{cls.name} has no program that an image of ours could hold; leave +own-image out"
            elif placement.own_image and choice.image:
                problem = f"{cls.name} is given an image besides +own-image; name one of both only"
            elif choice.binary and not placement.own_image:
                problem = f"{cls.name} is given a program, which runs in a container with docker+own-image"
        elif cls.only_in_containers() and not choice.endpoint:
            problem = f"{cls.name} runs in containers only ({cls.only_in_containers()}); allowed: docker"
        elif choice.image:
            problem = f"{cls.name} is given an image, which runs with backend=docker"
        if problem is not None:
            raise ParameterError(f"backend: {problem}")

    # --- images -------------------------------------------------------------------------------
    @classmethod
    def program(cls, choice: ServerChoice) -> tuple[Server, Mapping[str, Path]]:
        """The server that runs natively, and the files that an image of ours must hold of it, by their names there."""
        raise SetupError(
            f"{cls.name}: its stack.py does not say what runs natively, so that {choice} has no image"
        )

    @classmethod
    def located_image(cls, choice: ServerChoice) -> Server:
        """The image that is meant, pulled or built where it is not here, with those of all services. Raises
        SetupError."""
        from gapbook.deploy.engine import engine_here  # noqa: PLC0415 (the SDK takes time that others need not wait)

        with engine_here() as engine:
            image = cls.image(choice, engine)
            for service in cls.container_facts().services:
                cls.service_image(service, engine)
        version = cls.program(choice)[0].version if choice.placement.own_image else cls._asked_version(choice)
        return Server(f"image {image.reference}", version, image.id.removeprefix("sha256:"), image.built)

    @classmethod
    def image(cls, choice: ServerChoice, engine: Engine) -> Image:
        """The image of the server itself."""
        from gapbook.deploy.images import built_image, pulled_image  # noqa: PLC0415 (as above)

        if choice.placement.own_image:
            return built_image(engine, cls.name, cls.folder / _DOCKERFILE_FOLDER, cls.program(choice)[1])
        pinned = cls.container_facts().image.replace("VERSION", cls._asked_version(choice))
        own = "use backend=docker+own-image for one that is built here, or " if cls.has_own_image() else ""
        return pulled_image(
            engine,
            choice.image or pinned,
            title=cls.name,
            otherwise=f"{own}bring it with docker load and name it: servers={cls.name}=image:NAME",
        )

    @classmethod
    def image_here(cls) -> str:
        """Which images a run in containers would use, without pulling any; raises SetupError where one is not here,
        with what a run would do."""
        from gapbook.deploy.engine import engine_here  # noqa: PLC0415 (as above)
        from gapbook.deploy.images import here  # noqa: PLC0415 (as above)

        facts = cls.container_facts()
        pinned = [facts.image.replace("VERSION", cls._asked_version(ServerChoice()))]
        pinned += [service.image for service in facts.services.values()]
        with engine_here() as engine:
            absent = [reference for reference in pinned if here(engine, reference) is None]
        if absent:
            own = "; backend=docker+own-image builds one" if cls.has_own_image() else ""
            raise SetupError(
                f"image {' and '.join(absent)} is not here, and is pulled when a run asks for it{own}"
            )
        return f"image {' and '.join(pinned)}"

    @classmethod
    def service_image(cls, service: str, engine: Engine) -> Image:
        """The image of one of the services that stand beside the server."""
        from gapbook.deploy.images import pulled_image  # noqa: PLC0415 (as above)

        reference = cls.container_facts().services[service].image
        return pulled_image(
            engine, reference, title=f"{cls.name} {service}", otherwise="bring it with docker load"
        )

    @classmethod
    def _asked_version(cls, choice: ServerChoice) -> str:
        native = cls.facts.native.version if cls.facts.native else None
        return choice.version or str(cls.container_facts().version or native)

    # --- life ---------------------------------------------------------------------------------
    @property
    def placement(self) -> Placement:
        return self._choice.placement

    @cached_property
    def containers(self) -> Containers:
        """What this stack runs in containers; whoever starts some there clears them when the stack stops."""
        from gapbook.deploy.containers import Containers  # noqa: PLC0415 (as above)

        return Containers(
            self.deployment, self.name, self.placement, processors=self._processors, storage=self._storage
        )

    def restart_container(self, within_s: float) -> bool:
        """Start the container of a killed server again and wait until it listens; False where it has none."""
        if self.container is None:
            return False
        self.container.start()
        self.container.wait_until_listening(within_s)
        return True

    def clear_containers(self) -> None:
        """Remove what was started in containers, if anything was."""
        self.container = None
        if "containers" in vars(self):
            self.containers.clear()

    def own_port(self) -> int:
        """The port that the reader asked for, or a free one; raises StackError for one that is taken."""
        if self._choice.port:
            require_port_free(self._choice.port, self.name)
        return self._choice.port or free_port()

    def place(self) -> tuple[str, dict[str, str] | None]:
        """Where the server runs, as a record has it, and what is known of its containers; None where it has none."""
        if self._choice.elsewhere:
            return ELSEWHERE, None
        return str(self.placement), self.containers.facts() if self.placement.in_container else None


def program_hash(pid: int) -> str:
    """sha256 of the program that a process of this machine runs, in a container or not; empty where it cannot be
    read."""
    try:
        return sha256_of(Path(f"/proc/{pid}/exe"))
    except OSError:
        return ""
