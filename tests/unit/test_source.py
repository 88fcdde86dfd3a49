"""Code on a page comes from its file: a function is whole, what is left out is marked, what is not there is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from gapbook.errors import ParameterError
from gapbook.pages import source
from gapbook.pages.source import side_by_side, source_of

_CODE = """-- <b>
CREATE FUNCTION moved(a int4)
AS $$
BEGIN
    IF a < 1 THEN
        RAISE EXCEPTION 'no';
    END IF;
    RETURN a;
END
$$;
    fn inner(
        a: u32,
    ) -> u32 {
        {
            a
        }
    }
"""


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "code").write_text(_CODE, encoding="utf-8")
    monkeypatch.setattr(source, "CHECKOUT", tmp_path)


def test_function_is_printed_to_its_end_and_escaped() -> None:
    assert source_of("code", function="inner").html.count("}") == 2
    assert "fn inner(\n    a: u32,\n) -&gt; u32 {" in source_of("code", function="inner").html
    shown = source_of("code", function="moved").html
    assert shown.count("$$") == 2
    assert "inner" not in shown
    assert "-- &lt;b&gt;" in source_of("code").html


def test_what_is_left_out_is_marked_in_its_place() -> None:
    shown = source_of("code", function="moved", leave_out=[("IF a", "RETURN a")]).html
    assert "BEGIN\n    …\n    RETURN a;" in shown
    assert "EXCEPTION" not in shown


@pytest.mark.parametrize(
    ("path", "function", "leave_out"),
    [("none", "", []), ("code", "absent", []), ("code", "moved", [("RETURN", "IF a")])],
)
def test_what_is_not_there_is_refused_with_its_file(
    path: str, function: str, leave_out: list[tuple[str, str]]
) -> None:
    with pytest.raises(ParameterError, match=f"^{path}: "):
        source_of(path, function=function, leave_out=leave_out)


def test_pieces_stand_beside_each_other() -> None:
    assert side_by_side(source_of("code"), source_of("code")).html.count("<figure") == 2
