"""Findings: chains of factors on one dimension, the cells of a lattice, and its two ends."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from gapbook.errors import RecordError
from gapbook.method.factors import Factor
from gapbook.method.findings import Findings, named_versions
from gapbook.record.labels import CLIENT_BOUND
from gapbook.record.scenario import ContestantSettings
from gapbook.record.schema import System
from gapbook.trial.contestant import Contestant
from tests.unit import stored_runs as runs
from tests.unit.stored_runs import DRIZZLE, PROCEDURE, PROCEDURE_RUST, SPACETIMEDB, SPACETIMEDB_RUST, SQL

ORM = Factor("ORM", "access", "Drizzle", "SQL statements", "wire")
ROUND_TRIPS = Factor("Round trips", "access", "SQL statements", "one call", "wire")
CLIENT = Factor("Load client", "client", "typescript", "rust", "stack")
ENGINE = Factor("Engine residual", "system", "postgres", "spacetimedb", "residual")
ALL = (ORM, ROUND_TRIPS, CLIENT, ENGINE)


def found(
    folder: Path, contestants: Sequence[Contestant] = runs.CONTESTANTS, client_bound: Sequence[str] = ()
) -> Findings:
    """A whole run of these contestants; those without a planted goodput have 5,000/s."""
    scenario = replace(runs.SCENARIO, contestants=tuple(contestants), varies=("durability",))
    rows = [
        runs.valid(
            planned,
            runs.GOODPUT_PER_S.get(planned.contestant, 5e3),
            client_cpu_s=1.9 if planned.contestant in client_bound else 0.5,
        )
        for planned in runs.planned_trials(2, scenario)
    ]
    return Findings(runs.store(folder / runs.CHAPTER, rows, scenario=scenario), runs.CHAPTER)


@pytest.fixture(name="lattice", scope="module")
def _lattice(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return found(tmp_path_factory.mktemp("findings"))


def test_a_run_of_another_chapter_is_refused(lattice: Findings) -> None:
    with pytest.raises(RecordError, match="is of chapter synthetic, not of other"):
        Findings(lattice.run, "other")


def test_a_label_changes_no_decomposition_and_the_alternative_is_named(
    tmp_path: Path, lattice: Findings
) -> None:
    ends = {runs.CONTESTANTS[0].name, runs.CONTESTANTS[-1].name}
    bound = [c.name for c in runs.CONTESTANTS if c.system == "spacetimedb" and c.name not in ends]
    whole, labelled = lattice.decompose(ALL, 0.0), found(tmp_path, client_bound=bound)
    assert whole is not None
    assert labelled.decompose(ALL, 0.0) == whole
    between = labelled.client_bound_between(ALL, 0.0)
    assert between
    assert set(between) <= set(bound)
    without = labelled.decompose(ALL, 0.0, without=between)
    assert without is None or without.orderings < whole.orderings
    assert lattice.client_bound_between(ALL, 0.0) == []


def test_a_client_on_several_threads_does_not_fill_its_core(tmp_path: Path) -> None:
    recorded = runs.SCENARIO.recorded()
    rows = [runs.valid(planned, client_cpu_s=1.9 + planned.block / 100) for planned in runs.planned_trials(2)]
    for threaded, labels in ((False, [CLIENT_BOUND]), (True, [])):
        contestants = [msgspec.structs.replace(one, client_threaded=threaded) for one in recorded.contestants]
        run = runs.store(
            tmp_path / str(threaded) / runs.CHAPTER,
            rows,
            recorded=msgspec.structs.replace(recorded, contestants=contestants),
        )
        assert Findings(run, runs.CHAPTER).labels(SPACETIMEDB.name, 0.0) == labels


# --- chains -----------------------------------------------------------------------------------
def test_factors_of_one_dimension_are_a_chain_whose_product_is_the_gap(lattice: Findings) -> None:
    parts = lattice.decompose((ORM, ROUND_TRIPS), 0.0)
    assert parts is not None
    # No order but one can be climbed: a level is reached from the one before.
    assert (parts.orderings, parts.orderings_possible) == (1, 2)
    assert [share.multiplier.estimate for share in parts.shares] == pytest.approx([2.0, 4.0])
    assert parts.gap.estimate == pytest.approx(8.0)
    assert (parts.cells_measured, parts.cells_possible) == (3, 4)


def test_a_chain_goes_with_other_factors(lattice: Findings) -> None:
    parts = lattice.decompose(ALL, 0.0)
    assert parts is not None
    assert parts.gap.estimate == pytest.approx(48.0)
    assert math.prod(share.multiplier.estimate for share in parts.shares) == pytest.approx(48.0)
    # The chain comes first, then client and engine in both orders.
    assert parts.orderings == 2
    by_name = {share.factor.name: share.multiplier.estimate for share in parts.shares}
    assert by_name["ORM"] == pytest.approx(2.0)
    assert by_name["Load client"] == pytest.approx(math.sqrt(2.0 * 3.0))
    assert by_name["Engine residual"] == pytest.approx(math.sqrt(2.0 * 3.0))


def test_a_chain_may_skip_a_level(lattice: Findings) -> None:
    parts = lattice.decompose((Factor("Both", "access", "Drizzle", "one call", "wire"),), 0.0)
    assert parts is not None
    assert parts.gap.estimate == pytest.approx(8.0)


def test_a_broken_chain_is_refused_by_name(lattice: Findings) -> None:
    with pytest.raises(ValueError, match="factor ORM: starts at Drizzle, but one call was reached"):
        lattice.decompose((ROUND_TRIPS, ORM), 0.0)


def test_without_the_middle_of_a_chain_nothing_closes(tmp_path: Path) -> None:
    without = found(tmp_path, [DRIZZLE, PROCEDURE])
    assert without.decompose((ORM, ROUND_TRIPS), 0.0) is None


# --- factors that change several dimensions -----------------------------------------------------
APART = Factor(
    "Engine, ORM and client",
    "system",
    "postgres",
    "spacetimedb",
    "residual",
    along={"access": ("Drizzle", "one call"), "client": ("typescript", "rust")},
)
DEPTH = Factor("Pipelining", "in flight", "1", "64", "wire")


def test_a_factor_takes_other_dimensions_along_and_is_passed_in_all_at_once(tmp_path: Path) -> None:
    deep = replace(SPACETIMEDB_RUST, name="deep", in_flight=64)
    run = found(tmp_path, [*runs.CONTESTANTS, deep])
    parts = run.decompose((APART, DEPTH), 0.0)
    assert parts is not None
    # Of the contestants between, each has another system, access level or client: none is a cell of its own.
    assert (parts.orderings, parts.cells_measured) == (1, 3)
    by_name = {share.factor.name: share.multiplier.estimate for share in parts.shares}
    assert by_name["Engine, ORM and client"] == pytest.approx(48.0)
    assert by_name["Pipelining"] == pytest.approx(5e3 / 48e3)
    assert run.ends_of((APART, DEPTH)) == (run.scenario.find(DRIZZLE.name), run.scenario.find("deep"))


def test_a_factor_that_goes_along_is_a_link_of_each_of_its_chains(lattice: Findings) -> None:
    rest = Factor(
        "Rest", "system", "postgres", "spacetimedb", "residual", along={"client": ("typescript", "rust")}
    )
    parts = lattice.decompose((ORM, ROUND_TRIPS, rest), 0.0)
    assert parts is not None
    assert parts.gap.estimate == pytest.approx(48.0)
    assert [share.multiplier.estimate for share in parts.shares] == pytest.approx([2.0, 4.0, 6.0])
    with pytest.raises(ValueError, match="factor Rest: starts at typescript, but rust was reached"):
        lattice.decompose((CLIENT, rest), 0.0)
    with pytest.raises(ValueError, match="factor Back: comes back to typescript"):
        lattice.decompose((CLIENT, Factor("Back", "client", "rust", "typescript", "stack")), 0.0)
    with pytest.raises(ValueError, match="two levels that differ"):
        lattice.decompose((replace(rest, along={"client": ("rust", "rust")}),), 0.0)


def test_what_can_be_run_is_asked_of_each_cell_that_the_chains_allow(tmp_path: Path) -> None:
    run = found(tmp_path, [DRIZZLE, SQL, PROCEDURE, PROCEDURE_RUST])
    asked: list[dict[str, str]] = []

    def can_run(name: str, levels: Mapping[str, str]) -> bool:
        assert name == DRIZZLE.name
        asked.append(dict(levels))
        return levels["client"] == "typescript" or levels["access"] != "Drizzle"

    run.can_run = can_run
    parts = run.decompose((ORM, ROUND_TRIPS, CLIENT), 0.0)
    assert parts is not None
    accesses = ("Drizzle", "SQL statements", "one call")
    assert sorted(map(str, asked)) == sorted(
        str({"access": access, "client": client}) for access in accesses for client in ("typescript", "rust")
    )
    # The client after the ORM or after both; never before, for nobody has Drizzle in Rust.
    assert (parts.orderings, parts.orderings_possible, parts.cells_possible) == (1, 2, 5)


# --- a step further ---------------------------------------------------------------------------
def test_a_step_further_is_the_ratio_of_ratios_even_where_nothing_between_was_measured_there(
    tmp_path: Path,
) -> None:
    rows = [
        runs.valid(
            planned, runs.GOODPUT_PER_S[planned.contestant] * (3 if planned.contestant == last else 1) ** late
        )
        for last in (SPACETIMEDB_RUST.name,)
        for planned in runs.planned_trials(2)
        for late in [planned.treatment == 1.5]
        if not late or planned.contestant in {DRIZZLE.name, last}
    ]
    run = Findings(runs.store(tmp_path / runs.CHAPTER, rows), runs.CHAPTER)
    assert run.decompose(ALL, 1.5) is None
    step = run.further(ALL, 0.0, 1.5)
    assert step is not None
    assert step.step.interval.estimate == pytest.approx(3.0)
    assert step.whole.interval.estimate == pytest.approx(48.0 * 3)
    assert run.further((CLIENT, ENGINE), 0.0, 1.5) is None


# --- cells ------------------------------------------------------------------------------------
def test_cells_differ_in_the_named_dimensions_only(lattice: Findings) -> None:
    assert lattice.cells(["access"], 0.0, DRIZZLE).keys() == {
        ("Drizzle",),
        ("SQL statements",),
        ("one call",),
    }
    # Of two systems and two clients, only those of the same access level and depth.
    cells = lattice.cells(["system", "client"], 0.0, PROCEDURE)
    assert {cell: values[0] for cell, values in cells.items()} == {
        ("postgres", "typescript"): 8e3,
        ("postgres", "rust"): 16e3,
        ("spacetimedb", "typescript"): 16e3,
        ("spacetimedb", "rust"): 48e3,
    }


@pytest.mark.parametrize(
    "other",
    [
        replace(PROCEDURE, name="far", round_trip_ms=1.0),
        replace(PROCEDURE, name="deep", in_flight=8),
        replace(PROCEDURE, name="one-core", server_cores=1),
        replace(PROCEDURE, name="flushed", durability="fsync-per-commit"),
        replace(PROCEDURE, name="strict", isolation="serializable"),
    ],
    ids=lambda other: other.name,
)
def test_a_contestant_with_another_setting_is_in_no_cell_of_the_rest(
    tmp_path: Path, other: Contestant
) -> None:
    """It comes last and would replace the cell's values."""
    with_other = found(tmp_path, [*runs.CONTESTANTS, other])
    assert with_other.cells(["access"], 0.0, DRIZZLE)[("one call",)][0] == 8e3
    parts = with_other.decompose(ALL, 0.0)
    assert parts is not None
    assert parts.gap.estimate == pytest.approx(48.0)


