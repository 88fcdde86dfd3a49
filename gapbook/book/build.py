"""The book: executed chapters, rendered by Jupyter Book without a network.

The renderer executes nothing (:mod:`gapbook.book.execute` does): it only lays out what chapters produced.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from gapbook.book import figures
from gapbook.book.addressed import write_addressed
from gapbook.book.chapters import chapters, overviews
from gapbook.book.contents import pages_of, without_pages
from gapbook.book.document_pages import document_notebooks, titles_of_documents, with_document_pages
from gapbook.book.first_page import write_first_page
from gapbook.book.kept_pages import (
    INJECTED,
    drop_page,
    hash_of_what_pages_depend_on,
    is_kept,
    keep_page,
    kept_folder,
    kept_page,
    key_of,
)
from gapbook.book.kernel import temporary_folder
from gapbook.book.number_pages import card_of, write_number_pages, write_withdrawn_pages
from gapbook.book.numbers import require_lasting
from gapbook.book.offered import offered
from gapbook.book.pictures import drawing_beside
from gapbook.book.proof_pages import trials_of, trials_page, with_trials_pages, without_proof
from gapbook.book.shown_code import one_fold_each
from gapbook.book.shown_parameters import with_parameters_of
from gapbook.book.side_by_side import execute_chapters
from gapbook.book.timings import Timings
from gapbook.book.told_numbers import Addressed, numbers_told, without_numbers
from gapbook.deploy.deployment import Deployment
from gapbook.errors import GapbookError, RecordError, SetupError
from gapbook.locks import own_folder, taking_turns
from gapbook.method.named import named_run
from gapbook.method.stated import known_numbers
from gapbook.notebook_text import notebook_path
from gapbook.pages.bibtex import ADDRESS, book_as_cited
from gapbook.pages.page_files import left_behind, left_beside_run, links_to_files
from gapbook.pages.titles import table_of_contents
from gapbook.paths import CHECKOUT, build_directory, tool_path
from gapbook.record.run import Run, find_run, published_folder
from gapbook.writing import require_writable

__all__ = [
    "build_published",
    "build_with",
    "execute_published",
    "own_build",
    "published_page",
    "runs_shown",
]

# What buttons of a page link to: the files of a run, beneath the static files of the book.
_RUN_LINK = re.compile(r"_static/runs/([0-9a-f]+)/([\w.-]+)")


def build_published(timings: Timings) -> Path:
    """The published book: every chapter of its contents from its stored run. Returns the first page; ``timings`` get
    what its parts took.

    Raises RecordError, before anything is executed, when one of them has no published run, and SetupError where
    pages cannot be written.
    """
    require_writable(build_directory(), "GAPBOOK_BUILD")
    folder = build_directory() / "published"
    with taking_turns(folder):
        executed = execute_published(timings)
        numbers, named = numbers_told(executed), figures.figures_told(executed)
        figures.require_lasting(named)
        require_lasting(numbers)
        site = _build(folder, executed, numbers, named, timings)
        write_addressed(site)
        return site / "index.html"


def execute_published(timings: Timings) -> dict[str, Path]:
    """The executed notebook of every page of the published book, as far as it is not kept from before.

    Raises RecordError as :func:`build_published` does.
    """
    listed = _listed()
    for chapter in listed:
        if not _is_published(chapter):
            raise RecordError(
                f"book: chapter {chapter} has no published run, a folder with manifest.json in "
                f"{published_folder(chapter).relative_to(CHECKOUT)}; to see it with a run of your own: "
                f"gapbook run {chapter}"
            )
    return _execute_published(listed, timings)


def published_page() -> Path | None:
    """The first page of the published book as it was built last; None before that."""
    page = _site(build_directory() / "published") / "index.html"
    return page if page.is_file() else None


def own_build() -> AbstractContextManager[Path]:
    """The folder for a page of the reader's: build/yours, or another while a command at work has that."""
    return own_folder(build_directory() / "yours")


