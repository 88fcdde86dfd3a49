"""Executed notebooks of the published book, kept as long as they would come out the same.

What a notebook computes follows from its code, the library, the facts and the stored runs. A change of its prose
alone executes nothing: the text is set between what was computed before.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from gapbook.book.chapters import chapters
from gapbook.book.kernel import read_text_notebook
from gapbook.book.plans import plan_path
from gapbook.book.prose import require_no_typed_numbers
from gapbook.notebook_text import code_of, notebook_path
from gapbook.pages.bibtex import book_as_cited
from gapbook.paths import CHECKOUT, build_directory, hash_files

__all__ = [
    "INJECTED",
    "READS_CHAPTERS",
    "drop_page",
    "hash_of_what_pages_depend_on",
    "is_kept",
    "keep_page",
    "kept_folder",
    "kept_page",
    "key_of",
]

INJECTED = "injected-parameters"
"""The tag of the cell that is no part of the text: what a chapter was executed with."""
READS_CHAPTERS = "reads-chapters"
"""The tag of a cell that asks what chapters measure: its page follows from their code and plans too."""
_SOURCES = (
    "requirements.txt",
    "CITATION.cff",
    "_toc.yml",
    "gapbook/**/*.py",
    "gapbook/**/*.toml",
    "stacks/*/*.py",
    "stacks/*/stack.toml",
    "modules/*/module.toml",
    "modules/*/*/procedure.toml",
    "workloads/*/*.py",
    "workloads/*/workload.toml",
    "clients/**/client.toml",
    "book/*.toml",
    "results/*/*/manifest.json",  # which holds the hashes of the tables
    "results/short/*/*/manifest.json",
    "results/given/*/*/manifest.json",
    "results/*.jsonl",
)


def kept_folder() -> Path:
    return build_directory() / "executed-published"


def kept_page(name: str) -> Path:
    return kept_folder() / f"{name}.ipynb"


def hash_of_what_pages_depend_on() -> str:
    """One for all notebooks: what each of them depends on besides its own code."""
    found = (path for pattern in _SOURCES for path in CHECKOUT.glob(pattern))
    files = hash_files([path for path in found if "node_modules" not in path.parts], CHECKOUT)
    _, address = book_as_cited()
    return f"{sys.version_info.major}.{sys.version_info.minor} {address} {files}"


def key_of(name: str, shared: str) -> str:
    """The hash of all that what a notebook computes depends on."""
    code = [code_of(name)]
    if READS_CHAPTERS in code[0]:
        code += [text for chapter in chapters() for text in (code_of(chapter), _plan_of(chapter))]
    return f"{shared} {hashlib.sha256(chr(0).join(code).encode()).hexdigest()}"


def _plan_of(chapter: str) -> str:
    plan = plan_path(chapter)
    return plan.read_text(encoding="utf-8") if plan.is_file() else ""


def is_kept(name: str, key: str) -> bool:
    """Whether the page was executed before, from what it depends on now. One whose prose was changed since then is
    brought up to date; raises GapbookError for prose that holds a typed number.
    """
    page, kept = kept_page(name), _kept_key(name)
    if not (page.is_file() and kept.is_file()):
        return False
    kept_key, _, kept_text = kept.read_text(encoding="utf-8").partition("\n")
    if kept_key != key:
        return False
    if kept_text != _hash_of_text(name):
        require_no_typed_numbers(notebook_path(name))
        written = json.loads(read_text_notebook(notebook_path(name)))
        executed = json.loads(page.read_text(encoding="utf-8"))
        # Another command may read the page meanwhile.
        renewed = page.with_name(f"{page.name}.{os.getpid()}")
        renewed.write_text(json.dumps(_with_outputs(written, executed), indent=1), encoding="utf-8")
        renewed.replace(page)
        keep_page(name, key)
    return True


def keep_page(name: str, key: str) -> None:
    """Note that the page is there, and what it was made of."""
    _kept_key(name).write_text(f"{key}\n{_hash_of_text(name)}", encoding="utf-8")


def drop_page(name: str) -> None:
    """Note that the page is not to be used: it is made anew."""
    _kept_key(name).unlink(missing_ok=True)


def _kept_key(name: str) -> Path:
    return kept_page(name).with_suffix(".key")


def _hash_of_text(name: str) -> str:
    return hashlib.sha256(notebook_path(name).read_bytes()).hexdigest()


def _with_outputs(written: dict[str, Any], executed: dict[str, Any]) -> dict[str, Any]:
    """A notebook with its text as written and its code as executed, which is the same code."""
    computed = [cell for cell in executed["cells"] if cell["cell_type"] == "code"]
    cells: list[dict[str, Any]] = []
    for cell in written["cells"]:
        if cell["cell_type"] != "code":
            cells.append(cell)
            continue
        cells.append(computed.pop(0))
        while computed and INJECTED in computed[0]["metadata"].get("tags", []):
            cells.append(computed.pop(0))
    return {**executed, "cells": cells}
