"""Parameters are refused by name, with what was given and what is allowed, before anything starts."""

from __future__ import annotations

import ast
import datetime
import json
import sys
from decimal import Decimal
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from gapbook.book.chapters import chapters, declared_parameters
from gapbook.book.kernel import read_text_notebook
from gapbook.chapter import Chapter
from gapbook.errors import ParameterError, cut
from gapbook.notebook_text import code_cells, names_bound
from gapbook.parameters import chapter_parameters, check_parameters, parse_assignment
from gapbook.paths import CHECKOUT

NAN, INFINITY = float("nan"), float("inf")
GOOD: dict[str, Any] = {
    "source": "live",
    "alpha": [0.5, 1.5],
    "connections": 50,
    "in_flight": 64,
    "window_s": 10.0,
    "warmup_s": 3.0,
    "blocks": 5,
    "attempts": 1,
    "kills": 0,
    "accounts": 100_000,
    "seed": 4432,
    "durability": "delayed(500 ms)",
    "contestants": "all",
    "servers": "",
}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("source", ["live", "published", "123456789012"]),
        ("alpha", [0, 5, 0.99, [0.0], [0.5, 1, 5]]),
        ("connections", [1, 10_000, [1, 50, 10_000]]),
        ("in_flight", [1, 16384]),
        ("window_s", [0.5, 1, 3600]),
        ("request_timeout_s", [1, 1.5, 600]),
        ("warmup_s", [0, 600.0]),
        ("blocks", [1, 1000]),
        ("attempts", [1, 5]),
        ("kills", [0, 3]),
        ("accounts", [2, 2**21]),
        ("seed", [0, 2**53 - 1]),
        ("durability", ["none", "fsync-per-commit", "delayed", "delayed(500 ms)", "delayed(0.5 ms)"]),
        ("contestants", ["all", "a,b", ["a", "b"]]),
        ("servers", ["", "postgres=/usr/bin/postgres"]),
    ],
)
def test_ends_of_each_range_are_allowed(name: str, values: list[Any]) -> None:
    for value in values:
        assert check_parameters({name: value}) == {name: value}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("source", ["", "  ", 5, None]),
        ("alpha", [-1, -0.001, 5.001, 20, NAN, INFINITY, 10**400, "much", True, None, []]),
        ("alpha", [[0.5, 0.5], [0.5, NAN], [0.5, "x"], [[0.5]], [{}]]),
        ("connections", [0, -1, 10_001, [1, 1], 1.5, 10.0, "50", True, NAN, None]),
        ("in_flight", [0, -1, 16385, 1.0]),
        ("window_s", [0, 0.49, -1, 3601, NAN, INFINITY, "10", True]),
        ("warmup_s", [-0.1, 601, NAN]),
        ("request_timeout_s", [0, 0.9, 601, NAN, "30", True]),
        ("blocks", [0, -1, 1001, 2.5]),
        ("attempts", [0, 6, 1.5, True]),
        ("kills", [-1, 101, 0.5, True]),
        ("accounts", [1, 0, -5, 2**21 + 1, 1e5]),
        ("seed", [-1, 2**53, 0.5]),
        ("durability", ["", "fast", "delayed(0 ms)", "delayed(500)", "delayed(-1 ms)", 5]),
        ("contestants", [5, [1], None, "", ",", "a,", [], [""]]),
        ("servers", [None, 5, "-0", "postgres", "a=b,c"]),
    ],
)
def test_other_values_are_refused_with_what_is_allowed(name: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(ParameterError) as caught:
            check_parameters({name: value})
        message = str(caught.value)
        assert (
            message
            == f"parameter {name}: {cut(repr(value))} is not allowed; allowed: {chapter_parameters()[name].allowed}"
        )
        assert "\n" not in message


def test_unknown_name_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(ParameterError, match=r"parameter aplha: unknown; allowed: source, .*alpha, "):
        check_parameters({"aplha": 0.5})
    with pytest.raises(ParameterError, match=r"parameter seed: unknown; allowed: source, alpha$"):
        check_parameters({"seed": 1}, frozenset({"alpha", "source"}))


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("alpha=0.5", ("alpha", 0.5)),
        ("alpha=0.5,1.5", ("alpha", [0.5, 1.5])),
        ("blocks=3", ("blocks", 3)),
        ("window_s=2", ("window_s", 2)),
        ("contestants=a,b", ("contestants", "a,b")),
        ("servers=postgres=/x,y=z", ("servers", "postgres=/x,y=z")),
        ("durability=delayed(500 ms)", ("durability", "delayed(500 ms)")),
        ("alpha=0.5, 1.5", ("alpha", [0.5, 1.5])),
        ("alpha=1e-3", ("alpha", 0.001)),
        # Ids are hexadecimal: some look like a whole number, some like one with an exponent.
        ("source=123456789012", ("source", "123456789012")),
        ("source=1234567e8901", ("source", "1234567e8901")),
    ],
)
def test_assignment_of_the_command_line_is_of_the_type_meant(text: str, parsed: tuple[str, Any]) -> None:
    assert parse_assignment(text) == parsed
    assert check_parameters(dict([parse_assignment(text)]))


