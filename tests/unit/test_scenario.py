"""A scenario refuses what is unequal and not declared; a contestant refuses what nobody can run."""

from __future__ import annotations

import json
import os
from typing import Any

import msgspec
import pytest

from gapbook.chapter import Chapter
from gapbook.deploy.module import Module
from gapbook.errors import ParameterError
from gapbook.record.durability import Durability
from gapbook.record.scenario import RecordedScenario
from gapbook.trial.ceilings import ceiling_key
from gapbook.trial.contestant import Contestant, Variant
from gapbook.trial.scenario import Scenario
from gapbook.trial.servers import require_processors
from tests.bank import alphas, bank
from tests.unit.test_parameters import GOOD

DELAYED = Durability("delayed", 500.0)


def postgres(name: str = "postgres", **settings: Any) -> Contestant:
    return Contestant(
        **{
            "name": name,
            "system": "postgres",
            "access": "procedure",
            "tier": "direct",
            "client": "rust",
            "in_flight": 1,
            **settings,
        }
    )


def spacetimedb(name: str = "spacetimedb", **settings: Any) -> Contestant:
    return Contestant(name, "spacetimedb", "reducer", "direct", "rust", 1, **settings)


def scenario(*contestants: Contestant, **changed: Any) -> Scenario:
    return Scenario(
        **{
            "chapter": "test",
            "contestants": contestants,
            "workload": bank(1000),
            "treatment": alphas(0.0, 1.5),
            "connections": 4,
            "window_s": 0.5,
            "warmup_s": 0.2,
            "durability": DELAYED,
            "seed": 1,
            **changed,
        }
    )


# --- promises must be equal -------------------------------------------------------------------
FLUSHED = postgres("flushed", durability="fsync-per-commit")
REPEATABLE = postgres("repeatable", isolation="repeatable read")
STRICT = postgres("strict", isolation="serializable")


def test_unequal_durability_is_refused_with_both_contestants_and_levels() -> None:
    with pytest.raises(ParameterError) as caught:
        scenario(postgres(), FLUSHED)
    assert str(caught.value) == (
        "durability: unequal (postgres has delayed(500 ms), flushed has fsync-per-commit) and no factor of "
        "chapter test; make it equal, or declare it with varies=['durability']"
    )


def test_unequal_isolation_is_refused_with_both_contestants_and_levels() -> None:
    with pytest.raises(ParameterError) as caught:
        scenario(STRICT, REPEATABLE)
    assert str(caught.value) == (
        "isolation: unequal (strict has serializable, repeatable has repeatable read) and no factor of "
        "chapter test; make it equal, or declare it with varies=['isolation']"
    )


def test_isolation_is_equal_where_it_is_equal_in_effect() -> None:
    """The locks of the module make the default level of the server serializable for these transfers."""
    assert scenario(postgres(), STRICT, spacetimedb(), postgres("spelled", isolation="read committed"))


@pytest.mark.parametrize(("promise", "unequal"), [("durability", FLUSHED), ("isolation", REPEATABLE)])
def test_a_declared_factor_may_differ_and_no_other_promise(promise: str, unequal: Contestant) -> None:
    base = postgres()
    assert scenario(base, unequal, varies=(promise,)).contestants == (base, unequal)
    other = "durability" if promise == "isolation" else "isolation"
    with pytest.raises(ParameterError, match=f"^{promise}: unequal"):
        scenario(base, unequal, varies=(other,))


def test_a_promise_spelled_out_is_equal_to_that_of_the_scenario() -> None:
    assert scenario(postgres(), postgres("same", durability=str(DELAYED)))


def test_contestants_left_out_need_not_be_equal() -> None:
    """Selection may drop the factor, and what is left is still a scenario."""
    both = scenario(postgres(), FLUSHED, varies=("durability",))
    assert [c.name for c in both.select(["flushed"]).contestants] == ["flushed"]
    with pytest.raises(ParameterError, match="'typo' is unknown; allowed: postgres, flushed"):
        both.select(["typo"])


