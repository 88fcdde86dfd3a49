"""Modules are found by their folders, and what they declare fits the workloads that they are of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gapbook.deploy import module
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.module import Module, load_module, module_workloads
from gapbook.deploy.stack import discover_stacks
from gapbook.errors import ParameterError, SetupError, StackError
from gapbook.model.declaration import declaration_of, workload_names

_ALL = [(system, workload) for system in discover_stacks() for workload in module_workloads(system)]
_FIELD = re.compile(r"\{\{|\{(\w+)\}")


@pytest.fixture(name="modules")
def _modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A checkout with one system of its own."""
    folder = tmp_path / "modules" / "shelf"
    folder.mkdir(parents=True)
    (folder / "module.toml").write_text(
        'system = "shelf"\n[tier.direct]\nprotocol = "http"\n', encoding="utf-8"
    )
    monkeypatch.setattr(module, "CHECKOUT", tmp_path)
    for cached in (load_module, module._declared):
        cached.cache_clear()
    yield folder
    for cached in (load_module, module._declared):
        cached.cache_clear()


def _write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize(("system", "workload"), _ALL)
def test_what_is_declared_fits_the_workload(system: str, workload: str) -> None:
    facts, declared = load_module(system, workload).facts, declaration_of(workload)
    assert facts["system"] == system
    for tier in facts["tier"].values():
        levels = tier.get("access", list(facts["access"]))
        if tier.get("protocol") == "http" and set(levels) & facts["access"].keys():
            assert facts["requests"].keys() == declared.kinds.keys()
    of_levels = [level.get("requests", {}) for level in facts["access"].values()]
    for own in of_levels:
        assert own.keys() <= facts.get("requests", {}).keys()
    for requests in (facts.get("requests", {}), *of_levels):
        for kind, request in requests.items():
            whole = {**facts["requests"][kind], **request}
            texts = (whole["path"], whole.get("body", ""), *whole["headers"].values())
            used = {found[1] for text in texts for found in _FIELD.finditer(text) if found[1]}
            assert used <= {field.name for field in declared.kinds[kind].fields}
            assert whole.get("refusals", {}).keys() == declared.refusals.keys()
    for endpoint in (facts, *facts["access"].values()):
        for named in ("functions", "reducers"):
            assert endpoint.get("endpoint", {}).get(named, declared.kinds).keys() == declared.kinds.keys()


@pytest.mark.parametrize(("system", "workload"), _ALL)
def test_a_tier_withholds_headers_that_its_requests_have(system: str, workload: str) -> None:
    facts = load_module(system, workload).facts
    for tier in facts["tier"].values():
        if set(tier.get("access", facts["access"])) & facts["access"].keys():
            for request in facts.get("requests", {}).values():
                assert set(tier.get("without_headers", ())) <= request["headers"].keys()


@pytest.mark.parametrize(("system", "workload"), _ALL)
def test_every_access_level_is_behind_a_tier_and_gives_its_reason(system: str, workload: str) -> None:
    facts = load_module(system, workload).facts
    reached = {level for tier in facts["tier"].values() for level in tier.get("access", facts["access"])}
    assert facts["access"].keys() <= reached
    for level in (*facts["access"].values(), *facts["tier"].values()):
        assert level["reason"].strip()
        assert level["summary"].strip()


def test_an_unknown_workload_lists_those_there_are() -> None:
    with pytest.raises(
        ParameterError,
        match=r"'lottery' has no folder under modules/plant/; there are: counter-and-messages, tr",
    ):
        load_module("plant", "lottery")
    with pytest.raises(ParameterError, match=r"'oracle' has no modules/oracle/module\.toml"):
        load_module("oracle", "transfer")