@pytest.mark.parametrize("text", ["alpha", "=5", ""])
def test_assignment_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="not of the form name=value"):
        parse_assignment(text)


@pytest.mark.parametrize("text", ["alpha=nan", "alpha=inf", "alpha=", "alpha=0.5,", "blocks=2.5", "blocks=x"])
def test_assignment_that_is_not_allowed_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match=r"is not allowed; allowed: "):
        check_parameters(dict([parse_assignment(text)]))


@pytest.mark.parametrize(
    "text", ["1_0", "\u0663", " 3 ", "+3", "03", "3.", ".5", "0x3", "3e", "1e+1", "nan", "-0x"]
)
def test_number_that_is_not_plainly_written_is_refused_as_it_was_written(text: str) -> None:
    for name in ("connections", "window_s", "alpha"):
        with pytest.raises(ParameterError) as caught:
            check_parameters(dict([parse_assignment(f"{name}={text}")]))
        assert str(caught.value).startswith(f"parameter {name}: {text!r} is not allowed; allowed: ")


def test_long_value_is_cut() -> None:
    for text in ("blocks=" + "9" * 5000, "durability=" + "x" * 5000, "x" * 5000 + "=1", "x" * 5000):
        with pytest.raises(ParameterError) as caught:
            check_parameters(dict([parse_assignment(text)]))
        assert len(str(caught.value)) < 500
        assert " characters)" in str(caught.value)


def test_more_requests_than_a_drain_can_answer_are_refused() -> None:
    assert check_parameters({"connections": 50, "in_flight": 16384})
    with pytest.raises(ParameterError) as caught:
        check_parameters({"connections": 200, "in_flight": 16384})
    assert str(caught.value) == (
        "parameter in_flight: 16,384 on each of 200 connections are 3,276,800 requests out at once, more than the "
        "drain of 30 s can answer; allowed: at most 900,000 in all, here 4,500 on each"
    )
    assert check_parameters({"connections": 50, "databases": 20, "in_flight": 900})
    with pytest.raises(
        ParameterError, match="901 on each of 50 connections to each of 20 databases are 901,000 requests out"
    ):
        check_parameters({"connections": 50, "databases": [1, 20], "in_flight": 901})


@pytest.mark.parametrize("in_flight", [{}, {"in_flight": 16384}])
def test_more_connections_than_a_drain_can_answer_are_refused_whatever_is_in_flight(
    in_flight: dict[str, int],
) -> None:
    with pytest.raises(ParameterError) as caught:
        check_parameters({"connections": 10_000, "databases": 200, **in_flight})
    assert str(caught.value) == (
        "parameter connections: 10,000 to each of 200 databases are 2,000,000 requests out at once, more than the "
        "drain of 30 s can answer; allowed: at most 900,000 in all, here 4,500 to each"
    )


def test_chapter_takes_its_names_only_and_all_of_them() -> None:
    assert Chapter("both-optimized", GOOD).parameters == GOOD
    with pytest.raises(ParameterError, match="parameter counters: unknown"):
        Chapter("both-optimized", {**GOOD, "counters": 1})
    with pytest.raises(
        ParameterError, match=r"connections: \[1, 50\] are several; allowed: one, .* varies alpha$"
    ):
        Chapter("both-optimized", {**GOOD, "connections": [1, 50]})
    with pytest.raises(ParameterError, match="parameter typo: unknown"):
        Chapter("both-optimized", {**GOOD, "typo": 1})
    without = {name: value for name, value in GOOD.items() if name != "seed"}
    with pytest.raises(ParameterError, match="parameters cell does not set seed"):
        Chapter("both-optimized", without)


@pytest.mark.parametrize("chapter", chapters())
def test_defaults_of_every_chapter_are_allowed(chapter: str) -> None:
    text = read_text_notebook(CHECKOUT / "notebooks" / f"{chapter}.md")
    cells = json.loads(text)["cells"]
    source = next(cell["source"] for cell in cells if "parameters" in cell["metadata"].get("tags", []))
    defaults = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse("".join(source)).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    assert defaults.keys() == declared_parameters(chapter)
    assert check_parameters(defaults)