def test_of_two_that_differ_in_no_dimension_the_first_stands_for_the_cell(tmp_path: Path) -> None:
    gives_up = replace(DRIZZLE, name="drizzle-gives-up", max_retries=9)
    both = found(tmp_path, [DRIZZLE, gives_up, SQL])
    cells = both.cells(["access"], 0.0, DRIZZLE)
    assert cells[("Drizzle",)] == both.values(DRIZZLE.name, 0.0) != both.values(gives_up.name, 0.0)


def test_no_contestant_has_no_cells(lattice: Findings) -> None:
    assert lattice.cells(["access"], 0.0, None) == {}


# --- ends -------------------------------------------------------------------------------------
def ends(shown: Findings, factors: Sequence[Factor]) -> list[ContestantSettings | None]:
    """What the contestants at both ends were asked to be; None where the run has none."""
    found = [shown.end(factors, "before"), shown.end(factors, "after")]
    return [one.settings if one else None for one in found]


def test_ends_are_all_before_and_all_after(lattice: Findings) -> None:
    assert ends(lattice, ALL) == [DRIZZLE.settings, SPACETIMEDB_RUST.settings]
    assert ends(lattice, (ROUND_TRIPS, CLIENT)) == [SQL.settings, PROCEDURE_RUST.settings]