def test_a_workload_is_a_folder_or_a_table_of_the_module(modules: Path) -> None:
    _write(modules, "letters/procedure.toml", 'scripts = ["a.sql"]\n')
    with (modules / "module.toml").open("a", encoding="utf-8") as file:
        file.write('[procedure.parcels]\nscripts = ["b.sql"]\n')
    assert module_workloads("shelf") == ("parcels", "letters")
    assert load_module("shelf", "letters").facts["scripts"] == ["a.sql"]
    assert load_module("shelf", "parcels").facts["scripts"] == ["b.sql"]
    assert load_module("shelf", "parcels").facts["tier"] == {"direct": {"protocol": "http"}}
    assert load_module("shelf", "letters").path("a.sql") == modules / "letters" / "a.sql"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda folder: (folder / "module.toml").write_text(
                'system = "shelf"\n[procedure.letters]\n', encoding="utf-8"
            ),
            "letters is declared twice, in module.toml or in folders; keep one",
        ),
        (
            lambda folder: (folder / "module.toml").write_text("system =", encoding="utf-8"),
            "modules/shelf/module.toml: ",
        ),
        (lambda folder: (folder / "letters/procedure.toml").write_bytes(b"\xff"), "letters/procedure.toml: "),
    ],
)
def test_a_broken_module_is_refused_in_one_line(
    modules: Path, change: Callable[[Path], object], says: str
) -> None:
    _write(modules, "letters/procedure.toml", "")
    change(modules)
    with pytest.raises(SetupError) as refused:
        load_module("shelf", "letters")
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_requests_are_filled_in_with_the_endpoint() -> None:
    facts: dict[str, Any] = {
        "tier": {"direct": {"protocol": "http"}, "own": {}},
        "access": {"reducer": {"endpoint": {"newest": "v1"}}},
        "endpoint": {"reducers": {"letter": "send"}},
        "requests": {
            "letter": {
                "path": "/<database>/{box}",
                "headers": {"a": "B <token>"},
                "success": {"status": [200]},
            }
        },
    }
    endpoint = {"protocol": "own", "host": "h", "port": 1, "database": "d", "token": "t"}
    shelf = Module("shelf", "letters", Path(), facts)
    assert shelf.client_endpoint("reducer", "direct", endpoint) == {
        "protocol": "http",
        "host": "h",
        "port": 1,
        "requests": {"letter": {"path": "/d/{box}", "headers": {"a": "B t"}, "success": {"status": [200]}}},
    }
    told = {**endpoint, "reducers": {"letter": "send"}, "newest": "v1"}
    assert shelf.client_endpoint("reducer", "own", endpoint) == told


def test_a_level_says_over_a_request_and_a_tier_withholds_headers() -> None:
    letter = {"path": "/<database>", "headers": {"A": "<token>", "b": "1"}, "body": "[]"}
    facts: dict[str, Any] = {
        "tier": {"known": {"protocol": "http"}, "unknown": {"protocol": "http", "without_headers": ["a"]}},
        "access": {
            "plain": {},
            "slow": {"endpoint": {"database": "slow one"}, "requests": {"letter": {"body": "[<database>]"}}},
        },
        "requests": {"letter": letter, "parcel": letter},
    }
    shelf = Module("shelf", "letters", Path(), facts)
    endpoint = {"host": "h", "port": 1, "database": "d", "token": "t"}

    def sent(access: str, tier: str) -> Any:
        return shelf.client_endpoint(access, tier, endpoint)["requests"]

    plain = {"path": "/d", "headers": {"A": "t", "b": "1"}, "body": "[]"}
    assert sent("plain", "known") == {"letter": plain, "parcel": plain}
    assert sent("plain", "unknown")["parcel"] == {**plain, "headers": {"b": "1"}}
    assert sent("slow", "known")["parcel"] == {**plain, "path": "/slow one"}
    assert sent("slow", "unknown")["letter"] == {
        "path": "/slow one",
        "headers": {"b": "1"},
        "body": "[slow one]",
    }