def build_with(chapter: str, executed: Path, folder: Path) -> Path:
    """The book with one chapter as the reader executed it, in that folder. Returns that chapter's page.

    A chapter that nobody has published a run of is left out. The one that was executed has a page also where the
    book's table of contents does not list it: then it stands last. Nobody waits for the other pages: those that
    were not executed before, as the published book is built, say so in a line.
    """
    others = [other for other in _listed() if other != chapter and _is_published(other)]
    wanted = _wanted(others)
    kept = {name: kept_page(name) for name in wanted if is_kept(name, wanted[name].key)}
    absent = [name for name in wanted if name not in kept]
    if absent:
        print(
            f"book: {len(absent)} of its other pages were not executed yet; gapbook book does that",
            flush=True,
        )
    shown = {**kept, chapter: executed}
    numbers, named = numbers_told(shown), figures.figures_told(shown)
    site = _build(folder, shown, numbers, named, Timings(), absent, also=chapter)
    return site / "notebooks" / f"{chapter}.html"


def runs_shown(chapter: str, executed: Path) -> list[Run]:
    """The runs whose files an executed chapter offers."""
    return [find_run(chapter, run_id) for run_id in sorted({i for i, _ in _links(executed)})]


def _links(executed: Path) -> set[tuple[str, str]]:
    """Run id and name of each file that an executed notebook links to."""
    return set(_RUN_LINK.findall(executed.read_text(encoding="utf-8")))


def _is_published(chapter: str) -> bool:
    return any(published_folder(chapter).glob("*/manifest.json"))


class _Wanted(NamedTuple):
    """A page of the published book: what it is executed with, and the hash of all that it depends on."""

    parameters: dict[str, Any]
    key: str


def _wanted(chapter_names: Sequence[str]) -> dict[str, _Wanted]:
    """These chapters, each from its stored run, and all that measures nothing."""
    shared = hash_of_what_pages_depend_on()
    # Overviews read the runs of all chapters: the longest first, so that none is executed alone at the end.
    parameters = {
        **{name: {} for name in overviews()},
        **{name: {"source": "published"} for name in chapter_names},
    }
    return {name: _Wanted(given, key_of(name, shared)) for name, given in parameters.items()}


def _execute_published(chapter_names: Sequence[str], timings: Timings) -> dict[str, Path]:
    """The pages of :func:`_wanted`; while they would be the same, what was executed before is used again."""
    wanted = _wanted(chapter_names)
    with taking_turns(kept_folder()), timings.of("all chapters executed"):
        stale = {name: page.parameters for name, page in wanted.items() if not is_kept(name, page.key)}
        for name in stale:
            drop_page(name)
        if stale:
            print(
                f"book: {len(stale)} of {len(wanted)} chapters are executed from stored runs, and kept for the next "
                "time; this takes a minute or two",
                flush=True,
            )
        for done in execute_chapters(stale, kept_folder()):
            keep_page(done.name, wanted[done.name].key)
            timings.add(f"chapter {done.name} executed", done.duration_s)
    return {name: kept_page(name) for name in wanted}


def _site(folder: Path) -> Path:
    return folder / "_build" / "html"


def _listed() -> list[str]:
    """The chapters that stand in the contents. One that does not is no part of the published book yet."""
    files = {page["file"] for page in pages_of(table_of_contents())}
    return [chapter for chapter in chapters() if _page_of(chapter) in files]


def _contents(executed: Collection[str], proved: Sequence[str], also: str | None) -> dict[str, Any]:
    """The table of contents without chapters that were not executed, with the pages of trials of those that are
    ``proved``, and with ``also``, listed or not: the renderer makes no page of what does not stand there."""
    contents = table_of_contents()
    absent = {_page_of(chapter) for chapter in chapters() if chapter not in executed}
    shown = with_document_pages(with_trials_pages(without_pages(contents, absent), proved))
    if also is not None and _page_of(also) not in {page["file"] for page in pages_of(contents)}:
        part = {"caption": "Not in the contents", "chapters": [{"file": _page_of(also)}]}
        return {**shown, "parts": [*shown["parts"], part]}
    return shown


def _page_of(chapter: str) -> str:
    return f"notebooks/{chapter}"


