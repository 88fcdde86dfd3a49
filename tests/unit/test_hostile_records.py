"""Run folders that nobody's program wrote: each ends in one line that names the run, or in a page whose
every text is escaped.

They are made of published runs, always in the same order: a value of the manifest or of a table is taken
away, replaced by another type, by a number out of range or by text that would be markup, and the hashes are
made to fit again. So what is tested is the schema, not the hashes. Files are made huge, sparse, deep and false about
their own size, and a run that is refused or shown takes no more memory than one that is published.

`make test` takes some of them, other ones each day; ``GAPBOOK_DRAW=all`` takes all.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from gapbook.charts import Figure
from gapbook.errors import RecordError
from gapbook.method.compared import compared
from gapbook.method.findings import Findings
from gapbook.method.summary import summary_of
from gapbook.pages.answer import answer
from gapbook.pages.comparison import comparison_json, comparison_lines
from gapbook.pages.exhibits.flaws import batch_table, flaws_table, metrics_table, unwritten_table
from gapbook.pages.first_screen import cite_panels, own_run_banner, provenance_line, run_buttons
from gapbook.pages.losses.kills import kill_table
from gapbook.pages.proof.audited import audited
from gapbook.pages.proof.gates import gates_chart
from gapbook.pages.proof.page import proof
from gapbook.pages.proof.sessions import sessions_table
from gapbook.pages.provenance import run_facts
from gapbook.pages.rerun import rerun_panel
from gapbook.pages.sentence import sentence, times
from gapbook.paths import CHECKOUT
from gapbook.record.run import canonical, latest_published, load_run, run_id_of
from tests.drawn import drawn
from tests.hostile_values import MARKUP, Harm, holder, hostile_contents, putting
from tests.memory import peak_bytes, resident_bytes

_SEED = 20_261_122
_MANIFESTS, _TABLES = 240, 132
_DRAWN = 60
_MOST_BYTES = 300_000_000
_TABLE_FILES = ("trials.parquet", "histograms.parquet")
_BASES = ("both-optimized", "what-the-benchmark-counted")


def _seal(folder: Path, manifest: dict[str, Any]) -> Path:
    """The folder under the id that its manifest has now, as if it had been written so."""
    written = {key: value for key, value in manifest.items() if key != "run_id"}
    run_id = run_id_of(written)
    (folder / "manifest.json").write_bytes(canonical({**written, "run_id": run_id}))
    return folder.rename(folder.with_name(run_id))


def _hash_again(folder: Path, manifest: dict[str, Any]) -> None:
    for name in _TABLE_FILES:
        manifest["files"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()


# --- tables -----------------------------------------------------------------------------------
def _rewrite(change: Callable[[pl.DataFrame], pl.DataFrame], name: str = "trials.parquet") -> Harm:
    def harm(folder: Path, manifest: dict[str, Any]) -> None:
        change(pl.read_parquet(folder / name)).write_parquet(folder / name)
        _hash_again(folder, manifest)

    return harm


def _first(
    column: str, value: Any, kind: pl.DataType | None = None
) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """The column with another value in its first row."""
    return lambda table: table.with_columns(
        pl.when(pl.int_range(pl.len()) == 0)
        .then(pl.lit(value, kind or table.schema[column]))
        .otherwise(pl.col(column))
        .alias(column)
    )


def _null(name: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda table: table.with_columns(pl.lit(None).alias(name))


def _as_lists(name: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda table: table.with_columns(pl.col(name).implode().over("trial"))


def _as_text(name: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda table: table.cast({name: pl.String})


def _without(name: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda table: table.drop(name)


def _hostile_tables(table: pl.DataFrame, count: int) -> list[tuple[str, Harm]]:
    order = random.Random(_SEED)
    made: list[tuple[str, Harm]] = []
    for name, kind in order.sample(list(table.schema.items()), len(table.columns)):
        made += [
            (f"without {name}", _rewrite(_without(name))),
            (f"{name} all null", _rewrite(_null(name))),
            (f"{name} once null", _rewrite(_first(name, None))),
            (f"{name} as lists", _rewrite(_as_lists(name))),
        ]
        if kind.is_numeric():
            wrong: tuple[Any, ...] = (
                (-1, 2**62) if kind == pl.Int64() else (-1.0, float("nan"), float("inf"), 1e300)
            )
            made += [(f"{name} = {value}", _rewrite(_first(name, value))) for value in wrong]
            made.append((f"{name} as text", _rewrite(_as_text(name))))
        if kind == pl.String():
            texts = (MARKUP, "", "null", "[]", "{}", "[" * 5_000, '{"a": -1}', "[NaN]", "x" * 5_000)
            made += [(f"{name} = {text!r:.20}", _rewrite(_first(name, text))) for text in texts]
    return order.sample(made, count)


# --- files ------------------------------------------------------------------------------------
def _cut(name: str, kept_frac: float) -> Harm:
    def harm(folder: Path, manifest: dict[str, Any]) -> None:
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[: int(len(data) * kept_frac)])
        _hash_again(folder, manifest)

    return harm


def _scramble(name: str, seed: int) -> Harm:
    def harm(folder: Path, manifest: dict[str, Any]) -> None:
        data, order = bytearray((folder / name).read_bytes()), random.Random(seed)
        for _ in range(20):
            data[order.randrange(4, len(data))] = order.randrange(256)
        (folder / name).write_bytes(data)
        _hash_again(folder, manifest)

    return harm


def _link(folder: Path, _manifest: dict[str, Any]) -> None:
    (folder / "trials.parquet").symlink_to((folder / "trials.parquet").rename(folder / "elsewhere.parquet"))


def _pipe(folder: Path, _manifest: dict[str, Any]) -> None:
    (folder / "trials.parquet").unlink()
    os.mkfifo(folder / "trials.parquet")


def _folder(folder: Path, _manifest: dict[str, Any]) -> None:
    (folder / "trials.parquet").unlink()
    (folder / "trials.parquet").mkdir()


def _missing(folder: Path, _manifest: dict[str, Any]) -> None:
    (folder / "histograms.parquet").unlink()


def _named(name: str) -> Harm:
    """A manifest that names a file elsewhere, with the right hash."""

    def harm(folder: Path, manifest: dict[str, Any]) -> None:
        (folder.parent / "secret").write_bytes(b"secret")
        manifest["files"][name.replace("HERE", str(folder.parent))] = hashlib.sha256(b"secret").hexdigest()

    return harm


_OUTSIDE = ("../secret", "HERE/secret", "trials.parquet/../../secret", "", ".", "manifest.json", "a\0b")
_FILES: list[tuple[str, Harm]] = [
    ("a table that is a link", _link),
    ("a table that is a pipe", _pipe),
    ("a table that is a folder", _folder),
    ("a table that is missing", _missing),
    *((f"{name} cut to {frac}", _cut(name, frac)) for name in _TABLE_FILES for frac in (0.0, 0.01, 0.5, 0.99)),
    *((f"{name} scrambled {seed}", _scramble(name, seed)) for name in _TABLE_FILES for seed in range(10)),
    *((f"names {name!r}", _named(name)) for name in _OUTSIDE),
    *((f"format {value!r}", putting(("format",), value)) for value in (True, 1.0, 0, 3, 4, "2", None)),
    ("two histograms of one trial", _rewrite(lambda t: pl.concat([t, t.head(1)]), "histograms.parquet")),
    ("two rows of one trial", _rewrite(lambda t: pl.concat([t, t.head(1)]))),
    ("no row", _rewrite(lambda t: t.clear())),
    ("a contestant of another run", _rewrite(_first("contestant", "nobody"))),
]  # fmt: skip


# --- sizes ------------------------------------------------------------------------------------
def _sparse(name: str) -> Harm:
    def harm(folder: Path, _manifest: dict[str, Any]) -> None:
        os.truncate(folder / name, 8 * 2**30)

    return harm


def _nested(levels: int) -> Any:
    return {"a": _nested(levels - 1)} if levels else 0


def _doubled(_folder: Path, manifest: dict[str, Any]) -> None:
    manifest["trials"].append(manifest["trials"][0])


def _many(*path: Any, count: int) -> Harm:
    """A list with its first entry so many times."""

    def harm(_folder: Path, manifest: dict[str, Any]) -> None:
        place = holder(manifest, path)
        place[path[-1]] = place[path[-1]][:1] * count

    return harm


def _footer_says(number: bytes, instead: bytes) -> Harm:
    """A table of which one number in its footer or headers is another; both are as Thrift writes them."""

    def harm(folder: Path, manifest: dict[str, Any]) -> None:
        path = folder / "trials.parquet"
        path.write_bytes(path.read_bytes().replace(number, instead, 40))
        _hash_again(folder, manifest)

    return harm


def _rows(count: int) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda table: table.head(1).select(pl.all().repeat_by(count).explode())


def _long(table: pl.DataFrame) -> pl.DataFrame:
    """Texts of 120 MB that compress to nothing."""
    texts = [str(number) + "0" * 10_000_000 for number in range(12)]
    return table.head(12).with_columns(pl.Series("labels", texts).head(min(12, table.height)))


_SIZES: list[tuple[str, Harm]] = [
    *((f"{name} of 8 GB that are not there", _sparse(name)) for name in _TABLE_FILES),
    ("a processor of 10 MB", putting(("machine", "processor"), "x" * 10_000_000)),
    ("a processor of 1 MB", putting(("machine", "processor"), "x" * 1_000_000)),
    ("a NUL in a processor", putting(("machine", "processor"), "x\0y")),
    ("a bell in a name", putting(("scenario", "contestants", 0, "system_label"), "x\ay")),
    ("a text turned round", putting(("scenario", "contestants", 0, "system_label"), "x\u202ey")),
    ("nested 600 deep", putting(("parameters",), _nested(600))),
    ("nested 13 deep", putting(("parameters",), _nested(13))),
    ("a name of 1 MB", putting(("parameters",), {"x" * 1_000_000: 1})),
    ("50,000 parameters", putting(("parameters",), {str(n): 1 for n in range(50_000)})),
    ("a doubled trial", _doubled),
    ("30,000 contestants", _many("scenario", "contestants", count=30_000)),
    ("2,000 contestants", _many("scenario", "contestants", count=2_000)),
    ("30,000 planned trials", _many("trials", count=30_000)),
    ("a number of 5,000 digits", putting(("blocks",), 10**4_000)),
    ("60,000 rows", _rewrite(_rows(60_000))),
    ("a column that says other sizes", _footer_says(b"\x15\x04", b"\x15\x7e")),
    ("texts of 120 MB", _rewrite(_long)),
    ("NUL in a cell", _rewrite(_first("labels", '["a\\u0000"]'))),
    ("NUL in a column", _rewrite(_first("durability", "a\0b"))),
    ("a cell of 5 MB", _rewrite(_first("labels", '["' + "x" * 5_000_000 + '"]'))),
]  # fmt: skip


# --- the page ---------------------------------------------------------------------------------
def _render(folder: Path, chapter: str) -> list[str]:
    """What a chapter's page shows of any run: the same calls, for whichever contestants there are."""
    shown = Findings(load_run(folder), chapter)
    beside = compared(summary_of(shown.run), summary_of(latest_published(chapter)))
    everyone = shown.scenario.contestants
    over, under, alpha = everyone[-1], everyone[0], shown.treatments[0]
    return [
        str(run_facts(shown)),
        comparison_json(beside),
        "".join(map(_as_a_terminal_shows, comparison_lines(beside))),
        *(
            str(one)
            for one in (
                own_run_banner(shown),
                provenance_line(shown),
                run_buttons(shown),
                cite_panels(shown, sentence("It is {lead}.", lead=times(shown, over, under))),
                answer(shown, ("It is {ratios}.", over, under)),
                rerun_panel(shown),
                *(
                    part
                    for section in proof(shown, [("pair", over, under)]).sections
                    for part in section.parts
                    if not isinstance(part, Figure)
                ),
                kill_table(shown),
                sessions_table(shown, [("pair", over, under)]),
                flaws_table(shown, alpha),
                metrics_table(shown),
                unwritten_table(shown, everyone, alpha),
                audited(shown),
            )
        ),
        *(batch_table(shown, contestant, alpha).html for contestant in everyone if contestant.settings.flaws),
    ]