def test_the_sources_are_those_of_the_workload_and_what_all_share(modules: Path) -> None:
    for workload in ("letters", "parcels"):
        _write(modules, f"{workload}/procedure.toml", "")
        _write(modules, f"{workload}/schema.sql", "CREATE")
    beside = modules.parent / "shared"
    beside.mkdir()
    _write(beside, "http.ts", "serve")
    _write(modules, "node_modules/dependency.js", "1")
    (modules / "module.toml").write_text('system = "shelf"\nsources = ["../shared"]\n', encoding="utf-8")

    def hashes() -> tuple[str, str]:
        return load_module("shelf", "letters").source_hash(), load_module("shelf", "parcels").source_hash()

    letters, parcels = before = hashes()
    assert letters != parcels
    _write(modules, "node_modules/dependency.js", "2")
    assert hashes() == before
    _write(modules, "letters/schema.sql", "CREATE TABLE")
    assert hashes()[0] != letters
    assert hashes()[1] == parcels
    changed = hashes()
    _write(beside, "http.ts", "serve more")
    assert all(now != then for now, then in zip(hashes(), changed, strict=True))


def test_modules_may_have_what_a_workload_has_in_common(modules: Path) -> None:
    common = modules.parent / "common"
    common.mkdir()
    _write(common, "letters/procedure.toml", 'scripts = ["a.sql"]\n')
    (modules / "module.toml").write_text('system = "shelf"\nprocedures = ["../common"]\n', encoding="utf-8")
    assert module_workloads("shelf") == ("letters",)
    letters = load_module("shelf", "letters")
    assert letters.facts["scripts"] == ["a.sql"]
    before = letters.source_hash()
    _write(common, "letters/procedure.toml", "")
    assert letters.source_hash() != before


def test_a_tier_that_says_so_may_be_asked_ahead_whatever_is_behind_it() -> None:
    facts: dict[str, Any] = {
        "tier": {"plain": {}, "wide": {"pipelined": True}, "narrow": {"pipelined": False}},
        "access": {"steps": {"pipelined": False}, "call": {}},
    }
    shelf = Module("shelf", "letters", Path(), facts)
    for access, tier in (("call", "plain"), ("steps", "wide"), ("call", "wide")):
        shelf.require_pipelined(access, tier)
    with pytest.raises(ParameterError, match=r"access 'steps' of shelf has one request out"):
        shelf.require_pipelined("steps", "plain")
    with pytest.raises(ParameterError, match=r"tier 'narrow' of shelf has one request out"):
        shelf.require_pipelined("call", "narrow")


def test_a_tier_whose_program_is_missing_says_how_to_get_it() -> None:
    server = {"command": ["no-such-program", "server.ts"], "install_hint": "plant one"}
    shelf = Module("shelf", "letters", Path(), {"tier": {"rpc": server, "direct": {}}})
    assert shelf.tier_program("direct") is None
    with pytest.raises(
        SetupError, match=r"^shelf behind rpc: no-such-program is not installed; install it: plant one$"
    ):
        shelf.tier_program("rpc")


@pytest.mark.parametrize(
    "arguments", [["-c", "exit 3"], ["-c", "exec 0<&-; sleep 0.2"]], ids=["ends", "deaf"]
)
def test_a_tier_that_ends_before_it_is_ready_is_one_line(arguments: list[str], data_folder: Path) -> None:
    tier = {"command": ["sh", *arguments], "access": ["sql"], "protocol": "http"}
    postgres = load_module("postgres", "transfer")
    facts = {**postgres.facts, "tier": {"rpc": tier}}
    ending = Module(postgres.system, postgres.workload, postgres.folder, facts)
    with Deployment(data_folder) as deployment:
        # More than a pipe holds, so that it must be read before it is all written.
        endpoint = {"host": "127.0.0.1", "port": 1, "database": "x" * 100_000}
        with pytest.raises(StackError, match=r"^postgres rpc tier \(sql\): not ready: ") as caught:
            ending.start_tier(deployment, tier="rpc", access="sql", endpoint=endpoint, pool_size=1)
        assert "\n" not in str(caught.value)
        assert not deployment._processes


def test_every_workload_runs_somewhere() -> None:
    assert {workload for _, workload in _ALL} == set(workload_names())