_JUNK: list[Any] = [
    *({"a": 1}, {}, None, [], [[1]], [None], {1}, b"1", bytearray(b"x"), (1, [2]), frozenset(), 1j, object(), range(3)),
    *(NAN, -INFINITY, 10**400, "", " ", "\n", "x\ny", "0,5", "-1", "\x00", "x" * 10_000, True, -1, -0.5),
    *(numpy.float64("nan"), numpy.int64(-7), numpy.zeros((3, 3)), datetime.datetime(2026, 1, 1), Decimal("-1"), len),
]  # fmt: skip
"""Allowed for no parameter that is no text."""
_NESTED: Any = []
for _ in range(100_000):
    _NESTED = [_NESTED]
_NAMES = ["bogus", "Alpha", "connection", "naïve", "x" * 1000]
_OF_TEXT = {"source", "contestants", "servers"}


def test_whatever_is_set_is_refused_in_one_line_that_names_it() -> None:
    """Through each way in: the namespace of a notebook, and a table of parameters."""
    asked = 0
    for name, value in product([*GOOD, *_NAMES], [*_JUNK, _NESTED]):
        if (name in _OF_TEXT and isinstance(value, str)) or (name in _NAMES and value is len):
            continue  # a text may be a name; what can be called is a tool of the notebook
        for refuse in (lambda given: Chapter("both-optimized", {**GOOD, **given}), check_parameters):
            with pytest.raises(ParameterError) as caught:
                refuse({name: value})
            said = str(caught.value)
            assert said.startswith(f"parameter {cut(name)}: "), (name, said)
            assert "\n" not in said
            assert len(said) < 800
            asked += 1
    assert asked > 1000


@pytest.mark.parametrize("chapter", ["both-optimized"])
def test_what_the_notebook_itself_binds_is_no_parameter(chapter: str) -> None:
    """Also when its cells run a second time, in a session that has all of its names by then."""
    own = {
        name: {"a": 1} for cell in code_cells(chapter, without_parameters=True) for name in names_bound(cell)
    }
    tools = {
        "np": numpy,
        "work": lambda: None,
        "Thing": type("Thing", (), {}),
        "_": {"a": 1},
        "In": [],
        "Out": {},
    }
    assert {"OLD", "sweep", "found"} <= own.keys()
    assert Chapter(chapter, {**GOOD, **own, **tools}).parameters == GOOD


def test_names_that_papermill_was_told_are_checked_whatever_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that the notebook binds anew, private ones and those of the shell."""
    namespace = dict(GOOD)
    cells = ["alpha = [0.5]", ""]
    shell = SimpleNamespace(
        user_ns=namespace,
        history_manager=SimpleNamespace(input_hist_parsed=cells),
        set_custom_exc=lambda *_: None,
    )
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert Chapter("both-optimized", namespace).parameters == GOOD
    for name in ("OLD", "chapter", "_alpha", "In", "get_ipython", "open", "bogus"):
        cells[1] = f"# Parameters\nseed = 1\n{name} = 5\n"
        with pytest.raises(ParameterError, match=f"^parameter {name}: unknown; allowed: source, "):
            Chapter("both-optimized", namespace)
    cells[1] = "# Parameters\nseed = 4432\n"
    assert Chapter("both-optimized", namespace).parameters == GOOD


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("alpha=0,5", "alpha=0.5 or alpha=0,5.0"),
        ("alpha=1,2", "alpha=1.2 or alpha=1,2.0"),
        ("alpha=0, 5", "alpha=0.5 or alpha=0,5.0"),
        ("alpha=0,5,1", "alpha=0.5,1 or alpha=0,5,1.0"),
        ("alpha=0,5,1,5", "alpha=0.5,1.5 or alpha=0,5,1,5.0"),
    ],
)
def test_a_comma_that_can_be_read_in_two_ways_is_asked_about(text: str, asked: str) -> None:
    with pytest.raises(ParameterError) as caught:
        parse_assignment(text)
    given = text.partition("=")[2]
    assert str(caught.value) == f"parameter alpha: {given} can be read in two ways; write {asked}"
    for answer in asked.split(" or "):
        assert parse_assignment(answer)[0] == "alpha"


@pytest.mark.parametrize(
    "text", ["alpha=0.5,1", "alpha=0,5.0", "connections=1,50", "databases=1,20", "alpha=0,-5"]
)
def test_a_comma_that_can_be_read_in_one_way_is_not(text: str) -> None:
    assert isinstance(parse_assignment(text)[1], list)


@pytest.mark.parametrize(
    ("given", "meant"),
    [("aplha", "alpha"), ("Alpha", "alpha"), ("conections", "connections"), ("window", "window_s")],
)
def test_an_unknown_name_is_told_the_nearest(given: str, meant: str) -> None:
    with pytest.raises(ParameterError, match=rf"; did you mean {meant}\?$"):
        check_parameters({given: 1})
