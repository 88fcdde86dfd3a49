"""What a page gives to cite as BibTeX: ASCII, balanced, whole, and compiled where LaTeX is there; and what the book cites."""

from __future__ import annotations

import re
import shutil
import string
import subprocess
from pathlib import Path

import pytest
import yaml

from gapbook.book.numbers import citable
from gapbook.errors import ParameterError
from gapbook.method.stated import known_numbers
from gapbook.pages import bibtex
from gapbook.pages.bibtex import ADDRESS, bibtex_entry, book_as_cited, latex
from gapbook.pages.short_citation import address_of, number_citation, own_run_citation
from gapbook.paths import CHECKOUT

_HARD = f"{string.punctuation} 2.0 × (−3 % to ≥ 5 µs, α ≤ 1.5) – “x” … Ünsér ñ Ω ★ 日\u00a0\x85"
_DOCUMENT = r"""\documentclass{article}\begin{document}\nocite{*}
\bibliographystyle{plain}\bibliography{cited}\end{document}"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("α = 1.5", r"$\alpha$ = 1.5"),
        ("2.0 ×, −3 %, ≥ µ", r"2.0 $\times$, $-$3 \%, $\ge$ $\mu$"),
        ("a_b & c# $d {e} ~^\\", r"a\_b \& c\# \$d \textbraceleft{}e\textbraceright{} \textasciitilde{}\textasciicircum{}\textbackslash{}"),
        ("é Ω Α λ ★", r"{\'{e}} $\Omega$ ? $\lambda$ ?"),
        (" two\n lines ", "two lines"),
    ],
)  # fmt: skip
def test_text_is_told_in_ascii(text: str, expected: str) -> None:
    assert latex(text) == expected


def _hard_entry() -> str:
    fields = {"title": _HARD, "note": _HARD, "year": "2026", "month": ""}
    return bibtex_entry(
        "misc", "gapbook-fair-0", authors=["A and B", _HARD], fields=fields, url="http://[::1]/"
    )


def test_entry_is_balanced_and_has_every_field() -> None:
    entry = _hard_entry()
    assert entry.isascii()
    assert entry.count("{") == entry.count("}")
    assert entry.startswith("@misc{gapbook-fair-0,\n  author = {{A and B} and {")
    assert [line.split(" = ")[0].strip() for line in entry.splitlines()[1:-1]] == [
        "author",
        "title",
        "note",
        "year",
        "url",
    ]


def _every_entry() -> str:
    known = known_numbers().numbers
    told = [citable(identifier, one) for identifier, one in known.items()]
    cited = [number_citation(one)["BibTeX"] for one in told]
    own = own_run_citation(told[0]._replace(run="0" * 12), "AMD EPYC, 2 cores")["BibTeX"]
    return "\n".join([_hard_entry(), own, *cited])


def test_every_entry_compiles(tmp_path: Path) -> None:
    if shutil.which("pdflatex") is None or shutil.which("bibtex") is None:
        pytest.skip("no pdflatex and bibtex here: apt-get install texlive-latex-base")
    (tmp_path / "cited.bib").write_text(_every_entry(), encoding="ascii")
    (tmp_path / "page.tex").write_text(_DOCUMENT, encoding="ascii")
    latex_run = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    for command in (latex_run, ["bibtex", "page"], latex_run):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=120)
        said = done.stdout.decode(errors="replace")
        assert (done.returncode, "Warning--" in said) == (0, False), said
    assert (tmp_path / "page.pdf").stat().st_size > 0
    shown = (tmp_path / "page.bbl").read_text(encoding="ascii")
    assert all(f"{{gapbook-{identifier}}}" in shown for identifier in known_numbers().numbers)


def test_biber_reads_every_entry(tmp_path: Path) -> None:
    if shutil.which("biber") is None:
        pytest.skip("no biber here: apt-get install biber")
    (tmp_path / "cited.bib").write_text(_every_entry(), encoding="ascii")
    command = ["biber", "--tool", "--validate-datamodel", "cited.bib"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=120)
    said = done.stdout.decode(errors="replace")
    assert (done.returncode, "WARN" in said, "ERROR" in said) == (0, False, False), said
    read = (tmp_path / "cited_bibertool.bib").read_text(encoding="utf-8")
    assert all(f"gapbook-{identifier}," in read for identifier in known_numbers().numbers)


def test_the_book_is_cited_with_its_authors_and_no_address_that_it_does_not_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(ADDRESS, raising=False)
    authors, address = book_as_cited()
    stated = yaml.safe_load((CHECKOUT / "CITATION.cff").read_text(encoding="utf-8"))
    assert authors == ["The Gap Book authors"]
    assert address == stated.get("url", "")
    assert {"cff-version", "message", "title", "authors", "version", "date-released"} <= stated.keys()


@pytest.mark.parametrize(
    ("stated", "named", "address"),
    [
        ("", "", "n/fair-gap.html"),
        ("", "https://example.org/book", "https://example.org/book/n/fair-gap.html"),
        ("", "http://localhost:8000/", "http://localhost:8000/n/fair-gap.html"),
        ("https://gap.example/", "https://example.org/book", "https://gap.example/n/fair-gap.html"),
    ],
)
def test_a_number_is_found_at_the_address_that_the_book_states_else_at_the_one_named(
    stated: str, named: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bibtex, "_citation_file", lambda: {"authors": [{"name": "A"}], "url": stated})
    monkeypatch.setenv(ADDRESS, named)
    assert address_of("fair-gap") == address


@pytest.mark.parametrize(
    "named", ["example.org", "https://", "https://example.org/?q", 'https://a/"><b>', "/book"]
)
def test_what_is_no_address_is_refused_in_one_line(named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bibtex, "_citation_file", lambda: {"authors": [{"name": "A"}]})
    monkeypatch.setenv(ADDRESS, named)
    with pytest.raises(
        ParameterError, match=r"^GAPBOOK_ADDRESS: '[^\n]* is no address of a book; allowed: [^\n]*$"
    ):
        book_as_cited()


def test_whatever_the_book_cites_can_be_read_at_an_address() -> None:
    cited = (CHECKOUT / "book" / "references.bib").read_text(encoding="utf-8")
    entries = re.findall(r"^@\w+\{(\w+),\n(.*?)^\}", cited, re.MULTILINE | re.DOTALL)
    assert len(entries) == len(re.findall("^@", cited, re.MULTILINE))
    addressed = re.compile(r"^  (?:doi = \{10\.\d+/\S+|url = \{https://\S+)\}", re.MULTILINE)
    assert not [key for key, fields in entries if not addressed.search(fields)]