def test_a_durability_that_is_no_class_is_refused() -> None:
    with pytest.raises(ParameterError, match="durability: 'sometimes' is not a class"):
        postgres(durability="sometimes")


def test_a_name_given_twice_and_no_contestant_are_refused() -> None:
    with pytest.raises(ParameterError, match="a name is given twice"):
        scenario(postgres(), postgres())
    with pytest.raises(ParameterError, match="none is left"):
        scenario()


def test_a_recorded_scenario_reads_back_from_json_as_it_was() -> None:
    whole = scenario(
        postgres(
            flaws=({"name": "replayed-pairs", "batch": 100},),
            durability="none",
            isolation="serializable",
            server_cores=1,
            round_trip_ms=2.5,
            max_retries=7,
            parameters={"initial_balance": 10},
        ),
        spacetimedb(),
        varies=("durability", "isolation"),
    ).recorded()
    assert msgspec.convert(json.loads(json.dumps(whole.as_dict())), RecordedScenario) == whole


def test_what_is_recorded_is_resolved() -> None:
    """Each contestant has the durability, the window and the server that the scenario gives it."""
    own = postgres("own", durability="none", window_s=60.0, rate_per_s=5000.0)
    embedded = Contestant("embedded", "sqlite", "drizzle-unexecuted", "rpc", "typescript", 1)
    usual, other, inside = (
        scenario(postgres(), own, embedded, varies=("durability", "isolation")).recorded().contestants
    )
    assert (usual.durability, usual.window_s, usual.server, usual.loop) == (
        "delayed(500 ms)",
        0.5,
        "postgres",
        "closed",
    )
    assert (other.durability, other.window_s, other.server, other.loop) == (
        "none",
        60.0,
        "postgres (none)",
        "open",
    )
    assert (usual.system_label, usual.detail_label) == ("Postgres", "Rust client · procedure · 1 in flight")
    assert usual.levels == postgres().levels()
    assert usual.sound
    assert usual.counts_commits
    assert (inside.in_process, inside.counts_commits, inside.sound) == (True, False, False)


def test_what_a_contestant_does_not_say_is_that_of_the_scenario() -> None:
    own = postgres("own", durability="none", parameters={"initial_balance": 3})
    both = scenario(postgres(), own, varies=("durability",))
    assert (both.durability_of(postgres()), _balance(both, postgres())) == (DELAYED, 10_000_000)
    assert (both.durability_of(own), _balance(both, own)) == (Durability("none"), 3)


def _balance(both: Scenario, contestant: Contestant) -> Any:
    return both.workload_of(contestant, 0.0).parameters["initial_balance"]


def test_a_level_that_no_client_can_do_names_those_of_the_system_alone() -> None:
    with pytest.raises(ParameterError, match=r"cannot do 'drizzle'; allowed: batch, .*, sql$") as caught:
        Contestant("impossible", "postgres", "drizzle", "direct", "rust", 1)
    assert "service-100" not in str(caught.value)


@pytest.mark.parametrize(
    "settings",
    [
        {"server_cores": 1},
        {"client_apart": True},
        {"round_trip_ms": 0.5},
        {"server_killed": True},
        {"watched": True},
    ],
    ids=str,
)
def test_an_engine_inside_its_caller_has_no_server_to_pin_delay_or_kill(settings: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=f"{next(iter(settings))}: sqlite runs inside its caller"):
        Contestant("embedded", "sqlite", "sql", "in-process", "rust", 1, **settings)


# --- variants ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("variant", "label"),
    [
        (Variant("postgres", str(DELAYED), None, None), "postgres"),
        (Variant("postgres", "none", None, None), "postgres (none)"),
        (Variant("postgres", str(DELAYED), "serializable", 1), "postgres (serializable, 1 core)"),
        (Variant("postgres", str(DELAYED), None, 2), "postgres (2 cores)"),
        (Variant("spacetimedb", "none", None, None, "2.8.3"), "spacetimedb 2.8.3 (none)"),
        (
            Variant("postgres", "fsync-per-commit", "serializable", 2),
            "postgres (fsync-per-commit, serializable, 2 cores)",
        ),
    ],
)
def test_a_variant_is_labelled_by_what_is_not_as_the_scenario_has_it(variant: Variant, label: str) -> None:
    assert variant.label(DELAYED) == label


