"""The command line: run a chapter or a campaign of all, build the book, set up, see what is missing.

A command imports what it needs when it runs: help, and what is refused, load no library.
"""

from __future__ import annotations

import argparse
import errno
import json
import logging
import os
import re
import signal
import sys
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import TextIOBase
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn, TextIO

from gapbook.book.chapters import chapters, require_chapter, require_executable, words_of_code
from gapbook.book.completion import (
    answer_the_shell,
    completed_by,
    names_of_chapters,
    names_of_parameters,
    names_of_plans,
    names_of_runs,
)
from gapbook.book.on_demand import install_on_demand
from gapbook.book.plans import planned_chapters, published_plans
from gapbook.book.stated import stated
from gapbook.book.whole_run import last_whole_run
from gapbook.deploy.on_demand import systems_here
from gapbook.errors import GapbookError, ParameterError, SessionsLeftError, cut, nearest
from gapbook.parameters import MEASURING, parse_assignment
from gapbook.paths import build_directory, runs_directory
from gapbook.streams import speak_in_what_streams_know
from gapbook.trial.load_hosts.named import LOAD_FROM
from gapbook.trial.scheduler_address import require_scheduler_address
from gapbook.writing import refused_writing, require_writable

if TYPE_CHECKING:
    from gapbook.trial.asked import Asked

__all__ = ["main"]

_ENDING_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
_REFUSED, _MOSTLY_REFUSED, _ENDED_BY_SIGNAL = 2, 3, 128
_TIME = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?")

# Jupyter's path library warns where no session directory exists; it then takes another and all is well.
warnings.filterwarnings("ignore", module="platformdirs")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code: 0 done, 1 something is missing (doctor), 2 refused or failed
    with one line, 3 done but most trials were refused, 128 + n ended by signal n."""
    _reopen_closed_streams()
    speak_in_what_streams_know()
    with redirect_stdout(_Heard(sys.stdout)), redirect_stderr(_Heard(sys.stderr)):
        return _main(arguments)


def _main(arguments: Sequence[str] | None) -> int:
    try:
        parser = _parser()
        answer_the_shell(parser)
        chosen = parser.parse_args(arguments)
    except GapbookError as error:
        # Help names what declarations hold: one that is not as it must be stops every command.
        print(f"gapbook: {error}", file=sys.stderr)
        return _REFUSED
    before = {number: signal.signal(number, _end) for number in _ENDING_SIGNALS}
    try:
        return int(chosen.command(chosen) or 0)
    except GapbookError as error:
        print(f"gapbook: {error}", file=sys.stderr)
        return _REFUSED
    except OSError as error:
        line = refused_writing(str(error))
        if line is None:
            raise
        print(f"gapbook: {line}", file=sys.stderr)
        return _REFUSED
    except KeyboardInterrupt as interrupt:
        # The kernel ends with us: that a task of ours noticed its end is no news to the reader.
        logging.getLogger("asyncio").disabled = True
        print(f"gapbook: interrupted; {chosen.kept}", file=sys.stderr)
        ended_by = interrupt.number if isinstance(interrupt, _EndedError) else int(signal.SIGINT)
        return _ENDED_BY_SIGNAL + ended_by
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _EndedError(KeyboardInterrupt):
    """Another signal that ends the command, with everything that is done at an interrupt."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def _end(number: int, _frame: FrameType | None) -> None:
    for other in _ENDING_SIGNALS:
        signal.signal(other, signal.SIG_IGN)
    raise _EndedError(number)


