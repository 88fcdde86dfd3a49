"""What goes wrong on a reader's machine: each fault ends in one clear line, and nothing is left or lost."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from faults.belongings import command_line
from gapbook import cli
from gapbook.book.execute import execute_chapter
from gapbook.chapter import Chapter
from gapbook.deploy import warden
from gapbook.deploy.deployment import Deployment
from gapbook.deploy.on_demand import systems_on_demand
from gapbook.deploy.server import ServerChoice
from gapbook.deploy.stack import Stack, StackContext, stack_class
from gapbook.errors import ParameterError, RecordError, StackError
from gapbook.load.client import Client
from gapbook.model.event import Event
from gapbook.model.plan import PlannedTrial
from gapbook.paths import CHECKOUT
from gapbook.record.durability import Durability
from gapbook.record.run import find_run
from gapbook.trial.campaign import measurement_of
from gapbook.trial.contestant import Contestant
from gapbook.trial.scenario import Scenario
from gapbook.trial.trial import run_trial
from tests.bank import alphas, bank
from tests.processes import process_of
from tests.running import (
    BIN,
    CHAPTER,
    Running,
    environment_with,
    eventually,
    loading,
    mounted,
)

_POSTGRES = Contestant("postgres-rust", "postgres", "procedure", "direct", "rust", 1)
_SPACETIMEDB = Contestant("spacetimedb-rust", "spacetimedb", "reducer", "direct", "rust", 1)


_PARAMETERS: dict[str, Any] = {
    "source": "live",
    "alpha": 0.5,
    "connections": 4,
    "in_flight": 4,
    "window_s": 0.5,
    "warmup_s": 0.2,
    "blocks": 1,
    "attempts": 1,
    "kills": 0,
    "accounts": 1000,
    "seed": 1,
    "durability": "delayed(500 ms)",
    "contestants": "all",
    "servers": "",
}


# --- bad input, as the reader meets it --------------------------------------------------------
@dataclass(frozen=True)
class _Ended:
    code: int
    lines: list[str]


def _command(words: Sequence[str | Path], environment: Mapping[str, str | Path]) -> _Ended:
    """Run a command of the project in the checkout; what it wrote to standard error, line by line."""
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        cwd=CHECKOUT,
        env=environment_with(environment),
        timeout=120,
        check=False,
        encoding="utf-8",
    )
    return _Ended(done.returncode, done.stderr.splitlines())


_UNKNOWN_CHAPTER = f"chapter 'nochapter': unknown; allowed: {CHAPTER}, "
_REFUSED_INPUT = [
    (["nochapter"], _UNKNOWN_CHAPTER),
    ([CHAPTER, "-p", "aplha=1"], "parameter aplha: unknown; allowed: source, alpha, "),
    ([CHAPTER, "-p", "alpha=-1"], "parameter alpha: -1 is not allowed; allowed: a number from 0 to 5"),
    ([CHAPTER, "-p", "alpha=nan"], "parameter alpha: 'nan' is not allowed; allowed: "),
    ([CHAPTER, "-p", "connections=many"], "parameter connections: 'many' is not allowed; allowed: "),
    ([CHAPTER, "-p", "blocks=0"], "parameter blocks: 0 is not allowed; allowed: a whole number from 1"),
    ([CHAPTER, "-p", "accounts=1"], "parameter accounts: 1 is not allowed; allowed: a whole number from 2"),
    ([CHAPTER, "-p", "window_s=0"], "parameter window_s: 0 is not allowed; allowed: seconds from 0.5"),
    ([CHAPTER, "-p", "window_s"], "parameter 'window_s': not of the form name=value"),
    ([CHAPTER, "-p", "connections=1_0"], "parameter connections: '1_0' is not allowed; allowed: a whole"),
    ([CHAPTER, "-p", "servers=-0"], "parameter servers: '-0' is not allowed; allowed: STACK=BINARY, "),
    (
        [CHAPTER, "-p", "in_flight=16384", "-p", "connections=200"],
        "parameter in_flight: 16,384 on each of 200",
    ),
    ([CHAPTER, "-p", "durability=fast"], "parameter durability: 'fast' is not allowed; allowed: none, "),
]


@pytest.fixture(name="no_server")
def _no_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str | Path]]:
    """Folders in which no server could start (the message would be another one), and a check of it."""
    folders: dict[str, str | Path] = {"GAPBOOK_DATA": tmp_path / "absent", "GAPBOOK_RUNS": tmp_path / "runs"}
    for name, folder in folders.items():
        monkeypatch.setenv(name, str(folder))
    yield folders
    assert not (tmp_path / "absent").exists()
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(("words", "expected"), _REFUSED_INPUT)
@pytest.mark.usefixtures("no_server")
def test_bad_input_is_one_line_and_exit_code_2(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["run", *words]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"gapbook: {expected}")
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["nochapter"], _UNKNOWN_CHAPTER),
        # Known in the notebook only, so that this comes back from a kernel.
        ([CHAPTER, "-p", "contestants=mysql"], "contestants: 'mysql' is unknown; allowed: drizzle-rpc, "),
    ],
)
def test_bad_input_of_the_command_is_one_line_and_exit_code_2(
    words: list[str], expected: str, no_server: dict[str, str | Path]
) -> None:
    ended = _command([BIN / "gapbook", "run", *words], no_server)
    assert (ended.code, len(ended.lines)) == (2, 1), ended
    assert ended.lines[0].startswith(f"gapbook: {expected}")


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (
            {"source": "0123456789ab"},
            "source: no run '0123456789ab' of both-optimized; allowed: live, resume, session, ",
        ),
        (
            {"source": "../x"},
            "source: no run '../x' of both-optimized; allowed: live, resume, session, published",
        ),
        ({"source": "resume"}, "source: no interrupted run with these parameters in "),
        (
            {"servers": "mysql=http://127.0.0.1:1"},
            "servers: 'mysql' is for the system 'mysql', which no contestant has",
        ),
        ({"servers": "postgres=/absent"}, "servers: /absent is neither a server binary nor a URL"),
        (
            {"servers": "postgres@=x"},
            "servers: 'postgres@=x' is not of the form STACK=BINARY, STACK=URL or STACK@VERSION=BINARY",
        ),
        ({"contestants": "mysql"}, "contestants: 'mysql' is unknown; allowed: postgres-rust"),
    ],
)
@pytest.mark.usefixtures("no_server")
def test_bad_input_to_a_chapter_starts_no_server(changed: dict[str, Any], expected: str) -> None:
    chapter = Chapter(CHAPTER, {**_PARAMETERS, **changed})
    with pytest.raises((ParameterError, RecordError)) as caught:
        chapter.measure(_POSTGRES)
    assert str(caught.value).startswith(expected)
    assert "\n" not in str(caught.value)


def test_papermill_alone_ends_with_our_line(tmp_path: Path, no_server: dict[str, str | Path]) -> None:
    ended = _command(
        [
            *(BIN / "papermill", f"notebooks/{CHAPTER}.md", tmp_path / "out.ipynb"),
            *("-p", "alpha", "-1", "--no-progress-bar"),
        ],
        no_server,
    )
    assert ended.code != 0
    assert [line for line in ended.lines if line.strip()][-1] == (
        "ParameterError: parameter alpha: -1 is not allowed; "
        "allowed: a number from 0 to 5, or a list of different ones"
    )


# --- a missing toolchain ----------------------------------------------------------------------
@pytest.fixture(name="bare")
def _bare(tmp_path: Path) -> dict[str, str | Path]:
    """A machine without any tool on PATH, and an empty cache."""
    (tmp_path / "bin").mkdir()
    return {"PATH": tmp_path / "bin", "GAPBOOK_CACHE": tmp_path / "cache", "GAPBOOK_RUNS": tmp_path / "runs"}


def test_doctor_names_each_missing_tool_and_how_to_get_it(bare: dict[str, str | Path]) -> None:
    done = subprocess.run(
        [BIN / "gapbook", "doctor"],
        capture_output=True,
        text=True,
        env=environment_with(bare),
        timeout=60,
        check=False,
        encoding="utf-8",
    )
    missing = [line for line in done.stdout.splitlines() if line.startswith("  MISSING")]
    assert done.returncode == 1
    assert done.stderr == ""
    assert [line.split(":")[0] for line in missing] == [
        "  MISSING  cargo",
        "  MISSING  C compiler",
        "  MISSING  Rust clients",
        "  MISSING  server of plant",
        "  MISSING  server of spacetimedb",
    ]
    assert "https://rustup.rs" in missing[0]
    assert "apt-get install gcc" in missing[1]
    assert all("make setup" in line for line in missing[2:4])
    assert "run: gapbook setup CHAPTER" in missing[4]
    optional = {
        name.removeprefix("  optional "): how
        for name, _, how in (line.partition(": ") for line in done.stdout.splitlines())
        if name.startswith("  optional ")
    }
    on_demand = {f"server of {name}" for name in systems_on_demand()}
    # Its packages lie in the checkout, where another run may have installed them.
    on_demand.discard("server of payload")
    assert len(on_demand) > 3
    assert all("gapbook setup" in optional[name] for name in on_demand)
    assert "disks whose power can be cut" in optional
    assert "gapbook setup" in optional["server of spacetimedb 1.2.0"]
    assert "servers=spacetimedb@2.8.3=" in optional["server of spacetimedb 2.8.3"]
    assert "make setup fetches it (unverified" in optional["server of spacetimedb 2.10.1"]
    assert "npm install --global bun" in optional["bun, for Bun server of postgres"]
    assert done.stdout.splitlines()[-1] == "5 missing"


def test_setup_without_a_toolchain_names_it_and_builds_nothing(bare: dict[str, str | Path]) -> None:
    ended = _command([BIN / "gapbook", "setup"], bare)
    assert ended.code == 2
    cargo, compiler = ended.lines
    assert cargo.startswith("gapbook: cargo is missing; install it: ")
    assert "rustup.rs" in cargo
    assert compiler.startswith("gapbook: cc is missing; install it: ")
    assert not list(Path(bare["GAPBOOK_CACHE"]).glob("build/*"))


def test_run_without_a_server_names_the_command_that_installs_it(bare: dict[str, str | Path]) -> None:
    ended = _command([BIN / "gapbook", "run", CHAPTER, "-p", "contestants=spacetimedb-rust"], bare)
    assert (ended.code, len(ended.lines)) == (2, 1), ended
    assert "spacetimedb-standalone is missing; run: gapbook setup CHAPTER" in ended.lines[0]


_LAST_WORDS = """# Last words

