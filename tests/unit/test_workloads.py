"""Workloads are found by their folders, say what their parameters may be, and are refused in one line when broken."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from gapbook.errors import DeclarationError, GapbookError, ParameterError, SetupError
from gapbook.model.declaration import Parameter, declaration_of, read_declaration, workload_names
from gapbook.model.workload import RowDifferences, Workload, frame_schema
from gapbook.trial.workloads import find_workload, load_workload_class

_TOML = """
name = "letters"
label = "Letters"
question = "How many letters?"
[parameters.boxes]
type = "integer"
minimum = 1
maximum = 9
default = 3
words = "boxes"
[kinds.letter]
words = "one letter"
fields = [{ name = "box", type = "u32", words = "which box" }]
[state.letters]
words = "all letters"
key = ["id"]
columns = { id = "integer" }
[audit]
proves = ["all"]
cannot = ["nothing"]
"""
_PYTHON = """
from gapbook.model import workload

class Workload(workload.Workload):
    def initial_state(self): ...
    def draw(self, seed, connection, indices): ...
    def audit(self, seed, reported, state): ...
    def survived(self, seed, work, state): ...
    def committed(self, seed, connections, about, state): ...
"""


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    folder = tmp_path / "letters"
    folder.mkdir()
    (folder / "workload.toml").write_text(_TOML, encoding="utf-8")
    (folder / "workload.py").write_text(_PYTHON, encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", workload_names())
def test_every_workload_is_whole(name: str, tmp_path: Path) -> None:
    workload = find_workload(name, {})
    declared = workload.declaration
    assert workload.name == declared.name == name
    files = workload.files(tmp_path)
    assert files.keys() == declared.files.keys()
    for file in files.values():
        assert hashlib.sha256(file.path.read_bytes()).hexdigest() == file.sha256
    state = workload.initial_state()
    assert {table: frame.schema for table, frame in state.items()} == {
        table: pl.Schema(frame_schema(facts)) for table, facts in declared.state.items()
    }
    drawn = workload.draw(1, 0, np.arange(100, dtype=np.uint64))
    assert sorted(place for frame in drawn.values() for place in frame["place"]) == list(range(100))
    for kind, frame in drawn.items():
        assert frame.columns == ["place", *(field.name for field in declared.kinds[kind].fields)]
    assert declared.audit.proves
    assert declared.audit.cannot


def test_workloads_are_found_by_their_folders() -> None:
    assert {"transfer", "counter-and-messages"} <= set(workload_names())
    assert set(declaration_of("transfer").refusals) == {"insufficient"}
    assert not declaration_of("counter-and-messages").refusals


def test_an_unknown_workload_lists_those_there_are() -> None:
    with pytest.raises(
        ParameterError, match=r"workload: 'lottery' has no folder .*counter-and-messages, fibonacci, transfer"
    ):
        find_workload("lottery", {})


# --- parameters -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("transfer", {"accounts": 1}, "accounts: 1 is not allowed .* a whole number from 2 to 2,097,152"),
        ("transfer", {"accounts": 2.0}, "accounts: 2.0 is not allowed"),
        ("transfer", {"accounts": True}, "accounts: True is not allowed"),
        ("transfer", {"accounts": "9"}, "accounts: '9' is not allowed"),
        ("transfer", {"alpha": float("nan")}, "alpha: nan is not allowed .* a number from 0 to 5"),
        ("transfer", {"alpha": -0.1}, "alpha: -0.1 is not allowed"),
        ("transfer", {"redraw": "source"}, "redraw: 'source' is not allowed .* both or destination"),
        ("transfer", {"redraw": ["both"]}, "redraw: "),
        (
            "transfer",
            {"counters": 1},
            "parameter counters: unknown to workload transfer; allowed: accounts, alpha",
        ),
        ("counter-and-messages", {"increment_share": 1.01}, "increment_share: 1.01 is not allowed"),
        ("counter-and-messages", {"message_bytes": 0}, "message_bytes: 0 is not allowed"),
        ("counter-and-messages", {"x" * 500: 0}, "unknown to workload"),
    ],
)
def test_parameters_are_refused_by_name_with_what_is_allowed(
    name: str, given: dict[str, object], says: str
) -> None:
    with pytest.raises(ParameterError, match=says) as refused:
        find_workload(name, given)
    assert len(str(refused.value)) < 400
    assert "\n" not in str(refused.value)


def test_what_is_left_out_has_its_default_and_what_is_given_is_kept() -> None:
    workload = find_workload("transfer", {"accounts": 7, "alpha": 1})
    assert workload.parameters == {
        "accounts": 7,
        "alpha": 1,
        "amount_max": 1000,
        "redraw": "both",
        "initial_balance": 10_000_000,
    }


# --- broken folders ---------------------------------------------------------------------------
def _replaced(old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "workload.toml"
        assert old in path.read_text(encoding="utf-8")
        path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda folder: (folder / "workload.toml").unlink(), "missing; a workload declares itself there"),
        (_replaced("name = ", "name = = "), "workload.toml:2: not TOML: Invalid value"),
        (_replaced('label = "Letters"\n', ""), "workload.toml:1: label: missing; a text is required"),
        (_replaced("label = ", "labels = "), "labels: unknown key; did you mean label?"),
        (_replaced('"letters"', '"parcels"'), "name: 'parcels' is not that of its folder"),
        (
            _replaced("default = 3", "default = 10"),
            "parameters.boxes: default: 10 is not a whole number from 1 to 9",
        ),
        (_replaced("minimum = 1\n", ""), "parameters.boxes: type 'integer' has a minimum"),
        (_replaced('"integer"', '"choice"'), "parameters.boxes: a choice has choices"),
        (
            _replaced('"u32"', '"i8"'),
            'kinds.letter.fields[1].type: "i8" is not allowed; allowed: u32, u64, text',
        ),
        (_replaced('key = ["id"]', 'key = ["number"]'), "state.letters: key must name columns, of id"),
        (
            _replaced("[audit]", '[refusals]\ntimeout = "late"\n[audit]'),
            "refusals: timeout is a failure of every",
        ),
        (
            _replaced("[kinds.letter]", "[kinds.letter.words]"),
            "kinds.letter.fields: missing; a list, each a table ",
        ),
    ],
)
def test_a_broken_declaration_is_refused_in_one_line(
    folder: Path, change: Callable[[Path], None], says: str
) -> None:
    change(folder)
    with pytest.raises((DeclarationError, SetupError)) as refused:
        read_declaration(folder)
    message = str(refused.value)
    assert "letters/workload.toml:" in message
    assert says in message
    assert "\n" not in message


def test_a_whole_folder_is_taken(folder: Path) -> None:
    declared = read_declaration(folder)
    workload = load_workload_class(folder)(declared, {"boxes": 9})
    assert workload.parameters == {"boxes": 9}
    assert workload.told_apart() is workload


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (None, "missing; the workload's class is there"),
        ("import nowhere_to_be_found", "cannot be imported: ModuleNotFoundError: No module named"),
        ("class Workload(", "cannot be imported: SyntaxError"),
        ("raise SystemError('two\\nlines')", "cannot be imported: SystemError: two lines"),
        ("class Workload: pass", "has no class Workload that extends"),
        ("Workload = 3", "has no class Workload that extends"),
        ("from gapbook.model.workload import Workload", "has no class Workload that extends"),
        (_PYTHON.replace("    def audit(self, seed, reported, state): ...\n", ""), "lacks audit; define"),
    ],
)
def test_a_broken_class_is_refused_in_one_line(folder: Path, source: str | None, says: str) -> None:
    path = folder / "workload.py"
    path.unlink() if source is None else path.write_text(source, encoding="utf-8")
    with pytest.raises(GapbookError) as refused:
        load_workload_class(folder)
    message = str(refused.value)
    assert message.startswith("workloads/letters/workload.py: ")
    assert says in message
    assert "\n" not in message


def test_modules_beside_the_class_can_be_imported(folder: Path) -> None:
    (folder / "beside.py").write_text("ANSWER = 42\n", encoding="utf-8")
    (folder / "workload.py").write_text(
        f"from .beside import ANSWER\n{_PYTHON}    answer = ANSWER\n", encoding="utf-8"
    )
    found: type[Workload] = load_workload_class(folder)
    assert vars(found)["answer"] == 42


# --- rows -------------------------------------------------------------------------------------
def test_rows_that_differ_are_told_by_how() -> None:
    expected = pl.DataFrame({"id": [0, 1, 2, 3], "value": [10, 11, 12, 13]})
    read = pl.DataFrame({"id": [3, 1, 1, 2, 9], "value": [13, 11, 11, 99, 0]})
    found = RowDifferences.between(expected, read, ["id"])
    assert found == RowDifferences(missing=1, unexpected=1, changed=1, repeated=1)
    assert found.total == 4
    assert RowDifferences.between(expected, expected.reverse(), ["id"]).total == 0
    assert RowDifferences.between(expected, expected.clear(), ["id"]).missing == 4


def test_a_number_accepts_whole_numbers_and_no_infinity() -> None:
    share = Parameter("number", "share", 0.5, minimum=0, maximum=1)
    assert share.accepts(1)
    assert not share.accepts(float("inf"))
    assert not share.accepts(None)