class _Heard(TextIOBase):
    """An output whose reader may leave (``| head -1``, a terminal that closes): the command goes on unheard."""

    _LEFT = frozenset({errno.EPIPE, errno.EIO})

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def fileno(self) -> int:
        return self._stream.fileno()

    def write(self, text: str) -> int:
        with self._unheard():
            self._stream.write(text)
            self._stream.flush()
        return len(text)

    def flush(self) -> None:
        with self._unheard():
            self._stream.flush()

    @contextmanager
    def _unheard(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno not in self._LEFT:
                raise
            # Nowhere, also for what the interpreter writes as it exits.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)


def _reopen_closed_streams() -> None:
    """Let a standard stream that was closed to us lead nowhere; else the next file opened took its place."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # Gets the lowest number that is free, and is passed on to what we start, as a standard stream is.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            setattr(
                sys, name, os.fdopen(number, "r" if number == 0 else "w", closefd=False, encoding="utf-8")
            )


class _Parser(argparse.ArgumentParser):
    """Tells the nearest of the words that it would have taken."""

    _CHOICE = re.compile(r"invalid choice: '(.*)' \(choose from (.*)\)$")

    def error(self, message: str) -> NoReturn:
        if said := self._CHOICE.search(message):
            message += nearest(said[1], re.findall(r"[\w-]+", said[2]))
        super().error(message)


class _RunHelp(argparse.Action):
    """Adds the parameters of chapters as tables, or those of the one that was named before."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, *_: object
    ) -> NoReturn:
        from gapbook.book.run_help import parameters_help

        print(f"{parser.format_help()}\n{parameters_help(namespace.chapter)}")
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="gapbook", description=__doc__)
    parser.set_defaults(kept="what is done is kept; give the same command again to go on")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="execute a chapter live and render its page", add_help=False)
    run.add_argument(
        "-h",
        "--help",
        action=_RunHelp,
        nargs=0,
        help="this, or the parameters of a chapter that is named before",
    )
    chapter = run.add_argument("chapter", help=f"one of: {', '.join(chapters())}")
    completed_by(names_of_chapters, chapter)
    assignment = run.add_argument(
        "-p",
        dest="assignments",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a parameter of the chapter, as often as there are; of one that is given twice the last counts",
    )
    completed_by(names_of_parameters, assignment)
    run.add_argument(
        "--load-from",
        metavar="ADDRESS",
        help="of a Dask scheduler: each load comes from all machines that run `gapbook load-host ADDRESS`",
    )
    run.add_argument("--no-page", action="store_true", help="measure only, do not render the book")
    run.set_defaults(command=_run, kept="trials finished so far are kept (-p source=resume)")

    campaign = commands.add_parser(
        "campaign",
        help="measure published plans anew, a session of each chapter in turn, from where it was left",
    )
    plans = campaign.add_argument(
        "chapters",
        nargs="*",
        metavar="CHAPTER",
        help=f"those that have a plan: {', '.join(planned_chapters())}; all of them where none is named",
    )
    completed_by(names_of_plans, plans)
    campaign.add_argument(
        "--show", action="store_true", help="say what is left and how long it takes, no more"
    )
    campaign.add_argument(
        "--headlines",
        action="store_true",
        help="only what first screens compare and what takes their gaps apart, as `gapbook run` measures by itself: for "
        "one more machine, whose runs stand beside the published ones",
    )
    campaign.add_argument(
        "--budget",
        type=_seconds,
        metavar="TIME",
        help="as 2h or 90m: end in that time, the chapters first whose intervals are widest for what a session takes",
    )
    campaign.add_argument(
        "--on",
        metavar="ADDRESS",
        help="of a Dask scheduler: each session on a machine that runs `gapbook worker ADDRESS`, as tcp://10.0.0.1:8786",
    )
    campaign.set_defaults(command=_campaign)

    worker = commands.add_parser(
        "worker", help="measure sessions on this machine for the campaigns that a scheduler is given"
    )
    worker.add_argument("address", metavar="ADDRESS", help="of the Dask scheduler, as tcp://10.0.0.1:8786")
    worker.set_defaults(command=_worker)

    load_host = commands.add_parser(
        "load-host",
        help="make load on this machine for the runs that a scheduler is named in (run --load-from)",
    )
    load_host.add_argument("address", metavar="ADDRESS", help="of the Dask scheduler, as tcp://10.0.0.1:8786")
    load_host.set_defaults(command=_load_host)

    book = commands.add_parser("book", help="build the published book from stored runs (no server)")
    book.add_argument("--timings", action="store_true", help="say what each part of it took")
    book.set_defaults(command=lambda chosen: _build_book(tell=chosen.timings))

    stored = commands.add_parser(
        "runs", help="the stored runs: published ones, and yours; or what running again takes"
    )
    of_chapter = stored.add_argument("chapter", nargs="?", metavar="CHAPTER", help="of this chapter alone")
    completed_by(names_of_chapters, of_chapter)
    stored.add_argument(
        "--again", action="store_true", help="what it takes to make chapters again: trials, time, systems"
    )
    stored.add_argument("--json", action="store_true", help="the same as JSON")
    stored.set_defaults(command=_runs)

    compare = commands.add_parser(
        "compare", help="lay a run beside the published one of its chapter, or another"
    )
    yours = compare.add_argument(
        "yours",
        metavar="RUN",
        help="a folder, the id of a stored run, a chapter, or a file that --export wrote",
    )
    ours = compare.add_argument(
        "ours",
        metavar="RUN",
        nargs="?",
        help="what to lay it beside: the published run of its chapter, else this",
    )
    for one in (yours, ours):
        completed_by(names_of_runs, one)
    compare.add_argument("--json", action="store_true", help="all of it as JSON")
    compare.add_argument(
        "--export",
        action="store_true",
        help="write the run in small, for the book's page Compare or somebody else",
    )
    compare.set_defaults(command=_compare)

    claims = commands.add_parser("claims", help="published claims with these words, each with its verdict")
    claims.add_argument("words", nargs="*", metavar="WORDS", help="as on the page: 70x, 12 MB, payload")
    for name in ("source", "system", "verdict", "evidence"):
        claims.add_argument(f"--{name}", help=f"only those of this {name}")
    claims.add_argument("--json", action="store_true", help="as data (schemas/register.schema.json)")
    claims.set_defaults(command=_claims)

    known = commands.add_parser("systems", help="every system: versions, access levels, tiers, clients")
    known.add_argument("--json", action="store_true", help="as data")
    known.set_defaults(command=_systems)

    cite = commands.add_parser("cite", help="how to cite a number of the book, in each form")
    cite.add_argument("number", metavar="ID", help="what its address ends with, as fair-both-wait-busy")
    cite.set_defaults(command=lambda chosen: _cite(chosen.number))

    explain = commands.add_parser(
        "explain", help="from a number to its trials, columns, formula and function"
    )
    explain.add_argument("number", metavar="ID", help="what its address ends with, as fair-both-wait-busy")
    explain.add_argument("--json", action="store_true", help="the same as JSON")
    explain.set_defaults(command=_explain)

    check = commands.add_parser(
        "check",
        help="read all declarations, and say what is wrong in them; or check a run that is to be given",
    )
    checked = check.add_argument("run", metavar="RUN", nargs="?", help="a folder, or the id of a stored run")
    completed_by(names_of_runs, checked)
    check.set_defaults(command=lambda chosen: _check() if chosen.run is None else _check_run(chosen.run))

    submit = commands.add_parser(
        "submit", help="put a run of yours where a pull request gives it to the book"
    )
    completed_by(
        names_of_runs, submit.add_argument("run", metavar="RUN", help="a folder, or the id of a run")
    )
    submit.add_argument("--machine", required=True, metavar="WORDS", help="what it ran on, in a line")
    submit.add_argument("--by", default="", metavar="NAME", help="as you wish to be named; nobody without it")
    submit.set_defaults(command=_submit)

    install = commands.add_parser(
        "setup", help="build clients, install servers: the usual, or those of a chapter"
    )
    for_chapter = install.add_argument(
        "chapter", nargs="?", metavar="CHAPTER", help=f"one of: {', '.join(chapters())}"
    )
    completed_by(names_of_chapters, for_chapter)
    install.add_argument(
        "--all",
        action="store_true",
        help="every system in all its versions, those that compile for minutes too",
    )
    install.add_argument("--book", action="store_true", help="build the published book meanwhile")
    install.add_argument(
        "--every-version", action="store_true", help="each server in all its versions, as tests need them"
    )
    install.set_defaults(command=_set_up)
    commands.add_parser("doctor", help="what is here, what is missing, how to get it").set_defaults(
        command=lambda chosen: _doctor()
    )
    return parser


