"""Modules are found by their folders, and what they declare fits the workloads that they are of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gapbook.declared.module import ModuleDeclaration, ProcedureDeclaration
from gapbook.deploy import module
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.module import Module, load_module, module_workloads
from gapbook.deploy.stack import discover_stacks
from gapbook.errors import DeclarationError, ParameterError, SetupError, StackError
from gapbook.model.declaration import declaration_of, workload_names

_ALL = [(system, workload) for system in discover_stacks() for workload in module_workloads(system)]
_TIER = {"summary": "nothing between", "reason": "a test"}
_LEVEL = {"summary": "one call", "reason": "a test", "round_trips": 1}
_REQUEST = {"method": "POST", "path": "/", "headers": {}, "success": {"status": [200]}}
_MODULE = """system = "shelf"
[tier.direct]
protocol = "http"
summary = "nothing between"
reason = "a test"
"""
_FIELD = re.compile(r"\{\{|\{(\w+)\}")


@pytest.fixture(name="modules")
def _modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A checkout with one system of its own."""
    folder = tmp_path / "modules" / "shelf"
    folder.mkdir(parents=True)
    (folder / "module.toml").write_text(_MODULE, encoding="utf-8")
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
    found, declared = load_module(system, workload), declaration_of(workload)
    requests = found.procedure.requests
    assert found.facts.system == system
    for name, tier in found.tiers.items():
        if tier.protocol == "http" and any(found.reaches(name, level) for level in found.levels):
            assert requests.keys() == declared.kinds.keys()
    of_levels = [msgspec.to_builtins(level.requests) for level in found.levels.values()]
    for own in (msgspec.to_builtins(requests), *of_levels):
        assert own.keys() <= requests.keys()
        for kind, request in own.items():
            whole = {**msgspec.to_builtins(requests[kind]), **request}
            texts = (whole["path"], whole.get("body", ""), *whole["headers"].values())
            used = {found[1] for text in texts for found in _FIELD.finditer(text) if found[1]}
            assert used <= {field.name for field in declared.kinds[kind].fields}
            assert whole.get("refusals", {}).keys() == declared.refusals.keys()
    for endpoint in (found.procedure.endpoint, *(level.endpoint for level in found.levels.values())):
        for named in (endpoint.functions, endpoint.reducers):
            assert not named or named.keys() == declared.kinds.keys()


@pytest.mark.parametrize(("system", "workload"), _ALL)
def test_a_tier_withholds_headers_that_its_requests_have(system: str, workload: str) -> None:
    found = load_module(system, workload)
    for name, tier in found.tiers.items():
        if any(found.reaches(name, level) for level in found.levels):
            for request in found.procedure.requests.values():
                assert set(tier.without_headers) <= request.headers.keys()


@pytest.mark.parametrize(("system", "workload"), _ALL)
def test_every_access_level_is_behind_a_tier_and_gives_its_reason(system: str, workload: str) -> None:
    found = load_module(system, workload)
    for level in found.levels:
        assert any(found.reaches(name, level) for name in found.tiers)
        assert found.levels[level].reason.strip()
        assert found.levels[level].summary.strip()
    for tier in found.tiers.values():
        assert tier.reason.strip()
        assert tier.summary.strip()


def test_an_unknown_workload_lists_those_there_are() -> None:
    with pytest.raises(
        ParameterError,
        match=r"'lottery' has no folder under modules/plant/; there are: counter-and-messages, tr",
    ):
        load_module("plant", "lottery")
    with pytest.raises(ParameterError, match=r"'oracle' has no modules/oracle/module\.toml"):
        load_module("oracle", "transfer")


def test_a_workload_is_a_folder_or_a_table_of_the_module(modules: Path) -> None:
    _write(modules, "letters/procedure.toml", 'access = {}\nscripts = ["a.sql"]\n')
    with (modules / "module.toml").open("a", encoding="utf-8") as file:
        file.write('[procedure.parcels]\naccess = {}\nscripts = ["b.sql"]\n')
    assert module_workloads("shelf") == ("parcels", "letters")
    assert load_module("shelf", "letters").procedure.scripts == ("a.sql",)
    assert load_module("shelf", "parcels").procedure.scripts == ("b.sql",)
    assert load_module("shelf", "parcels").tiers["direct"].protocol == "http"
    assert load_module("shelf", "letters").path("a.sql") == modules / "letters" / "a.sql"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda folder: (folder / "module.toml").write_text(
                _MODULE + "[procedure.letters]\naccess = {}\n", encoding="utf-8"
            ),
            "letters is declared twice, in module.toml or in folders; keep one",
        ),
        (
            lambda folder: (folder / "module.toml").write_text("system =", encoding="utf-8"),
            "modules/shelf/module.toml:1: not TOML: ",
        ),
        (
            lambda folder: (folder / "letters/procedure.toml").write_bytes(b"\xff"),
            "letters/procedure.toml: cannot be read: no UTF-8",
        ),
    ],
)
def test_a_broken_module_is_refused_in_one_line(
    modules: Path, change: Callable[[Path], object], says: str
) -> None:
    _write(modules, "letters/procedure.toml", "access = {}")
    change(modules)
    with pytest.raises((SetupError, DeclarationError)) as refused:
        load_module("shelf", "letters")
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def _shelf(tier: dict[str, Any], access: dict[str, Any], **of_workload: Any) -> Module:
    """A module of these tiers and levels; what is told of none is the same in all."""
    tiers = {name: {**_TIER, **told} for name, told in tier.items()}
    levels = {name: {**_LEVEL, **told} for name, told in access.items()}
    return Module(
        "shelf",
        "letters",
        Path(),
        msgspec.convert({"system": "shelf", "tier": tiers}, ModuleDeclaration),
        msgspec.convert({"access": levels, **of_workload}, ProcedureDeclaration),
    )