def _as_a_terminal_shows(line: str) -> str:
    """Nothing of a line that is one, whatever its texts hold."""
    return "" if line.isprintable() else MARKUP


def _cases() -> Iterator[tuple[str, str, Harm]]:
    for chapter, share in zip(_BASES, (2 / 3, 1 / 3), strict=True):
        run = latest_published(chapter)
        manifest = json.loads((run.folder / "manifest.json").read_text(encoding="utf-8"))
        table = pl.read_parquet(run.folder / "trials.parquet")
        made = chain(
            hostile_contents(manifest, int(_MANIFESTS * share)),
            _hostile_tables(table, int(_TABLES * share)),
            _FILES,
            _SIZES,
        )
        yield from ((chapter, named, harm) for named, harm in made)


@pytest.mark.parametrize(
    ("chapter", "harm"), [pytest.param(c, h, id=f"{c}: {n}") for c, n, h in drawn(list(_cases()), _DRAWN)]
)
def test_a_hostile_run_ends_in_one_line_or_in_an_escaped_page(
    chapter: str, harm: Harm, tmp_path: Path
) -> None:
    sealed = _hostile(chapter, harm, tmp_path)
    before = resident_bytes()
    try:
        texts = _render(sealed, chapter)
    except RecordError as error:
        line = str(error)
        assert line.startswith(f"run {sealed.name}: ")
        assert "\n" not in line
        assert len(line) < 500
    else:
        assert not [text for text in texts if MARKUP[:8] in text and not text.startswith("{")]
    assert peak_bytes() - before < _MOST_BYTES


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("trials.parquet of 8 GB that are not there", "trials.parquet has 8,589,934,592 bytes"),
        ("a processor of 1 MB", "manifest.json: machine.processor has 1,000,000 characters"),
        ("a NUL in a processor", "manifest.json: machine.processor holds the control character U+0000"),
        ("nested 13 deep", "nested too deep"),
        ("a doubled trial", "manifest.json: trials: number"),
        ("30,000 planned trials", "manifest.json: trials has 30,000 entries"),
        ("60,000 rows", "trials.parquet has 60,000 rows"),
        ("NUL in a cell", "trials.parquet: labels holds a control character"),
        ("a cell of 5 MB", "trials.parquet: labels has a text of 5,000,004 bytes"),
        ("texts of 120 MB", "; allowed: up to 100,663,296"),
    ],
)
def test_what_is_too_large_is_refused_by_name(named: str, told: str, tmp_path: Path) -> None:
    sealed = _hostile(_BASES[1], dict(_SIZES)[named], tmp_path)
    with pytest.raises(RecordError, match=re.escape(told)):
        load_run(sealed)


