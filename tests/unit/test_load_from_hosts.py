"""Load from other hosts: who can be loaded so, what the harness hears of it, and what a record and its pages say."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from gapbook import cli
from gapbook.deploy.own_code import code_sha256
from gapbook.deploy.server import ServerChoice
from gapbook.errors import ClientError, ParameterError
from gapbook.hosts.cluster import Cluster
from gapbook.hosts.resources import whole_machine
from gapbook.load.configuration import LoadConfiguration
from gapbook.load.line import Line, Listener
from gapbook.load.maker import BESIDE_THE_SERVER, LoadMaker
from gapbook.method.cell_key import cell_key
from gapbook.method.findings import Findings
from gapbook.model.event import Event, Progress
from gapbook.pages.provenance import method_words, provenance_parts
from gapbook.pages.rerun import rerun_panel
from gapbook.pages.sentence import conditions
from gapbook.record.labels import CLIENT_BOUND, label_shares
from gapbook.record.load_hosts import load_hosts_words, with_clock_bounds
from gapbook.record.row import FromHost
from gapbook.record.schema import LoadHost
from gapbook.trial.campaign import measurement_of
from gapbook.trial.ceilings import ceiling_of_all
from gapbook.trial.contestant import Contestant
from gapbook.trial.load_hosts import following
from gapbook.trial.load_hosts.engaged import EngagedHost
from gapbook.trial.load_hosts.following import Following
from gapbook.trial.load_hosts.messages import Answered, Clock, Failed, Reported, Saying, packed
from gapbook.trial.load_hosts.offer import has_this_code, is_load_host, load_host_offer
from gapbook.trial.load_hosts.splittable import require_splittable
from gapbook.trial.row import Loaded
from gapbook.trial.treatment import Treatment
from tests.reports import report_of
from tests.unit import stored_runs as runs
from tests.unit.test_scenario import postgres, scenario, spacetimedb

_WARMUP_S, _WINDOW_S = 0.2, 0.4


# --- who can be loaded from other hosts -------------------------------------------------------
def test_servers_that_listen_where_they_are_told_and_tiers_can_be_loaded_from_hosts() -> None:
    behind = postgres("behind", tier="rpc", client="typescript", access="drizzle", round_trip_ms=1.0)
    require_splittable(scenario(postgres(), spacetimedb(), behind), {}, 4)


@pytest.mark.parametrize(
    ("contestant", "choices", "words"),
    [
        (postgres(rate_per_s=100.0), {}, r"open loop \(rate_per_s\).*; allowed: closed loops"),
        (postgres(flaws=({"name": "status-unread"},)), {}, r"flaws, .*; allowed: none"),
        (postgres(server_killed=True), {}, r"\(server_killed\); allowed: servers that are left alone"),
        (
            Contestant("postgres", "sqlite", "sql", "in-process", "rust", 1),
            {},
            r"engine, sqlite, inside the client; allowed: systems with a server",
        ),
        (postgres(client="python"), {}, r"client in python, .*; allowed: rust, typescript"),
        (
            postgres(),
            {"postgres": ServerChoice(endpoint="postgresql://a:b@127.0.0.1/c")},
            r"a server that was named, .*; allowed: servers of ours",
        ),
        (postgres(backend="docker"), {}, r"runs in a container, .*; allowed: backend native"),
        (postgres(round_trip_ms=1.0), {}, r"\(round_trip_ms\), .*; allowed: none"),
    ],
)
def test_who_cannot_is_refused_in_one_line_that_says_what_is_allowed(
    contestant: Contestant, choices: dict[str, ServerChoice], words: str
) -> None:
    with pytest.raises(
        ParameterError, match=rf"^load-from: postgres .*{words}.*, or leave that contestant out$"
    ):
        require_splittable(scenario(contestant), choices, 2)


def test_a_system_that_listens_on_this_machine_alone_is_refused_with_those_that_do_not() -> None:
    plant = Contestant("plant", "plant", "base", "direct", "rust", 1)
    with pytest.raises(
        ParameterError, match=r"a server of plant, .*; allowed: postgres, spacetimedb, and any behind"
    ):
        require_splittable(scenario(plant), {}, 2)


def test_fewer_connections_than_hosts_are_refused_at_any_value_of_the_treatment() -> None:
    users = Treatment.of("connections", "transfer", [1, 4])
    with pytest.raises(ParameterError, match=r"^connections: 1 cannot be split over 2 load hosts"):
        require_splittable(scenario(postgres(), treatment=users), {}, 2)


def test_a_stored_run_loads_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        cli.main(["run", "both-optimized", "-p", "source=published", "--load-from", "tcp://10.0.0.1:1"]) == 2
    )
    assert (
        capsys.readouterr().err
        == "gapbook: load-from: a stored run is read and loads nothing; leave it out\n"
    )


def test_a_load_host_is_known_by_its_code() -> None:
    offer = load_host_offer("a" * 64)
    assert is_load_host(offer)
    assert has_this_code(offer, "a" * 64)
    assert not has_this_code(offer, "b" * 64)
    assert not is_load_host({"machine": 1, "code " + "a" * 16: 1})


def test_a_campaign_gives_no_session_to_who_makes_load() -> None:
    offers = {"tcp://10.0.0.2:1": load_host_offer(code_sha256()), "tcp://10.0.0.3:1": whole_machine("c", "k")}
    told = {"workers": {name: {"resources": offer} for name, offer in offers.items()}}
    client: Any = SimpleNamespace(scheduler_info=lambda n_workers: told)
    assert [*Cluster(client, "here", print)._workers()] == ["tcp://10.0.0.3:1"]


# --- what is heard of one load ----------------------------------------------------------------
def _configuration() -> LoadConfiguration:
    return cast(LoadConfiguration, {"warmup_s": _WARMUP_S, "window_s": _WINDOW_S, "connections": 4})


@contextmanager
def _hosts(count: int) -> Iterator[tuple[list[EngagedHost], list[Line]]]:
    """Hosts as who measures has them, and their own ends."""
    listener = Listener("127.0.0.1")
    with ExitStack() as opened:
        opened.callback(listener.close)
        ends, ours = [], []
        for number in range(count):
            ends.append(opened.enter_context(Line.to("127.0.0.1", listener.port, 5)))
            line = listener.accept(5)
            opened.callback(line.shut)
            ours.append(EngagedHost(f"10.0.0.{number + 2}:1", line))
        yield ours, ends


def _says(line: Line, *answers: Answered) -> None:
    for answer in answers:
        line.send(packed(answer), 5)


def _followed(
    hosts: list[EngagedHost], acts: Callable[[], None], heard: list[tuple[float, Event]]
) -> list[bytes]:
    start_unix_s = time.time() + 0.1
    began_s = time.monotonic() + 0.1
    acting = threading.Thread(target=acts)
    acting.start()
    try:
        followed = Following(
            hosts,
            _configuration(),
            start_unix_s,
            lambda event: heard.append((time.monotonic() - began_s, event)),
        )
        return followed.outputs()
    finally:
        acting.join()


def test_edges_follow_from_the_common_start_and_progress_is_that_of_all() -> None:
    heard: list[tuple[float, Event]] = []
    with _hosts(2) as (hosts, ends):

        def act() -> None:
            for end in reversed(ends):
                _says(end, Saying("ready"), Saying("window_start"))
            _says(ends[1], Saying("progress", "window", 1.0, 30))
            time.sleep(0.2)
            _says(ends[0], Saying("progress", "window", 1.0, 12), Saying("window_end"))
            for end, output in zip(ends, (b"first", b"second"), strict=True):
                _says(end, Reported(output))

        assert _followed(hosts, act, heard) == [b"first", b"second"]
    # Each is heard once, whatever each host says, and both edges come though all reported before the window's end.
    assert sorted(event.name for _, event in heard) == ["progress", "ready", "window_end", "window_start"]
    told = {event.name: (at_s, event) for at_s, event in heard}
    assert told["window_start"][0] >= _WARMUP_S - 0.02
    assert told["window_end"][0] >= _WARMUP_S + _WINDOW_S - 0.02
    progress = told["progress"][1]
    assert isinstance(progress, Progress)
    assert (progress.acknowledged, progress.elapsed_s, progress.phase) == (42, 1.0, "window")


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda end: end.shut(), r"is lost \(.*\)"),
        (
            lambda end: _says(end, Failed("client gap-postgres: ended with code 3")),
            r"failed: client gap-postgres: .*3",
        ),
        (lambda end: _says(end, Clock(1.0)), r"was asked for a load, and said Clock"),
        (lambda end: end.send(b"\xff", 5), r"said what nobody understands \(.*\)"),
        (lambda end: None, r"said nothing for 0\.2 s; see that it runs and its link holds"),
    ],
)
def test_a_host_that_fails_ends_the_load_in_one_line_with_its_name(
    act: Callable[[Line], None], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "SILENT_S", 0.2)
    with _hosts(2) as (hosts, ends):

        def both() -> None:
            _says(ends[0], Reported(b"done"))
            act(ends[1])

        began_s = time.monotonic()
        with pytest.raises(ClientError, match=rf"^load host 10\.0\.0\.3:1 {words}$"):
            _followed(hosts, both, [])
        assert time.monotonic() - began_s < 5


# --- saturation and processor time ------------------------------------------------------------
def _part(**changed: Any) -> dict[str, Any]:
    part = {"connections": 25, "acknowledged_in_window": 1000, "cpu_s": 1.0, "clock_bound_s": 1e-5}
    return {**part, "ceiling_per_s": 1000.0, "here": False, **changed}


@pytest.mark.parametrize(
    ("worst", "share"),
    [({"cpu_s": 9.0}, 1.0), ({"acknowledged_in_window": 4000}, 0.5), ({"ceiling_per_s": 250.0}, 0.5)],
)
def test_the_label_sees_the_host_that_is_nearest_to_its_own_limit(
    worst: dict[str, Any], share: float
) -> None:
    # What all use together is far above what one thread can.
    row = {"goodput_per_s": 300.0, "ceiling_per_s": 300.0, "client_cpu_s": 30.0, "gates": []}
    for parts in ([_part(**worst), _part(cpu_s=0.1)], [_part(cpu_s=0.1), _part(**worst)]):
        for stored in (parts, msgspec.json.encode(parts).decode()):
            assert label_shares({**row, "from_hosts": stored}, 1.0, 10.0)[CLIENT_BOUND] == pytest.approx(
                share
            )


def test_the_ceiling_of_all_is_reached_when_the_first_host_is_at_its_own() -> None:
    assert ceiling_of_all([100.0], 7) == 100.0
    # Three connections here, two there: the second host is at 50/s while the first does 75/s.
    assert ceiling_of_all([90.0, 50.0], 5) == pytest.approx(125.0)
    assert ceiling_of_all([90.0, None], 5) is None


def test_processor_time_of_clients_elsewhere_is_none_of_the_servers_machine() -> None:
    report = report_of(window={"cpu_user_s": 1.0, "cpu_system_s": 2.0})
    parts = [FromHost(**_part(cpu_s=1.25, here=True)), FromHost(**_part(cpu_s=1.75))]
    loaded: Any = Loaded

    def made(from_hosts: list[FromHost]) -> Loaded:
        found: Loaded = loaded(None, None, report, None, from_hosts, *[None] * 8)
        return found

    assert made([]).client_cpu_here_s == 3.0
    assert made(parts).client_cpu_here_s == 1.25
    assert made(parts).client_cpu_s == 3.0


# --- the record and its pages -----------------------------------------------------------------
def _hosts_of(run: Any, *boots: str | None, bound_s: float | None = 4.2e-5) -> list[LoadHost]:
    machine = run.manifest.machine
    return [
        LoadHost(msgspec.structs.replace(machine, boot_sha256=boot), clock_bound_s=bound_s) for boot in boots
    ]


def test_a_run_with_load_hosts_is_stored_read_and_said_in_one_line(tmp_path: Path) -> None:
    local = runs.store(tmp_path / runs.CHAPTER, runs.whole(2))
    hosts = msgspec.to_builtins(_hosts_of(local, "a" * 64, "b" * 64))
    far = runs.store(tmp_path / "far" / runs.CHAPTER, runs.whole(2), load_hosts=hosts)
    assert len(far.manifest.load_hosts) == 2
    found = Findings(far, runs.CHAPTER)
    said = [part for part in provenance_parts(found) if part.startswith("load from")]
    assert len(said) == 1
    assert said[0].startswith("load from 2 hosts (")
    assert said[0].endswith(", clocks known within 0.042 ms")
    assert said[0] in method_words(found)
    assert "shared by server and client" not in method_words(found)
    assert conditions(found, "On {machine}.").endswith(", load from 2 hosts.")
    assert f"gapbook run {runs.CHAPTER} --load-from ADDRESS" in rerun_panel(found).html
    of_local = Findings(local, runs.CHAPTER)
    assert "--load-from" not in rerun_panel(of_local).html
    assert not any("load from" in part for part in (*provenance_parts(of_local), method_words(of_local)))
    for contestant in local.scenario.contestants:
        treatment = local.scenario.treatment.values[0]
        assert cell_key(far, contestant, treatment) != cell_key(local, contestant, treatment)


def test_a_host_that_is_the_servers_own_machine_is_said_to_be_that(tmp_path: Path) -> None:
    run = runs.store(tmp_path / runs.CHAPTER, runs.whole(1))
    server = msgspec.structs.replace(run.manifest.machine, boot_sha256="a" * 64)
    own, other = _hosts_of(run, "a" * 64, "b" * 64, bound_s=None)
    assert load_hosts_words([own], server) == "load from 1 host (on the server's own machine)"
    assert load_hosts_words([own, other], server).startswith(
        "load from 2 hosts (on the server's own machine; "
    )
    assert load_hosts_words([], server) == ""


def test_the_worst_bound_of_each_clock_is_recorded(tmp_path: Path) -> None:
    run = runs.store(tmp_path / runs.CHAPTER, runs.whole(1))
    hosts = _hosts_of(run, "a" * 64, "b" * 64, bound_s=None)
    rows: list[dict[str, Any]] = [
        {"from_hosts": [_part(clock_bound_s=1e-4), _part(clock_bound_s=3e-4)]},
        {"from_hosts": msgspec.json.encode([_part(clock_bound_s=2e-4), _part(clock_bound_s=1e-4)]).decode()},
        {"from_hosts": None},
        {},
    ]
    assert [host.clock_bound_s for host in with_clock_bounds(hosts, rows)] == [2e-4, 3e-4]
    assert [host.clock_bound_s for host in with_clock_bounds(hosts, [])] == [None, None]


def test_a_plan_with_load_hosts_has_a_key_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gapbook.trial.campaign.require_servers", lambda *_: None)
    monkeypatch.setattr("gapbook.trial.campaign.require_kept", lambda *_: None)
    monkeypatch.setattr("gapbook.load.client.Client.resolved_command", lambda _: [])
    run = runs.store(tmp_path / runs.CHAPTER, runs.whole(1))

    def key(*boots: str) -> str:
        maker = cast(LoadMaker, _Maker(_hosts_of(run, *boots))) if boots else BESIDE_THE_SERVER
        return measurement_of(scenario(postgres()), blocks=1, choices={}, maker=maker).plan_key

    keys = [key(), key("a"), key("a", "b")]
    assert len(set(keys)) == 3
    # Which machines of one kind they are is no part of what is measured.
    assert key("c", "d") == keys[2]


class _Maker:
    """As far as a plan looks."""

    address = "10.0.0.1"

    def __init__(self, hosts: list[LoadHost]) -> None:
        self.hosts = hosts