def test_contestants_share_a_server_unless_it_must_be_started_otherwise() -> None:
    server = postgres().variant(DELAYED)
    same = [postgres(access="sql"), postgres(in_flight=8), postgres(round_trip_ms=1.0, max_retries=3)]
    other = [FLUSHED, STRICT, postgres(server_cores=1)]
    assert {one.variant(DELAYED) for one in same} == {server}
    assert len({one.variant(DELAYED) for one in [*same, *other]}) == 4
    assert server.processors is None


def test_a_server_is_pinned_to_processors_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {5, 1, 3})
    assert postgres(server_cores=2).variant(DELAYED).processors == [1, 3]
    require_processors([postgres(server_cores=3), postgres()])
    with pytest.raises(
        ParameterError, match=r"pins its server to 4, and this process may use 3 \(number 1, 3, 5\)"
    ):
        require_processors([postgres(server_cores=4)])


def test_a_client_apart_has_what_its_server_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {5, 1, 3})
    apart, beside = postgres(server_cores=2, client_apart=True), postgres(server_cores=2)
    assert (apart.client_processors, apart.processors_between) == ([5], [1, 3])
    assert (beside.client_processors, beside.processors_between) == (None, None)
    assert apart.variant(DELAYED) == beside.variant(DELAYED)
    with pytest.raises(
        ParameterError, match=r"client_apart: .* gives its server 3 of 3 processors .* there are none"
    ):
        require_processors([postgres(server_cores=3, client_apart=True)])
    with pytest.raises(
        ParameterError, match=r"client_apart: .* say how many the server has with server_cores"
    ):
        postgres(client_apart=True)


def test_a_client_apart_has_a_ceiling_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    apart, beside = (
        ceiling_key(one, {}, scenario(one), 0.0)
        for one in (postgres(server_cores=1, client_apart=True), postgres(server_cores=1))
    )
    assert apart == f"{beside}/on 1 core of its own"


# --- levels -----------------------------------------------------------------------------------
def test_levels_name_the_same_thing_alike_for_all_systems() -> None:
    ours, theirs = postgres().levels(), spacetimedb().levels()
    assert ours["access"] == theirs["access"] == "one call"
    assert {key for key in ours if ours[key] != theirs[key]} == {"system"}


@pytest.mark.parametrize(
    ("settings", "dimension", "level"),
    [
        ({"access": "sql"}, "access", "SQL statements"),
        ({"tier": "rpc"}, "tier", "rpc"),
        ({"client": "typescript"}, "client", "typescript"),
        ({"in_flight": 8}, "in flight", "8"),
        ({"durability": "none"}, "durability", "none"),
        ({"isolation": "serializable"}, "isolation", "serializable"),
        ({"server_cores": 1}, "server cores", "1"),
        ({"server_cores": 1, "client_apart": True}, "server cores", "1, the client on the others"),
        ({"round_trip_ms": 0.5}, "round trip", "0.5 ms"),
        ({"flaws": ({"name": "replayed-pairs"},)}, "counting", "replayed-pairs"),
        ({"version": "18.6"}, "system", "postgres 18.6"),
    ],
)
def test_each_setting_is_a_dimension_of_its_own(settings: dict[str, Any], dimension: str, level: str) -> None:
    base, changed = postgres().levels(), postgres(**settings).levels()
    assert {key for key in base if base[key] != changed[key]} == {dimension}
    assert changed[dimension] == level