def _seconds(text: str) -> float:
    """A length of time as it is typed: ``2h``, ``90m``, ``1h30m``."""
    found = _TIME.fullmatch(text)
    seconds = (
        sum(float(part or 0) * unit for part, unit in zip(found.groups(), (3600, 60), strict=True))
        if found
        else 0
    )
    if seconds <= 0:
        raise argparse.ArgumentTypeError(f"{cut(repr(text))} is no length of time; allowed: 2h, 90m, 1h30m")
    return seconds


def _run(chosen: argparse.Namespace) -> int:
    parameters = {"source": "live", **dict(parse_assignment(text) for text in chosen.assignments)}
    require_executable(chosen.chapter, parameters)
    require_writable(build_directory(), "GAPBOOK_BUILD")
    if chosen.load_from is not None:
        if parameters["source"] not in MEASURING:
            raise ParameterError("load-from: a stored run is read and loads nothing; leave it out")
        require_scheduler_address(chosen.load_from)
        os.environ[LOAD_FROM] = chosen.load_from
    if parameters["source"] in MEASURING:
        require_writable(runs_directory(), "GAPBOOK_RUNS")
        # Before minutes of installation, as before the kernel.
        asked = stated(chosen.chapter, parameters)
        install_on_demand(chosen.chapter)
        if asked is not None and parameters["source"] == "live":
            print(_expected(asked), flush=True)

    from gapbook.book import build
    from gapbook.book.execute import execute_chapter
    from gapbook.pages.refused import mostly_refused

    with build.own_build() as folder:
        try:
            executed = execute_chapter(chosen.chapter, parameters, folder=folder / "executed", say=print)
        except SessionsLeftError as done:
            print(f"gapbook: {done}")
            return 0
        print(f"executed notebook: {executed}")
        if not chosen.no_page:
            _say_page(build.build_with(chosen.chapter, executed, folder))
    if parameters["source"] not in MEASURING:
        return 0
    runs = build.runs_shown(chosen.chapter, executed)
    for run in runs:
        print(f"run: {run.run_id}\nbeside the published one: gapbook compare {run.run_id}")
    lines = [line for run in runs if (line := mostly_refused(run))]
    for line in lines:
        print(f"gapbook: {line}", file=sys.stderr)
    return _MOSTLY_REFUSED if lines else 0