def _hostile(chapter: str, harm: Harm, tmp_path: Path) -> Path:
    """The newest published run of a chapter, copied and harmed."""
    published = latest_published(chapter).folder
    folder = shutil.copytree(published, tmp_path / "runs" / published.name)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    harm(folder, manifest)
    return _seal(folder, manifest)


def test_a_name_that_is_markup_is_text_on_page_and_chart(tmp_path: Path) -> None:
    published = latest_published(_BASES[0]).folder
    folder = shutil.copytree(published, tmp_path / published.name)
    text = (folder / "manifest.json").read_text(encoding="utf-8")
    manifest = json.loads(text)
    name = manifest["scenario"]["contestants"][0]["name"]
    manifest = json.loads(text.replace(json.dumps(name), json.dumps(MARKUP)))
    _rewrite(lambda table: table.with_columns(pl.col("contestant").replace(name, MARKUP)))(folder, manifest)
    sealed = _seal(folder, manifest)
    shown = Findings(load_run(sealed), _BASES[0])
    texts = [*_render(sealed, _BASES[0])[1:], gates_chart(shown).html]
    assert not [text for text in texts if MARKUP[:8] in text]
    assert [text for text in texts if "&lt;script&gt;" in text]


def test_what_is_published_is_rendered(tmp_path: Path) -> None:
    for chapter in _BASES:
        published = latest_published(chapter).folder
        assert published.is_relative_to(CHECKOUT)
        assert len(_render(shutil.copytree(published, tmp_path / published.name), chapter)) > 20
