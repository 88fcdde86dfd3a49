"""Systems that run in containers only: what their images are told, without an engine."""

from __future__ import annotations

import base64
import hashlib
import hmac
import importlib
import inspect
import json
import os
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest

from gapbook.declared.stack import Limits
from gapbook.deploy.containers import Containers
from gapbook.deploy.endpoint import Endpoint
from gapbook.deploy.images import Image
from gapbook.deploy.module import load_module, module_workloads
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import discover_stacks, stack_class
from gapbook.errors import ParameterError
from gapbook.paths import CHECKOUT
from gapbook.record.placement import Placement
from gapbook.trial.contestant import Contestant

_ONLY = [name for name, stack in discover_stacks().items() if stack.only_in_containers()]


class _Noted:
    """Containers that are only written down."""

    started: ClassVar[list[dict[str, Any]]] = []
    on_host_network = False

    def start(self, image: Image, **told: Any) -> None:
        inspect.signature(Containers.start).bind(self, image, **told)
        self.started.append({"image": image.reference, **told})


@pytest.fixture(name="noted")
def _noted() -> Iterator[_Noted]:
    noted = _Noted()
    noted.started.clear()
    yield noted
    noted.started.clear()


def _beside(system: str, name: str) -> Any:
    """A module beside a stack's own."""

    discover_stacks()
    return importlib.import_module(f"gapbook_stack_{system}.{name}")


def test_both_are_there_and_have_a_reason() -> None:
    assert {"convex", "supabase"} <= set(_ONLY)


@pytest.mark.parametrize("system", _ONLY)
def test_natively_they_are_refused_in_one_line(system: str) -> None:
    with pytest.raises(
        ParameterError, match=rf"^backend: {system} runs in containers only \(.*\); allowed: docker$"
    ):
        stack_class(system).require_place(ServerChoice())
    with pytest.raises(ParameterError, match=rf"{system} has no program that an image of ours could hold"):
        stack_class(system).require_place(ServerChoice(placement=Placement.parse("docker+own-image")))


@pytest.mark.parametrize("system", _ONLY)
def test_a_contestant_of_them_runs_in_a_container_by_itself(system: str) -> None:
    module = load_module(system, module_workloads(system)[0])
    access = next(iter(module.levels))
    tier = next(name for name in module.tiers if module.reaches(name, access))
    contestant = Contestant("c", system, access, tier, "rust", 1, workload=module.workload)
    assert contestant.settings.backend == "docker"
    assert contestant.levels()["backend"] == "docker"


def test_supabase_starts_what_a_call_passes_with_the_environment_of_its_makers(noted: _Noted) -> None:
    services = _beside("supabase", "services")
    image = Image("i:1", "sha256:0")
    services.start_database(
        noted, image, limits=Limits(), port=5001, password="p", secret="s", settings={"fsync": "on"}
    )
    services.start_rest(noted, image, port=5002, database="db:5001/bank", password="p", secret="s")
    services.start_gateway(noted, image, port=5003, configuration=b"{}")
    database, rest, kong = noted.started
    assert [one["name"] for one in noted.started] == ["supabase", "rest", "kong"]
    assert database["command"][-2:] == ["-c", "port=5001"]
    assert "fsync=on" in database["command"]
    assert database["data"] == "/var/lib/postgresql/data"
    assert rest["environment"]["PGRST_DB_URI"] == "postgres://authenticator:p@db:5001/bank"
    assert rest["environment"]["PGRST_SERVER_PORT"] == "5002"
    assert rest["environment"]["PGRST_JWT_SECRET"] == database["environment"]["JWT_SECRET"] == "s"
    assert kong["environment"]["KONG_DECLARATIVE_CONFIG"] in kong["files"]
    assert {name for one in noted.started for name in one["environment"]} <= _known_to("supabase")


def _known_to(system: str) -> set[str]:
    """Names of variables that the makers' own files use, kept beside the test."""
    return set(
        (Path(__file__).parent / "known_variables" / f"{system}.txt").read_text(encoding="utf-8").split()
    )