def _expected(asked: Asked) -> str:
    """How many trials a run has, and how long it takes, where a published run tells it."""
    from gapbook.book.expected import duration_words, seconds_asked_for

    line = f"{asked.chapter}: {len(asked.plan())} trials"
    seconds = seconds_asked_for(asked)
    if seconds is None:
        return f"{line}; nobody has published a run of it that would tell how long they take"
    return f"{line}, about {duration_words(seconds)}; longer where trials are refused and tried again"


def _campaign(chosen: argparse.Namespace) -> int:
    _require_no_option_ignored(chosen)
    plans = published_plans(chosen.chapters)
    if chosen.headlines:
        plans = [plan.headline for plan in plans]
    if not chosen.show:
        require_writable(build_directory(), "GAPBOOK_BUILD")
        require_writable(runs_directory(), "GAPBOOK_RUNS")

    from gapbook.book.campaign import Campaign
    from gapbook.pages.refused import mostly_refused

    campaign = Campaign(plans)
    if chosen.show:
        from gapbook.book.time_spent import time_table

        print(
            "\n".join(
                [*campaign.lines(), "", "Where the published runs spent their time:", *time_table(plans)]
            )
        )
        return 0
    if chosen.on is None:
        failed = campaign.run(chosen.budget)
    else:
        from gapbook.hosts.cluster import cluster

        with cluster(chosen.on) as hosts:
            failed = campaign.run_on(hosts)
    runs = [run for plan in plans for run in campaign.finished(plan).values()]
    lines = [f"{run.manifest.chapter}: {line}" for run in runs if (line := mostly_refused(run))]
    if failed:
        lines.append(f"no run of {', '.join(failed)}; what is done is kept, give the same command again")
    for line in lines:
        print(f"gapbook: campaign: {line}", file=sys.stderr)
    return _REFUSED if failed else _MOSTLY_REFUSED if lines else 0


