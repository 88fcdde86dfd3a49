"""A chapter as its notebook uses it: parameters checked, contestants stated, a run obtained."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from itertools import product
from typing import Any, TypeAlias

from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import stack_class
from gapbook.errors import GapbookError, ParameterError
from gapbook.given import given_names
from gapbook.method.findings import Findings
from gapbook.model.declaration import declaration_of
from gapbook.model.plan import make_plan
from gapbook.model.work import EXPONENT
from gapbook.parameters import MEASURING, chapter_parameters, check_parameters, names_in
from gapbook.record.durability import Durability
from gapbook.record.placement import NATIVE, Placement
from gapbook.record.run import Run, stored_run
from gapbook.record.scenario import RecordedContestant
from gapbook.trial.asked import Asked
from gapbook.trial.contestant import Contestant
from gapbook.trial.load_hosts.named import named_load_maker
from gapbook.trial.measured import measured
from gapbook.trial.scenario import Scenario, WorkloadSettings
from gapbook.trial.servers import parse_choices
from gapbook.trial.statable import statable
from gapbook.trial.treatment import Treatment

__all__ = ["Chapter", "StatedError", "only_stated"]

_Stated: TypeAlias = Contestant | RecordedContestant
_only_stated: ContextVar[bool] = ContextVar("only_stated", default=False)


class StatedError(Exception):
    """No fault: a chapter has said all that is asked of it, and its run is neither measured nor read.

    ``asked`` is what it would have measured.
    """

    def __init__(self, asked: Asked) -> None:
        super().__init__(f"{asked.chapter} has stated its contestants")
        self.asked = asked


@contextmanager
def only_stated() -> Iterator[None]:
    """Chapters state their contestants, refuse what they must, and raise StatedError in place of a run."""
    token = _only_stated.set(True)
    try:
        yield
    finally:
        _only_stated.reset(token)


class Chapter:
    """Holds a chapter's parameters; everything after it in the notebook may trust them.

    ``namespace`` is the notebook's ``globals()``: the names of the parameters cell, and whatever a
    caller injected after it. A name that is neither a parameter nor part of the notebook is refused, whatever its
    type (:mod:`gapbook.given`).
    ``workload`` is the folder of what its contestants do, ``treatment`` the parameter that may have several
    values: one that the workload declares as such, or ``connections``.
    Raises ParameterError before any server starts.
    """

    def __init__(
        self,
        name: str,
        namespace: Mapping[str, Any],
        *,
        workload: str = "transfer",
        treatment: str = EXPONENT,
    ) -> None:
        _explain_errors_in_one_line(namespace)
        self.name, self.workload, self.treatment = name, workload, treatment
        known = chapter_parameters(workload)
        given = given_names(name, namespace, frozenset(known))
        self.parameters = check_parameters(given, workload=workload, treatment=treatment)
        missing = [
            key
            for key, parameter in known.items()
            if (parameter.everywhere or key == treatment) and key not in self.parameters
        ]
        if missing:
            raise ParameterError(f"chapter {name}: its parameters cell does not set {', '.join(missing)}")

    def contestant(
        self,
        name: str,
        system: str,
        *,
        access: str,
        client: str,
        in_flight: int,
        tier: str = "direct",
        **settings: Any,
    ) -> Contestant | RecordedContestant:
        """One contestant, a full set of levels; raises ParameterError when a level does not exist.

        Its server runs where the parameter ``backend`` says, if it can run there and says nothing itself.
        ``settings`` are those of :class:`gapbook.trial.contestant.Contestant` that are not as the scenario has them.
        What nobody can run here any more may stand in a stored run, which tells of it by itself.
        """
        try:
            settings = {**self._place_of(system), **settings}
            return Contestant(
                name, system, access, tier, client, in_flight, workload=self.workload, **settings
            )
        except ParameterError:
            recorded = self._stored.scenario.find(name) if self._stored else None
            if recorded is None:
                raise
            return recorded

    def version(self, system: str, measured: str) -> str:
        """The version of a system for this run: ``measured``, which published runs have, or what stands in for it.

        A version that its makers built and the set-up fetched (``native.prebuilt`` of its stack.toml) stands in where
        the reader names it and not the measured one, or where it alone is here. A stored run has the version it had.
        """
        versions = [measured, *stack_class(system).stand_ins()]
        if self._stored:
            had = [one.version for one in self._stored.scenario.contestants if one.system == system]
            return next((version for version in versions if version in had), measured)
        named = parse_choices(self.parameters["servers"])
        told = [version for version in versions if f"{system}@{version}" in named]
        place = Placement.parse(self._place_of(system).get("backend", str(NATIVE)))
        if told or (place.in_container and not place.own_image):
            return (told or versions)[0]
        return next(filter(stack_class(system).is_here, versions), measured)

    def _place_of(self, system: str) -> dict[str, str]:
        backend = self.parameters.get("backend", str(NATIVE))
        elsewhere = backend != str(NATIVE) and stack_class(system).runs_in_containers()
        return {"backend": backend} if elsewhere else {}

    @cached_property
    def _stored(self) -> Run | None:
        """The stored run that the parameters name; None when one is measured."""
        source = self.parameters["source"]
        return None if source in MEASURING else stored_run(self.name, source)

    def lattice(
        self, name: Callable[..., str], system: str, **levels: Sequence[Any]
    ) -> tuple[list[_Stated], list[tuple[str, str]]]:
        """All combinations of levels: the contestants that can be run, and the names of the others with
        the reason why nobody can run them. ``name`` makes a contestant's name of its levels."""
        feasible, infeasible = [], []
        for combination in product(*levels.values()):
            chosen = dict(zip(levels, combination, strict=True))
            try:
                feasible.append(self.contestant(name(**chosen), system, **chosen))
            except ParameterError as error:
                infeasible.append((name(**chosen), str(error)))
        return feasible, infeasible

    def measure(
        self,
        *contestants: _Stated,
        varies: Sequence[str] = (),
        trials_per_block: Mapping[str, float] | None = None,
        only_at: Mapping[str, Collection[float]] | None = None,
    ) -> Findings:
        """Obtain the run of these contestants (those that the parameters select), live or stored.

        A contestant of a server version or behind a program that is not on this machine is left out, and the run
        says so.
        ``varies`` names the promises (``durability``, ``isolation``) that are a factor of the chapter;
        ``trials_per_block`` the contestants that have not one trial in each, ``only_at`` those that run at some
        values of the treatment (:func:`gapbook.model.plan.make_plan`).
        """
        planned = {"trials_per_block": trials_per_block, "only_at": only_at}
        here = [one for one in contestants if isinstance(one, Contestant)]
        gone = [one for one in contestants if isinstance(one, RecordedContestant)]
        if not here and self._stored:
            return Findings(self._stored, self.name, stated=gone)
        whole = self._scenario(here, varies)
        scenario = whole.select(names_in(self.parameters["contestants"]))
        choices = parse_choices(self.parameters["servers"])
        asked = self._asked(scenario, choices, trials_per_block or {}, only_at or {})
        if _only_stated.get():
            raise StatedError(asked)
        run = self._stored or self._measured(asked)
        given = {} if gone else _given(run, scenario, self.parameters, planned)
        return Findings(
            run,
            self.name,
            [*whole.recorded().contestants, *gone],
            given=given,
            can_run=None if gone else statable(here),
        )

    def _measured(self, asked: Asked) -> Run:
        with named_load_maker() as maker:
            return measured(asked, self.parameters["source"], maker=maker)

    def _scenario(self, contestants: Sequence[Contestant], varies: Sequence[str]) -> Scenario:
        given, declared = self.parameters, declaration_of(self.workload).parameters
        own = {name: given[name] for name in declared if name in given and name != self.treatment}
        timeout_s = float(given.get("request_timeout_s", Scenario.request_timeout_s))
        return Scenario(
            chapter=self.name,
            contestants=tuple(contestants),
            workload=WorkloadSettings(self.workload, own),
            treatment=Treatment.of(self.treatment, self.workload, _as_list(given[self.treatment])),
            connections=max(_as_list(given["connections"])),
            window_s=float(given["window_s"]),
            warmup_s=float(given["warmup_s"]),
            durability=Durability.parse(given["durability"]),
            seed=given["seed"],
            varies=tuple(varies),
            request_timeout_s=timeout_s,
            # An answer that may still come is waited for.
            drain_s=max(Scenario.drain_s, timeout_s),
        )

    def _asked(
        self,
        scenario: Scenario,
        choices: Mapping[str, ServerChoice],
        trials_per_block: Mapping[str, float],
        only_at: Mapping[str, Collection[float]],
    ) -> Asked:
        given = self.parameters
        return Asked(
            scenario,
            choices,
            blocks=given["blocks"],
            sessions=given.get("sessions", 1),
            attempts=given["attempts"],
            kills=given["kills"],
            cuts=given.get("cuts", 0),
            parameters=_recorded(given),
            trials_per_block=trials_per_block,
            only_at=only_at,
        )


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _recorded(given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as a manifest keeps them: where trials came from is no part of a run, and no password
    of a server is written down."""
    kept = {name: list(v) if isinstance(v, tuple) else v for name, v in given.items() if name != "source"}
    servers = []
    for part in filter(None, (part.strip() for part in given["servers"].split(","))):
        system, _, named = part.partition("=")
        servers.append(f"{system}={ServerChoice.parse(named).without_password()}" if "://" in named else part)
    return {**kept, "servers": ",".join(servers)}


def _given(
    run: Run, scenario: Scenario, given: Mapping[str, Any], planned: Mapping[str, Any]
) -> dict[str, Any]:
    """The chapter's own parameters that say who is measured and how often, where they make just the
    contestants and trials of this run: what did not record its parameters can then be repeated all the same."""
    stored = run.scenario
    if [one.settings for one in stored.contestants] != [one.settings for one in scenario.contestants]:
        return {}
    plan = make_plan(
        [contestant.name for contestant in scenario.contestants],
        stored.treatment.values,
        blocks=run.manifest.blocks,
        seed=stored.seed,
        **planned,
    )
    if [tuple(vars(planned).values()) for planned in plan] != run.manifest.trials:
        return {}
    told = {name: given[name] for name in ("contestants", "in_flight", "end_trials") if name in given}
    return told | ({"sessions": run.manifest.sessions} if "sessions" in given else {})


def _explain_errors_in_one_line(namespace: Mapping[str, Any]) -> None:
    """In a notebook, an error of ours is one line for its reader, not a trace through the library."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None or shell.user_ns is not namespace:
        return

    def show(shell: Any, kind: type, error: BaseException, _trace: Any, tb_offset: Any = None) -> list[str]:
        del tb_offset  # IPython passes it by name
        line = f"{kind.__name__}: {error}"
        shell._showtraceback(kind, error, [line])
        return [line]

    shell.set_custom_exc((GapbookError,), show)