def test_the_gateway_lets_the_anonymous_key_through_to_the_api_alone() -> None:
    gateway = _beside("supabase", "gateway")
    token = gateway.signed_token("secret", "anon")
    head, body, signature = token.split(".")
    signed = hmac.new(b"secret", f"{head}.{body}".encode(), hashlib.sha256).digest()
    assert base64.urlsafe_b64decode(f"{signature}==") == signed
    claims = json.loads(base64.urlsafe_b64decode(f"{body}=="))
    assert claims["role"] == "anon"
    assert claims["exp"] > claims["iat"]
    described = json.loads(gateway.gateway_configuration("http://rest:3000/", token))
    (service,) = described["services"]
    assert service["url"] == "http://rest:3000/"
    assert {plugin["name"] for plugin in service["plugins"]} == {"cors", "key-auth", "acl"}
    assert [consumer["keyauth_credentials"] for consumer in described["consumers"]] == [[{"key": token}]]


def test_the_api_of_supabase_is_called_with_its_key() -> None:
    module = load_module("supabase", "transfer")
    endpoint = cast(Endpoint, {"host": "127.0.0.1", "port": 1, "rest_port": 2, "anon_key": "KEY"})
    told = module.client_endpoint("procedure", "rest", endpoint)
    assert told["port"] == 2
    request = told["requests"]["transfer"]
    assert request["headers"]["apikey"] == "KEY"
    assert request["headers"]["authorization"] == "Bearer KEY"
    schema = (CHECKOUT / "modules" / "postgres" / "transfer" / "transfer.sql").read_text(encoding="utf-8")
    (parameters,) = re.findall(r"FUNCTION transfer\(([^)]*)\)", schema)
    assert set(re.findall(r'"(\w+)":', request["body"])) == {
        word.split()[0] for word in parameters.split(", ")
    }


def test_routes_of_convex_are_called_on_their_own_port() -> None:
    module = load_module("convex", "counter-and-messages")
    endpoint = cast(Endpoint, {"host": "127.0.0.1", "port": 3210, "site_port": 3211})
    assert module.client_endpoint("mutation", "http", endpoint)["port"] == 3210
    actions = module.client_endpoint("actions", "http-actions", endpoint)
    assert actions["port"] == 3211
    assert actions["requests"]["increment"]["path"] == "/increment"


@pytest.mark.parametrize("workload", module_workloads("convex"))
def test_every_function_that_is_asked_for_is_exported(workload: str) -> None:
    module = load_module("convex", workload)
    exported = {
        f"{path.stem}:{name}"
        for path in module.path("convex").glob("*.ts")
        for name in re.findall(r"^export const (\w+) =", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    asked = {
        found
        for request in module.procedure.requests.values()
        for found in re.findall(r'"path":"([\w:]+)"', str(request.body))
    }
    assert asked
    assert asked | {"state:fill", "state:page"} <= exported
    routes = "".join(path.read_text(encoding="utf-8") for path in module.path("convex").glob("http.ts"))
    routed = re.findall(r'"(\w+)"', "".join(re.findall(r"of \[(.*)\]\) \{", routes)))
    own = module.levels["actions"].requests if "actions" in module.levels else {}
    assert {request.path for request in own.values()} == {f"/{name}" for name in routed}


def test_convex_is_told_what_its_start_script_reads() -> None:
    facts = stack_class("convex").container_facts()
    assert set(facts.environment) <= _known_to("convex")
    assert facts.environment["DATA_DIR"].startswith("/srv/data/")
    assert len(facts.image.rpartition(":")[2]) == 40


def test_the_store_of_convex_is_read_from_its_head(tmp_path: Path) -> None:
    store = _beside("convex", "store")

    path = tmp_path / "db.sqlite3"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (a)")
    assert store.Store(os.getpid(), path).journal_mode() == "delete"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode = wal")
    assert store.Store(os.getpid(), path).journal_mode() == "wal"
    assert store.Store(os.getpid(), path).bytes_on_disk() >= path.stat().st_size


def test_on_the_network_of_the_host_nobody_else_can_call_them(noted: _Noted) -> None:
    services, image = _beside("supabase", "services"), Image("i:1", "sha256:0")
    noted.on_host_network = True
    services.start_database(noted, image, limits=Limits(), port=5001, password="p", secret="s", settings={})
    services.start_rest(noted, image, port=5002, database="db:5001/bank", password="p", secret="s")
    services.start_gateway(noted, image, port=5003, configuration=b"{}")
    database, rest, kong = noted.started
    assert "listen_addresses=127.0.0.1" in database["command"]
    assert rest["environment"]["PGRST_SERVER_HOST"] == "127.0.0.1"
    assert kong["environment"]["KONG_PROXY_LISTEN"] == "127.0.0.1:5003"
    with pytest.raises(ParameterError, match=r"convex listens on every address.*; leave \+host-network out$"):
        stack_class("convex").require_place(ServerChoice(placement=Placement.parse("docker+host-network")))