```{code-cell}
import atexit
import os

said = atexit.register(os.write, 2, b"threads race for sockets")
```
"""


def test_what_a_kernel_says_as_it_exits_reaches_no_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notebooks").mkdir()
    header = (CHECKOUT / "notebooks" / f"{CHAPTER}.md").read_text(encoding="utf-8").split("---\n")[1]
    (tmp_path / "notebooks" / "last-words.md").write_text(
        f"---\n{header}---\n\n{_LAST_WORDS}", encoding="utf-8"
    )
    for module in ("gapbook.notebook_text", "gapbook.book.chapters"):
        monkeypatch.setattr(f"{module}.NOTEBOOKS", tmp_path / "notebooks")
    executed = execute_chapter("last-words", {}, folder=tmp_path)
    assert [
        cell["execution_count"] for cell in json.loads(executed.read_text(encoding="utf-8"))["cells"][1:]
    ] == [1]
    assert "race" not in capfd.readouterr().err


# --- faults inside a trial --------------------------------------------------------------------
def _scenario(*contestants: Contestant, **changed: Any) -> Scenario:
    return Scenario(
        **{
            "chapter": "faults",
            "contestants": contestants,
            "workload": bank(1000),
            "treatment": alphas(0.5),
            "connections": 4,
            "window_s": 0.5,
            "warmup_s": 0.2,
            "durability": Durability("delayed", 500.0),
            "seed": 1,
            "drain_s": 1.0,
            "request_timeout_s": 2.0,
            **changed,
        }
    )


def _trial(contestant: Contestant, stack: Stack, deployment: Deployment, **changed: Any) -> dict[str, Any]:
    row = run_trial(
        PlannedTrial(0, 0, contestant.name, 0.5, 7),
        _scenario(contestant, **changed),
        stack,
        deployment=deployment,
        tables=deployment.directory,
        ceiling_per_s=None,
    )
    return row.columns()


def _require_measured(row: Mapping[str, Any]) -> None:
    """The trial was run and audited; a noisy machine may still refuse it."""
    passed = {gate["name"]: gate["passed"] for gate in row["gates"]}
    assert passed.get("reconciled"), row["refused_because"]
    assert row["acknowledged"] == row["committed"] > 0


def _kill_in_the_window(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kill the stack's server by SIGKILL as soon as a client says that its window has begun."""
    told = stack.on_event

    def on_event(event: Event) -> None:
        told(event)
        if event.name == "window_start":
            os.kill(process_of(stack).pid, signal.SIGKILL)  # seeding may have started another

    monkeypatch.setattr(stack, "on_event", on_event)