def _build(
    folder: Path,
    executed: Mapping[str, Path],
    numbers: Sequence[Addressed],
    named: Sequence[figures.Named],
    timings: Timings,
    absent: Collection[str] = (),
    *,
    also: str | None = None,
) -> Path:
    """Stage a fresh source folder with these chapters and render it; those that are ``absent`` have a page that says
    so, for others lead to them. ``numbers`` and ``named`` charts get their pages and files. Returns the site's folder."""
    with timings.of("pages laid out"):
        staged = _stage(folder, executed, absent, also)
    with drawing_beside() as beside:
        cards, pictures = beside.map(card_of, numbers), beside.map(figures.picture_of, named)
        with timings.of("pages rendered"):
            site = _render(staged)
        for notebook in executed.values():
            _offer(notebook, site)
        with timings.of("pages of numbers written"):
            figures.write_figures(named, pictures, site)
            write_number_pages(numbers, cards, site)
            write_withdrawn_pages(known_numbers().withdrawn, site)
    return site


def _stage(folder: Path, executed: Mapping[str, Path], absent: Collection[str], also: str | None) -> Path:
    staged = folder / "source"
    shutil.rmtree(staged, ignore_errors=True)
    (staged / "notebooks").mkdir(parents=True)
    shutil.copy2(CHECKOUT / "_config.yml", staged)
    shutil.copytree(CHECKOUT / "book", staged / "book")
    for chapter in absent:
        _place_word_of_absence(chapter, staged)
    proved = []
    for chapter, notebook in executed.items():
        if trials_of(chapter) in _place(chapter, notebook, staged):
            proved.append(chapter)
        _place_runs(chapter, notebook, staged)
        _place_page_files(notebook, staged)
    for name, title in titles_of_documents().items():
        if not (staged / "notebooks" / f"{name}.ipynb").is_file():
            _place_words(f"# {title}", name, staged)
    contents = _contents([*executed, *absent], proved, also)
    (staged / "_toc.yml").write_text(yaml.safe_dump(contents, sort_keys=False), encoding="utf-8")
    return staged


def _place(chapter: str, executed: Path, staged: Path) -> Collection[str]:
    """Put an executed notebook into the book, its first screen first; return the names of the pages that it makes beside
    its own.

    A chapter is executed in the order of its logic and read in the order of its answer: cells tagged
    ``first-screen`` are shown right after the title. Its parameters cell has the values of its run. Code cells in a row
    that show nothing else are one fold.
    """
    notebook = json.loads(executed.read_text(encoding="utf-8"))
    cells = figures.with_links(chapter, notebook["cells"])
    if chapter not in overviews():
        for run in runs_shown(chapter, executed):
            cells = with_parameters_of(run, cells)
    for cell in cells:
        tags = cell["metadata"].setdefault("tags", [])
        if INJECTED in tags:
            tags.append("hide-input")
    first = [cell for cell in cells if figures.FIRST_SCREEN in cell["metadata"]["tags"]]
    rest = [cell for cell in cells if cell not in first]
    beside = _pages_beside(chapter, notebook)
    for name, page in beside.items():
        (staged / "notebooks" / f"{name}.ipynb").write_text(json.dumps(page), encoding="utf-8")
    notebook["cells"] = one_fold_each(without_proof(without_numbers([rest[0], *first, *rest[1:]])))
    (staged / "notebooks" / executed.name).write_text(json.dumps(notebook), encoding="utf-8")
    return beside.keys()


def _pages_beside(chapter: str, notebook: dict[str, Any]) -> Mapping[str, dict[str, Any]]:
    """The notebooks of the pages that an executed one makes beside its own, by their names."""
    trials = trials_page(chapter, notebook)
    return {**({trials_of(chapter): trials} if trials is not None else {}), **document_notebooks(notebook)}


def _place_word_of_absence(chapter: str, staged: Path) -> None:
    heading = next(
        line
        for line in notebook_path(chapter).read_text(encoding="utf-8").splitlines()
        if line.startswith("# ")
    )
    _place_words(heading, chapter, staged)