def test_the_end_agrees_with_the_start_in_all_other_dimensions(tmp_path: Path) -> None:
    """Of the two that a factor of the system could start from, the first is taken with its own end."""
    far = [replace(one, name=f"{one.name}-far", round_trip_ms=1.0) for one in (SPACETIMEDB, PROCEDURE)]
    both = found(tmp_path, [*far, SPACETIMEDB, PROCEDURE])
    start, end = both.end((ENGINE,), "before"), both.end((ENGINE,), "after")
    assert start is not None
    assert end is not None
    assert (start.name, end.name) == ("procedure-far", "spacetimedb-far")


def test_an_end_that_the_run_does_not_have_is_none(tmp_path: Path) -> None:
    deeper = replace(SPACETIMEDB, name="deeper", in_flight=8)
    without = found(tmp_path, [PROCEDURE, deeper])
    assert ends(without, (ENGINE,)) == [PROCEDURE.settings, None]
    assert without.decompose((ENGINE,), 0.0) is None
    assert without.end((CLIENT, ENGINE), "after") is None


# --- versions ---------------------------------------------------------------------------------
def test_versions_of_a_system_are_levels_of_one_dimension(tmp_path: Path) -> None:
    """From Postgres to the newer server at once, and from the older server to the newer one."""
    old, new = (
        replace(SPACETIMEDB_RUST, version="1.2.0"),
        replace(SPACETIMEDB_RUST, name="new", version="2.8.3"),
    )
    run = found(tmp_path, [PROCEDURE_RUST, old, new])
    alpha = run.treatments[0]
    residual = Factor("Engine", "system", "postgres", "spacetimedb 2.8.3", "residual")
    version = Factor("Version", "system", "spacetimedb 1.2.0", "spacetimedb 2.8.3", "stack")
    for factor, under in ((residual, PROCEDURE_RUST), (version, old)):
        parts, ratio = run.decompose([factor], alpha), run.ratio("new", under.name, alpha)
        assert parts is not None
        assert ratio is not None
        assert parts.gap.estimate == pytest.approx(ratio.estimate)


def test_versions_are_said_once_and_all_of_them() -> None:
    systems = {
        "postgres": System("18.6", "", {}),
        "postgres (fsync-per-commit)": System("18.6", "", {}),
        "spacetimedb 1.2.0": System("1.2.0", "", {}),
        "spacetimedb 2.8.3 (fsync-per-commit)": System("2.8.3", "", {}),
        "spacetimedb 2.8.3": System("2.8.3", "", {}),
    }
    assert named_versions(systems) == ["postgres 18.6", "spacetimedb 1.2.0 and 2.8.3"]