def _require_no_option_ignored(chosen: argparse.Namespace) -> None:
    """Raises ParameterError for options of a campaign of which one would be ignored, and for an address that is none."""
    if chosen.on is not None and chosen.budget is not None:
        raise ParameterError("campaign: --budget is for one machine; leave it out, or --on")
    for option, value in (("--budget", chosen.budget), ("--on", chosen.on)):
        if chosen.show and value is not None:
            raise ParameterError(f"campaign: --show measures nothing; leave it out, or {option}")
    if chosen.on is not None:
        require_scheduler_address(chosen.on)


def _worker(chosen: argparse.Namespace) -> None:
    require_scheduler_address(chosen.address)
    require_writable(build_directory(), "GAPBOOK_BUILD")

    from gapbook.hosts.worker import serve

    serve(chosen.address)


def _load_host(chosen: argparse.Namespace) -> None:
    require_scheduler_address(chosen.address)

    from gapbook.hosts.load_host import serve_load

    serve_load(chosen.address)


def _build_book(*, tell: bool) -> None:
    require_writable(build_directory(), "GAPBOOK_BUILD")

    from gapbook.book.build import build_published
    from gapbook.book.timings import Timings

    timings = Timings()
    with timings.of("the whole book"):
        page = build_published(timings)
    if tell:
        print(timings.table())
    _say_page(page)


def _runs(chosen: argparse.Namespace) -> None:
    if chosen.chapter is not None:
        require_chapter(chosen.chapter)

    if chosen.again:
        from gapbook.book.again import again, again_json, again_lines

        rows = again([] if chosen.chapter is None else [chosen.chapter])
        print(again_json(rows) if chosen.json else "\n".join(again_lines(rows)))
        return

    from gapbook.pages.run_list import run_list_json, run_list_lines, stored_runs

    found = stored_runs(chapters() if chosen.chapter is None else [chosen.chapter])
    print(run_list_json(found) if chosen.json else "\n".join(run_list_lines(found)))


def _compare(chosen: argparse.Namespace) -> None:
    if chosen.export and chosen.ours is not None:
        raise ParameterError(
            f"compare: --export writes one run; leave it out, or {cut(repr(chosen.ours))} beside it"
        )

    from gapbook.method.named import named_summary, published_counterpart
    from gapbook.method.spread import compared_as_usual
    from gapbook.method.summary import written
    from gapbook.pages.comparison import comparison_json, comparison_lines

    yours = named_summary(chosen.yours)
    if chosen.export:
        print(written(yours))
        return
    ours = published_counterpart(yours) if chosen.ours is None else named_summary(chosen.ours)
    found = compared_as_usual(yours, ours)
    print(comparison_json(found) if chosen.json else "\n".join(comparison_lines(found)))