def _place_words(heading: str, name: str, staged: Path) -> None:
    (staged / "notebooks" / f"{name}.md").write_text(
        f"{heading}\n\nThis page was not made on this machine yet. Make the whole book: `gapbook book`.\n",
        encoding="utf-8",
    )


def _offer(executed: Path, site: Path) -> None:
    """Let a reader download the notebook in the order in which it runs, not in that of its page; the same from the pages
    that it makes beside its own."""
    sources = site / "_sources" / "notebooks"
    notebook = json.loads(executed.read_text(encoding="utf-8"))
    without = {**notebook, "cells": without_numbers(notebook["cells"])}
    text = json.dumps(offered(without), indent=1, ensure_ascii=False)
    (sources / executed.name).write_text(text, encoding="utf-8")
    for name in _pages_beside(executed.stem, notebook):
        page = site / "notebooks" / f"{name}.html"
        shown = page.read_text(encoding="utf-8").replace(f"/{name}.ipynb", f"/{executed.name}")
        page.write_text(shown, encoding="utf-8")
        (sources / f"{name}.ipynb").unlink()


def _place_runs(chapter: str, executed: Path, staged: Path) -> None:
    """Put what a page lets its reader download beside it: files of its run, and pictures made of it.

    Raises RecordError for a file that is not there.
    """
    links = _links(executed)
    # A run is read whole to be trusted: once for all its files.
    folders = {
        run_id: (_run_of(chapter, run_id).folder, left_beside_run(run_id))
        for run_id in sorted({run_id for run_id, _ in links})
    }
    for run_id, name in sorted(links):
        here = folders[run_id]
        source = next((folder / name for folder in here if (folder / name).is_file()), None)
        if source is None:
            raise RecordError(
                f"book: chapter {chapter} links to {name} of run {run_id}, which is neither in "
                f"{here[0]} nor in {here[1]}"
            )
        target = staged / "book" / "_static" / "runs" / run_id / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)


def _run_of(chapter: str, run_id: str) -> Run:
    """A run that a page offers files of: its own, or on a page that measures nothing any."""
    return named_run(run_id) if chapter in overviews() else find_run(chapter, run_id)


def _place_page_files(executed: Path, staged: Path) -> None:
    """Put the files beside a page that it offers and no run holds; raises RecordError for one that is not there."""
    for place in links_to_files(executed.read_text(encoding="utf-8")):
        source = left_behind(place)
        if not source.is_file():
            raise RecordError(
                f"book: {source} is gone, which a page offers; build the page anew: remove {executed}, then gapbook book"
            )
        target = staged / "book" / "_static" / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)


def _render(staged: Path) -> Path:
    """Run the renderer, warnings as errors; raises GapbookError with its last lines."""
    program = tool_path("jupyter-book")
    if program is None:
        raise SetupError("jupyter-book is missing; run: make setup")
    print("book: its pages are laid out now; this takes half a minute or more", flush=True)
    command = [str(program), "build", str(staged), "-W", "-n", "--keep-going", "--quiet"]
    output = staged.parent
    _, address = book_as_cited()
    shutil.rmtree(output / "_build", ignore_errors=True)
    # A deployment, so that the renderer ends with us, however we end.
    with Deployment(temporary_folder()) as deployment:
        renderer = deployment.start(
            [*command, "--path-output", output],
            name="renderer",
            environment={"NO_COLOR": "1", "PYTHONUTF8": "1", ADDRESS: address},
            working_directory=CHECKOUT,
        )
        code = renderer.popen.wait()
        said = renderer.log_path.read_text(errors="replace", encoding="utf-8")
    if code < 0:
        raise GapbookError(
            f"book: the renderer was ended from outside by signal {-code}; what was executed is kept, "
            "give the same command again"
        )
    if code != 0:
        log = output / "build.log"
        log.write_text(said, encoding="utf-8")
        warnings = [line for line in said.splitlines() if "WARNING" in line or "ERROR" in line]
        raise GapbookError(
            f"book: the renderer failed: {'; '.join(warnings[:3]) or 'no warning'}; all of it: {log}"
        )
    site = _site(output)
    write_first_page(site)
    return site