@pytest.mark.parametrize(
    ("contestant", "fixture"), [(_POSTGRES, "postgres_stack"), (_SPACETIMEDB, "spacetimedb_stack")]
)
def test_server_killed_in_a_window_is_a_refused_trial_and_the_next_is_measured(
    contestant: Contestant,
    fixture: str,
    deployment: Deployment,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stack: Stack = request.getfixturevalue(fixture)
    victim = process_of(stack).pid
    assert (victim in _makers_of_shared_memory()) == (stack.name == "postgres")
    with monkeypatch.context() as patched:
        _kill_in_the_window(stack, patched)
        row = _trial(contestant, stack, deployment, window_s=3.0)
    assert not row["valid"]
    assert row["refused_because"].startswith(f"{contestant.system} ended with code -9"), row[
        "refused_because"
    ]
    assert "\n" not in row["refused_because"]
    assert eventually(lambda: not _not_led(deployment))  # a server may make a process at any moment
    assert victim not in _makers_of_shared_memory()
    _require_measured(_trial(contestant, stack, deployment))


def _not_led(deployment: Deployment) -> set[int]:
    """Processes of a deployment that descend from none that it started."""
    everybody = warden.processes_of(deployment.token, deployment.directory)
    roots = [process.pid for process in deployment._processes]
    return everybody.keys() - {*roots, *warden.descendants(roots)}


def _makers_of_shared_memory() -> set[int]:
    """The processes that made the System V shared memory of this machine."""
    return {
        int(line.split()[4])
        for line in Path("/proc/sysvipc/shm").read_text(encoding="utf-8").splitlines()[1:]
    }


@dataclass(frozen=True)
class _Faulty(Contestant):
    """A contestant whose load client is a program of the test."""

    program: str = ""

    @property
    def load_client(self) -> Client:
        return Client(
            folder=Path(self.program).parent,
            language="rust",
            protocols=("postgres",),
            workloads=("*",),
            command=(self.program,),
        )


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("exit 1", "client faulty: ended with code 1"),
        (
            'cat >/dev/null; echo \'{"event":"error","message":"no route"}\' >&2; exit 3',
            "client faulty: ended with code 3: no route",
        ),
        ("cat >/dev/null; echo nonsense", "client faulty: its report is not JSON (Expecting value"),
        (
            "cat >/dev/null; echo '{\"contract\":1}'",
            "client faulty: its report is not of contract 2",
        ),
        (
            "cat >/dev/null; echo '{\"contract\":2}'",
            "client faulty: its report is not as the contract has it: 'client' is a required property",
        ),
        # The child holds the pipes of its parent open.
        ("sleep 600 & cat >/dev/null; sleep 600", "client faulty: hung and was ended after "),
        ("exec 1>&- 2>&-; sleep 600", "client faulty: hung and was ended after "),
    ],
)
def test_client_that_fails_is_a_refused_trial_with_its_reason(
    script: str,
    says: str,
    postgres_stack: Stack,
    deployment: Deployment,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = tmp_path / "faulty"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr("gapbook.load.client._GRACE_S", 0.5)
    contestant = _Faulty("postgres-rust", "postgres", "procedure", "direct", "rust", 1, program=str(program))
    row = _trial(contestant, postgres_stack, deployment)
    assert not row["valid"]
    assert row["refused_because"].startswith(says)
    assert "\n" not in row["refused_because"]
    assert not [pid for pid in warden.descendants([os.getpid()]) if command_line(pid)[:1] == [b"sleep"]]


def test_trial_after_a_failed_client_is_measured(postgres_stack: Stack, deployment: Deployment) -> None:
    _require_measured(_trial(_POSTGRES, postgres_stack, deployment))


# --- ports and disks --------------------------------------------------------------------------
def test_taken_port_is_refused_by_name(postgres_stack: Stack, deployment: Deployment) -> None:
    port = postgres_stack.endpoint()["port"]
    context = StackContext(deployment, Durability("delayed", 500.0), ServerChoice(port=port))
    taken = stack_class("postgres")(context)
    with pytest.raises(
        StackError, match=rf"postgres: port {port} of 127\.0\.0\.1 cannot be used .*; name another"
    ):
        taken.start()
    taken.stop()


@contextlib.contextmanager
def _small_disk(folder: Path, size: str) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    with mounted("tmpfs", f"size={size},mode=755", folder):
        yield folder


def _fill(disk: Path, leave_bytes: int) -> Path:
    filler = disk / "filler"
    free = os.statvfs(disk)
    try:
        filler.write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - leave_bytes)))
    except OSError as error:
        # A server took some of the room meanwhile: the disk is full, as it is to be.
        if error.errno != errno.ENOSPC:
            raise
    return filler