def _claims(chosen: argparse.Namespace) -> None:
    from gapbook.book.register import register
    from gapbook.claims.entries import as_json
    from gapbook.claims.look_up import CHOICES, as_lines, looked_up

    known = register()
    narrowed = {name: value for name in CHOICES if (value := getattr(chosen, name)) is not None}
    hits = looked_up(" ".join(chosen.words), narrowed, known)
    print(as_json(hits) if chosen.json else as_lines(hits, len(known)))


def _systems(chosen: argparse.Namespace) -> None:
    from gapbook.book.systems import as_json, as_lines, systems

    print((as_json if chosen.json else as_lines)(systems()))


def _cite(identifier: str) -> None:
    from gapbook.book.numbers import citable, known_number
    from gapbook.pages.short_citation import number_citation

    for form, text in number_citation(citable(identifier, known_number(identifier))).items():
        print(f"{form}:\n{text}\n")


def _explain(chosen: argparse.Namespace) -> None:
    from gapbook.book.explain import explained, explained_as_data

    if chosen.json:
        print(json.dumps(explained_as_data(chosen.number), indent=1, ensure_ascii=False))
        return
    for line in explained(chosen.number):
        print(line)


def _check_run(name: str) -> int:
    from gapbook.book.submission import checked_run

    _, found = checked_run(name)
    print("\n".join(map(str, found)))
    return _REFUSED if any(one.holds is False for one in found) else 0


def _submit(chosen: argparse.Namespace) -> int:
    from gapbook.book.submission import checked_run, submitted

    run, found = checked_run(chosen.run)
    if wrong := [one for one in found if one.holds is False]:
        print("\n".join(map(str, wrong)), file=sys.stderr)
        return _REFUSED
    folder = submitted(run, machine=chosen.machine, by=chosen.by)
    print(
        f"in {folder}; its entry is the last of results/machines.toml: commit both, and open a pull request"
    )
    return 0


def _check() -> int:
    from gapbook.book.check import checked

    count, wrong = checked()
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong:
        return _REFUSED
    print(f"{count} declarations are as they must be")
    return 0


def _set_up(chosen: argparse.Namespace) -> None:
    from gapbook.deploy import setup

    named: Collection[str] | None = None
    if chosen.all and chosen.chapter is not None:
        raise ParameterError(
            f"setup: --all installs for every chapter; leave it out, or {cut(repr(chosen.chapter))}"
        )
    if chosen.all:
        named = systems_here()
    elif chosen.chapter is not None:
        require_chapter(chosen.chapter)
        named = words_of_code(chosen.chapter)
    every_version = chosen.all or chosen.every_version
    setup.set_up(_show_book if chosen.book else lambda: None, named=named, every_version=every_version)


def _show_book() -> None:
    """Something to read while servers compile; that it cannot be built is no reason not to set up."""
    from gapbook.book import build
    from gapbook.book.timings import Timings

    built_before = build.published_page()
    if built_before is not None:
        print(f"the published book, to read meanwhile: {built_before}   (gapbook book builds it anew)")
        return
    print("the published book: started, about 2 min; servers and clients are built meanwhile")
    try:
        _say_page(build.build_published(Timings()))
    except GapbookError as error:
        print(f"gapbook: {error}", file=sys.stderr)


def _say_page(page: Path) -> None:
    print(f"page: {page}\nopen it with: xdg-open {page}   (or any browser)")


def _doctor() -> int:
    from gapbook.deploy import setup

    absent = 0
    for name, check in setup.wanted():
        try:
            print(f"  here     {name}: {check()}")
        except GapbookError as error:
            absent += 1
            print(f"  MISSING  {name}: {error}")
    for name, check in setup.optional():
        try:
            print(f"  here     {name}: {check()}")
        except GapbookError as error:
            print(f"  optional {name}: {error}")
    print(last_whole_run())
    print(f"{absent} missing" if absent else "nothing is missing")
    return min(absent, 1)


if __name__ == "__main__":
    sys.exit(main())
