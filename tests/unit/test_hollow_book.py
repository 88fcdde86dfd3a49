"""The renderer started by hand at the top of the checkout, where no chapter was executed."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from gapbook.book import hollow
from gapbook.paths import CHECKOUT


def test_renderer_refuses_the_checkout_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    configured = yaml.safe_load((CHECKOUT / "_config.yml").read_text(encoding="utf-8"))
    assert hollow.__name__ in configured["sphinx"]["config"]["extensions"]
    with pytest.raises(SystemExit) as ended:
        hollow.setup(SimpleNamespace(srcdir=str(CHECKOUT)))
    assert ended.value.code == 2
    assert capsys.readouterr().err == "gapbook: the book is built from executed chapters; run: make book\n"


def test_renderer_takes_a_folder_of_executed_chapters(tmp_path: Path) -> None:
    assert hollow.setup(SimpleNamespace(srcdir=tmp_path)) == {
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