def test_requests_are_filled_in_with_the_endpoint() -> None:
    shelf = _shelf(
        {"direct": {"protocol": "http"}, "own": {}},
        {"reducer": {"endpoint": {"newest": "v1"}}},
        endpoint={"reducers": {"letter": "send"}},
        requests={"letter": {**_REQUEST, "path": "/<database>/{box}", "headers": {"a": "B <token>"}}},
    )
    endpoint: Endpoint = {"protocol": "own", "host": "h", "port": 1, "database": "d", "token": "t"}
    assert shelf.client_endpoint("reducer", "direct", endpoint) == {
        "protocol": "http",
        "host": "h",
        "port": 1,
        "requests": {"letter": {**_REQUEST, "path": "/d/{box}", "headers": {"a": "B t"}}},
    }
    told = {**endpoint, "reducers": {"letter": "send"}, "newest": "v1"}
    assert shelf.client_endpoint("reducer", "own", endpoint) == told


def test_a_level_says_over_a_request_and_a_tier_withholds_headers() -> None:
    letter = {**_REQUEST, "path": "/<database>", "headers": {"A": "<token>", "b": "1"}, "body": "[]"}
    slow = {"endpoint": {"database": "slow one"}, "requests": {"letter": {"body": "[<database>]"}}}
    shelf = _shelf(
        {"known": {"protocol": "http"}, "unknown": {"protocol": "http", "without_headers": ["a"]}},
        {"plain": {}, "slow": slow},
        requests={"letter": letter, "parcel": letter},
    )
    endpoint: Endpoint = {"host": "h", "port": 1, "database": "d", "token": "t"}

    def sent(access: str, tier: str) -> Any:
        return shelf.client_endpoint(access, tier, endpoint)["requests"]

    plain = {**letter, "path": "/d", "headers": {"A": "t", "b": "1"}}
    assert sent("plain", "known") == {"letter": plain, "parcel": plain}
    assert sent("plain", "unknown")["parcel"] == {**plain, "headers": {"b": "1"}}
    assert sent("slow", "known")["parcel"] == {**plain, "path": "/slow one"}
    assert sent("slow", "unknown")["letter"] == {
        **plain,
        "path": "/slow one",
        "headers": {"b": "1"},
        "body": "[slow one]",
    }


def test_the_sources_are_those_of_the_workload_and_what_all_share(modules: Path) -> None:
    for workload in ("letters", "parcels"):
        _write(modules, f"{workload}/procedure.toml", "access = {}")
        _write(modules, f"{workload}/schema.sql", "CREATE")
    beside = modules.parent / "shared"
    beside.mkdir()
    _write(beside, "http.ts", "serve")
    _write(modules, "node_modules/dependency.js", "1")
    (modules / "module.toml").write_text(f'sources = ["../shared"]\n{_MODULE}', encoding="utf-8")

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
    _write(common, "letters/procedure.toml", 'access = {}\nscripts = ["a.sql"]\n')
    (modules / "module.toml").write_text(f'procedures = ["../common"]\n{_MODULE}', encoding="utf-8")
    assert module_workloads("shelf") == ("letters",)
    letters = load_module("shelf", "letters")
    assert letters.procedure.scripts == ("a.sql",)
    before = letters.source_hash()
    _write(common, "letters/procedure.toml", "access = {}")
    assert letters.source_hash() != before


def test_a_tier_that_says_so_may_be_asked_ahead_whatever_is_behind_it() -> None:
    shelf = _shelf(
        {"plain": {}, "wide": {"pipelined": True}, "narrow": {"pipelined": False}},
        {"steps": {"pipelined": False}, "call": {}},
    )
    for access, tier in (("call", "plain"), ("steps", "wide"), ("call", "wide")):
        shelf.require_pipelined(access, tier)
    with pytest.raises(ParameterError, match=r"access 'steps' of shelf has one request out"):
        shelf.require_pipelined("steps", "plain")
    with pytest.raises(ParameterError, match=r"tier 'narrow' of shelf has one request out"):
        shelf.require_pipelined("call", "narrow")


def test_a_tier_whose_program_is_missing_says_how_to_get_it() -> None:
    server = {"command": ["no-such-program", "server.ts"], "install_hint": "plant one"}
    shelf = _shelf({"rpc": server, "direct": {}}, {})
    assert shelf.tier_program("direct") is None
    with pytest.raises(
        SetupError, match=r"^shelf behind rpc: no-such-program is not installed; install it: plant one$"
    ):
        shelf.tier_program("rpc")


@pytest.mark.parametrize(
    "arguments", [["-c", "exit 3"], ["-c", "exec 0<&-; sleep 0.2"]], ids=["ends", "deaf"]
)
def test_a_tier_that_ends_before_it_is_ready_is_one_line(arguments: list[str], data_folder: Path) -> None:
    postgres = load_module("postgres", "transfer")
    tier = msgspec.structs.replace(postgres.tiers["rpc"], command=("sh", *arguments))
    facts = msgspec.structs.replace(postgres.facts, tier={"rpc": tier})
    ending = replace(postgres, facts=facts)
    with Deployment(data_folder) as deployment:
        # More than a pipe holds, so that it must be read before it is all written.
        endpoint: Endpoint = {"host": "127.0.0.1", "port": 1, "database": "x" * 100_000}
        with pytest.raises(StackError, match=r"^postgres rpc tier \(sql\): not ready: ") as caught:
            ending.start_tier(deployment, tier="rpc", access="sql", endpoint=endpoint, pool_size=1)
        assert "\n" not in str(caught.value)
        assert not deployment._processes


def test_every_workload_runs_somewhere() -> None:
    assert {workload for _, workload in _ALL} == set(workload_names())