def test_a_contestant_is_told_apart_by_its_detail() -> None:
    detail = postgres(server_cores=1, isolation="serializable", round_trip_ms=2.0).detail_label
    for part in ("Rust client", "procedure", "serializable", "server on 1 of all cores", "round trip + 2 ms"):
        assert part in detail.split(" · ")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"parameters": {"initial_balance": 1000}}, "1,000 in each account"),
        ({"server_killed": True}, "server killed"),
        ({"flaws": ({"name": "replayed-pairs", "batch": 64},)}, "replayed-pairs"),
    ],
)
def test_contestants_that_differ_in_what_is_done_to_them_are_told_apart(
    settings: dict[str, Any], said: str
) -> None:
    assert said in postgres(**settings).detail_label.split(" · ")
    assert said not in postgres().detail_label


# --- what nobody can run ----------------------------------------------------------------------
@pytest.mark.parametrize(("language", "protocol"), [("rust", "sqlite"), ("python", "http")])
def test_more_than_one_in_flight_is_refused_where_a_client_has_one(
    language: str, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    contestant = {
        "sqlite": ("sqlite", "sql", "in-process", language),
        "http": ("postgres", "procedure", "rpc", language),
    }[protocol]
    assert Contestant("one", *contestant, 1)
    with pytest.raises(ParameterError, match=r"^in_flight: .*allowed: 1"):
        Contestant("two", *contestant, 2)
    # The module says no first; the client would too.
    monkeypatch.setattr(Module, "require_pipelined", lambda *_levels: None)
    with pytest.raises(ParameterError, match=f"in_flight: the {language} client for {protocol} .*allowed: 1"):
        Contestant("two", *contestant, 2)


@pytest.mark.parametrize("kind", ["access", "tier"])
def test_more_than_one_in_flight_is_refused_where_the_module_has_one(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    level = {"access": "procedure", "tier": "direct"}[kind]
    module = postgres().module
    declared: Any = module.procedure.access if kind == "access" else module.facts.tier
    narrowed = msgspec.structs.replace(declared[level], pipelined=False)
    monkeypatch.setitem(declared, level, narrowed)
    assert postgres(in_flight=1)
    with pytest.raises(ParameterError, match=f"in_flight: {kind} '{level}' of postgres .*allowed: 1"):
        postgres(in_flight=2)


def test_levels_that_do_not_exist_are_refused_with_those_that_do() -> None:
    with pytest.raises(ParameterError, match=r"access: 'reducer' is not one of postgres; allowed: .*sql"):
        postgres(access="reducer")
    with pytest.raises(ParameterError, match="'batch' of postgres cannot be reached by tier 'rpc'"):
        postgres(access="batch", tier="rpc")


@pytest.mark.parametrize("in_flight", [1, 40, 65])
def test_a_depth_that_no_whole_batches_fill_is_refused_before_anything_is_measured(in_flight: int) -> None:
    with pytest.raises(
        ParameterError, match=f"in_flight: {in_flight} .*'batch' of postgres; .*multiple of 64"
    ):
        postgres(access="batch", in_flight=in_flight)
    assert postgres(access="batch", in_flight=128)


def test_a_lattice_names_what_cannot_be_run_with_the_reason() -> None:
    chapter = Chapter("test", GOOD)

    def name(**levels: Any) -> str:
        return "-".join(str(level) for level in levels.values())

    feasible, infeasible = chapter.lattice(
        name,
        "postgres",
        access=("drizzle", "procedure"),
        tier=("rpc", "direct"),
        client=("rust",),
        in_flight=(1, 8),
    )
    reasons = dict(infeasible)
    assert len(feasible) + len(infeasible) == 8
    assert {one.name for one in feasible}.isdisjoint(reasons)
    assert "procedure-direct-rust-8" in {one.name for one in feasible}
    assert {"drizzle-direct-rust-1", "drizzle-direct-rust-8"} <= reasons.keys()
    assert all("drizzle" in reasons[f"drizzle-direct-rust-{depth}"] for depth in (1, 8))
    assert "allowed: 1" in reasons["procedure-rpc-rust-8"]
    for one in feasible:
        assert one.name == f"{one.access}-{one.tier}-{one.client}-{one.in_flight}"
