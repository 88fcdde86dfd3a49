"""The bench's own shape: pairs alternate, programs end, what is missing is one line, no count is taken on trust."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from bench import audit, http, page, unchanged
from bench.__main__ import main
from bench.keynote import checkout
from bench.load import held_against
from bench.older import described_contract, told_in
from bench.pairs import Bars, Case, Load, NotRun, Ratio, compare
from bench.programs import run_program
from bench.spacetimedb import ratios
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.endpoint import Endpoint, SentRequest
from gapbook.deploy.stack import Stack
from gapbook.errors import ClientError, SetupError
from gapbook.load.client import configure_load
from gapbook.model.workload import Workload
from gapbook.paths import CHECKOUT
from gapbook.record.run import latest_published
from gapbook.trial.workloads import find_workload

CASE = Case(50, 1)


def test_pairs_alternate_and_each_is_divided_by_its_own_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.pairs._PAUSE_S", 0.0)
    order = ""

    def load(name: str, rates: list[float]) -> Any:
        def run(_case: Case) -> Load:
            nonlocal order
            order += name
            return Load(rates.pop(0), 2.0 if name == "o" else 4.0, 1)

        return run

    goodput, cpu = compare(
        "x", [CASE], load("o", [10, 30, 20]), load("t", [5, 10, 40]), pairs=3, bars=Bars(">= 1", "<= 1")
    )
    assert order == "ottoot"
    assert goodput.values == (2.0, 3.0, 0.5)
    assert cpu.values == (0.5, 0.5, 0.5)


def test_a_row_gives_median_range_pairs_and_bar() -> None:
    row = str(Ratio("x, 50 × 1", "goodput", "/s", ((2.0, 1.0), (3.0, 1.0), (9.0, 1.0)), ">= 1.0"))
    assert row.split() == [
        "x,",
        "50",
        "×",
        "1",
        "goodput",
        "3.00",
        "2.00",
        "9.00",
        "3",
        ">=",
        "1.0",
        "3",
        "/s",
        "1",
        "/s",
    ]


def test_a_program_that_does_not_end_is_ended_with_its_children(deployment: Deployment) -> None:
    holds_the_pipe = "sleep 30 & echo $!; wait"
    with pytest.raises(ClientError, match=r"^stuck: no end after 1 s"):
        run_program(deployment, ["sh", "-c", holds_the_pipe], name="stuck", bound_s=1.0)


def test_a_program_that_fails_says_its_last_words(deployment: Deployment) -> None:
    with pytest.raises(ClientError, match=r"^failing: ended with code 3: no such thing"):
        run_program(deployment, ["sh", "-c", "echo no such thing >&2; exit 3"], name="failing", bound_s=10.0)


def test_a_program_is_given_its_text_and_its_lines_are_told_as_they_come(deployment: Deployment) -> None:
    told: list[tuple[int, str]] = []
    ended = run_program(
        deployment,
        [sys.executable, "-c", "import os, sys; print(os.getpid()); print(sys.stdin.read())"],
        name="told",
        bound_s=30.0,
        given="all of it",
        on_line=lambda pid, line: told.append((pid, line)),
    )
    (pid, first), (_, second) = told
    assert (first, second, ended.last_line) == (str(pid), "all of it", "all of it")
    assert ended.cpu_s > 0
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


class _Counting:
    name = "counting"

    def seed(self, workload: Workload) -> None:
        """A fresh server has nothing to do."""

    def endpoint(self) -> Endpoint:
        return {}

    def committed_operations(self) -> int:
        return 100


@pytest.mark.parametrize(("counted", "held"), [(100, True), (99, True), (101, False)])
def test_a_load_that_counts_more_than_was_committed_is_refused(counted: int, held: bool) -> None:
    load = held_against(cast(Stack, _Counting()), lambda endpoint, case: Load(1.0, 1.0, counted))
    if held:
        assert load(CASE).counted == counted
    else:
        with pytest.raises(ClientError, match="counted 101 transfers, counting committed 100"):
            load(CASE)


@pytest.mark.parametrize("named", [None, "", "/nowhere"])
def test_a_vendor_checkout_that_is_missing_is_one_line(
    named: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BENCH_KEYNOTE", raising=False)
    if named is not None:
        monkeypatch.setenv("BENCH_KEYNOTE", named)
    with pytest.raises(SetupError, match=r"^BENCH_KEYNOTE.*npm install in it$"):
        checkout()


def test_a_newer_server_that_is_missing_is_one_row(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BENCH_SPACETIMEDB", str(tmp_path / "absent"))
    monkeypatch.setattr("bench.spacetimedb.built_peers", lambda: tmp_path)
    first = next(iter(ratios(deployment, 1)))
    assert isinstance(first, NotRun)
    assert str(first).count("\n") == 0
    assert "BENCH_SPACETIMEDB" in str(first)


def _program(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_a_client_of_contract_1_is_told_one_flat_workload_and_no_requests(tmp_path: Path) -> None:
    request: SentRequest = {"method": "POST", "path": "/transfer", "success": {}}
    endpoint: Endpoint = {
        "protocol": "http",
        "host": "127.0.0.1",
        "port": 1,
        "requests": {"transfer": request},
    }
    today = configure_load(
        endpoint,
        find_workload("transfer", {"accounts": 10, "alpha": 0.5}),
        tmp_path,
        seed=3,
        connections=2,
        in_flight=4,
        warmup_s=0.0,
        window_s=1.0,
        drain_s=1.0,
        request_timeout_s=1.0,
    )
    table = today["workload"]["files"]["alias_table"]
    assert told_in(2, today) == today
    told = told_in(1, today)
    assert told.pop("workload") == {
        "name": "transfer",
        "seed": 3,
        "accounts": 10,
        "alpha": 0.5,
        "amount_max": 1000,
        "alias_table": table["path"],
        "alias_table_sha256": table["sha256"],
    }
    assert told.pop("endpoint") == {"protocol": "http", "host": "127.0.0.1", "port": 1}
    assert told.pop("contract") == 1
    assert told == {key: value for key, value in today.items() if key in told}


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo '{\"contract\": 9}'", "speaks contract 9; the bench can tell 1, 2"),
        ("echo '{}'", "--describe does not say its contract"),
        ("echo nonsense", "--describe does not say its contract"),
        ("exit 3", "--describe does not say its contract"),
    ],
)
def test_a_client_of_no_known_contract_is_refused(script: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(ClientError, match=expected):
        described_contract(_program(tmp_path / "client", script))
    assert described_contract(_program(tmp_path / "other", "echo '{\"contract\": 1}'")) == 1


def test_what_an_earlier_build_lacks_is_one_row_each(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BENCH_OLD_CLIENTS", str(tmp_path))
    _program(tmp_path / "gap-http", "exit 1")
    postgres, http_client, spacetimedb = map(str, unchanged.ratios(deployment, 1))
    assert "holds no gap-postgres" in postgres
    assert "--describe does not say its contract" in http_client
    assert "holds no gap-spacetimedb" in spacetimedb


def test_what_is_not_installed_is_one_row_each(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.http.tool_path", lambda name: None)
    monkeypatch.setattr("gapbook.load.client.tool_path", lambda name: None)
    wrk, k6 = http.ratios(deployment, 1)
    assert str(wrk) == "HTTP client ÷ wrk: not run: wrk is missing; install it: apt-get install wrk"
    assert "k6 is not installed" in str(k6)


def test_a_checkout_that_cannot_be_compared_is_one_row(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def why() -> str:
        (row,) = page.ratios(deployment, 1)
        assert isinstance(row, NotRun)
        return row.why

    monkeypatch.setattr("bench.page._CHAPTERS", ("fair",))
    monkeypatch.delenv("BENCH_OLD_CHECKOUT", raising=False)
    assert why().startswith("BENCH_OLD_CHECKOUT is not set")
    monkeypatch.setenv("BENCH_OLD_CHECKOUT", str(tmp_path))
    assert "is no checkout" in why()
    for name in ("gapbook/cli.py", ".venv/bin/python"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    assert f"holds no results/fair/{latest_published('fair').run_id}" in why()


def test_the_audit_that_is_timed_agrees_for_every_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.audit.OPERATIONS", 5000)
    rows = list(audit.lines())
    assert len(rows) == len(list((CHECKOUT / "workloads").glob("*/workload.toml")))
    assert all("5,000 operations: " in row and "not run" not in row for row in rows)


@pytest.mark.parametrize("words", [["spacetime"], ["--pairs", "0"]])
def test_what_cannot_be_run_is_refused_by_name(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench", *words])
    with pytest.raises(SystemExit) as refused:
        main()
    assert refused.value.code == 2
    assert words[-1] in capsys.readouterr().err.splitlines()[-1]