def test_full_disk_under_the_runs_keeps_what_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _small_disk(tmp_path / "disk", "4m") as disk:
        monkeypatch.setenv("GAPBOOK_RUNS", str(disk / "runs"))
        scenario, said = _scenario(_POSTGRES), list[str]()
        filler = disk / "filler"

        def say(line: str) -> None:
            said.append(line)
            if line.startswith("trial 2/"):
                _fill(disk, leave_bytes=0)

        with pytest.raises(
            RecordError, match=r"No space left on device\); trials finished so far are kept"
        ) as caught:
            measurement_of(scenario, blocks=4, choices={}, say=say).run("live")
        assert "\n" not in str(caught.value)
        filler.unlink()
        said.clear()
        run = measurement_of(scenario, blocks=4, choices={}, say=say).run("resume")
        assert [line.split(",")[0] for line in said[1:]] == ["trial 3/4", "trial 4/4"]
        assert run.trials["trial"].to_list() == [0, 1, 2, 3]


def _promising_nothing() -> Scenario:
    """Of servers on the small disk, which is memory: no other class is allowed there."""
    return replace(_scenario(_POSTGRES), durability=Durability("none"))


def test_full_disk_under_the_servers_is_a_refused_trial_and_the_next_is_measured(
    data_folder: Path, runs_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _small_disk(data_folder / "disk", "400m") as disk:
        monkeypatch.setenv("GAPBOOK_DATA", str(disk))

        def say(line: str) -> None:
            if line.startswith("trial 1/"):
                _fill(disk, leave_bytes=0)
            if line.startswith("trial 2/"):
                (disk / "filler").unlink()

        run = measurement_of(_promising_nothing(), blocks=3, choices={}, say=say).run("live")
        refused = run.trials.row(1, named=True)
        assert not refused["valid"]
        assert "No space left on device" in refused["refused_because"]
        for number in (0, 2):
            row = run.trials.row(number, named=True)
            _require_measured({**row, "gates": json.loads(row["gates"])})
        assert not list(disk.iterdir())
    assert run.folder.parent.parent == runs_folder


def test_disk_too_small_for_the_servers_is_one_line(
    data_folder: Path, runs_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _small_disk(data_folder / "disk", "1m") as disk:
        monkeypatch.setenv("GAPBOOK_DATA", str(disk))
        with pytest.raises(StackError, match="No space left on device") as caught:
            measurement_of(_promising_nothing(), blocks=1, choices={}, say=lambda _: None).run("live")
        assert "\n" not in str(caught.value)
        assert not list(disk.iterdir())
    assert not list(runs_folder.glob("*/*"))


# --- interrupts and kills ---------------------------------------------------------------------
@pytest.fixture(name="started")
def _started() -> Iterator[list[Running]]:
    started: list[Running] = []
    yield started
    for running in started:
        running.popen.kill()
        running.popen.communicate()
        warden.end_processes(running.alive(), signal.SIGKILL)


def test_run_ended_in_every_way_loses_no_trial_and_leaves_nothing(
    data_folder: Path, runs_folder: Path, started: list[Running]
) -> None:
    def start(source: str) -> Running:
        started.append(Running.chapter(data_folder, runs_folder, source))
        return started[-1]

    def measured(running: Running, more_than: int) -> Callable[[], bool]:
        def enough() -> bool:
            assert running.popen.poll() is None, running.popen.communicate()
            return len(running.trials()) > more_than and loading(running)

        return enough

    interrupted = "gapbook: interrupted; trials finished so far are kept (-p source=resume)"

    # Ctrl-C while servers start: nothing was measured, so nothing is in the way of a new run.
    running = start("live")
    assert eventually(lambda: any(data_folder.glob("gapbook-*/postgres-*")), 180)
    assert running.end(signal.SIGINT) == (130, interrupted)
    assert not running.trials()

    # Ctrl-C in a trial.
    running = start("live")
    assert eventually(measured(running, 0), 180)
    assert running.end(signal.SIGINT) == (130, interrupted)
    kept = running.trials()
    assert kept

    # The kernel is killed while servers are busy.
    running = start("resume")
    assert eventually(measured(running, len(kept)), 180)
    code, line = running.end(signal.SIGKILL, running.kernel())
    assert code == 2
    assert line.startswith(
        f"gapbook: chapter {CHAPTER}: its kernel was ended from outside by signal 9 (SIGKILL"
    )
    assert running.errors.splitlines() == [line]
    assert kept.items() < running.trials().items()
    kept = running.trials()

    # The command itself is killed.
    running = start("resume")
    assert eventually(measured(running, len(kept)), 180)
    assert running.end(signal.SIGKILL)[0] == -signal.SIGKILL
    assert kept.items() < running.trials().items()
    kept = running.trials()

    # What is left of the plan is measured, and nothing else.
    running = start("resume")
    _, errors = running.popen.communicate(timeout=180)
    assert running.popen.returncode in {0, 3}, errors
    assert running.nothing_left()
    (folder,) = (runs_folder / CHAPTER).iterdir()
    run = find_run(CHAPTER, folder.name)
    assert run.trials["trial"].to_list() == list(range(8))
    assert [
        (row["trial"], row["block"], row["contestant"], row["treatment"], row["work_seed"])
        for row in run.trials.iter_rows(named=True)
    ] == run.manifest.trials
    began = dict(run.trials.select(pl.col("trial"), pl.col("started_unix_s")).iter_rows())
    assert {name: began[int(name[6:11])] for name in kept} == kept
    assert len(run.manifest.resumed_unix_s) == 3
    for row in run.trials.iter_rows(named=True):
        _require_measured({**row, "gates": json.loads(row["gates"])})


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_ended_setup_leaves_no_compiler_behind(
    number: int,
    code: int,
    tmp_path: Path,
    data_folder: Path,
    started: list[Running],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    works, compiles = "#!/bin/sh\n", "[ $1 = --version ] && exit\n/bin/sleep 600 &\n/bin/sleep 600\n"
    for name, script in (("cargo", works + compiles), ("rustc", works), ("cc", works)):
        (tools / name).write_text(script, encoding="utf-8")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tools))
    # Where a release host is reached, a server comes ready made: there is nobody behind this proxy.
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("GAPBOOK_CACHE", str(tmp_path / "cache"))
    setup = Running(data_folder, tmp_path / "runs", "setup")
    started.append(setup)
    assert eventually(
        lambda: sum(command_line(pid)[:1] == [b"/bin/sleep"] for pid in setup.alive()) == 4, 180
    )
    found, line = setup.end(number)
    assert found == code
    assert (line.startswith("gapbook: interrupted")) == (number == signal.SIGINT)
