"""What the parts of a gap are worth, for an author's prose: numbers of a decomposition as they are printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gapbook.method.factors import Factor
from gapbook.method.findings import Findings
from gapbook.method.interval import format_factor
from gapbook.method.source import Worth, contrast_of
from gapbook.pages.citation import cited_contrast
from gapbook.pages.sentence import TOO_WIDE, Said

__all__ = ["as_factors", "further_worth", "left_open", "whole_gap", "worth"]

_NOT_CLOSED = "Not answered by this run: the gap is not closed."
_TOO_WIDE = "Not answered by this run: the interval is too wide."


def worth(found: Findings, factors: Sequence[Factor], name: str, *, at: float) -> Said:
    """How many times the factor of that name is worth in the gap at a value of the treatment."""
    return _said(found, f"{name}, of the gap", Worth(tuple(factors), at, name))


def left_open(found: Findings, factors: Sequence[Factor], name: str, *, at: float) -> bool:
    """Whether a run that tells what a factor is worth leaves open if it is worth more or less than nothing, ``×1``."""
    contrast = contrast_of(Worth(tuple(factors), at, name), found)
    return contrast is not None and contrast.interval.against(1.0, 1.0) == "straddles"


def whole_gap(found: Findings, factors: Sequence[Factor], *, at: float) -> Said:
    """How many times the whole gap is, as its factors multiply to it."""
    return _said(found, "whole gap", Worth(tuple(factors), at))


def further_worth(found: Findings, factors: Sequence[Factor], *, at: float, to: float) -> Said:
    """How many times the whole gap at one value of the treatment is that at another."""
    return _said(found, f"whole gap at {found.at(to)}, of that", Worth(tuple(factors), at, to=to))


def as_factors(**said: Said) -> dict[str, Said]:
    """The same numbers as they stand in charts, for prose: ``×2.93``."""
    return {
        name: replace(one, printed=f"×{one.printed}") if one.printed else one for name, one in said.items()
    }


def _said(found: Findings, quantity: str, source: Worth) -> Said:
    contrast = contrast_of(source, found)
    if contrast is None:
        return Said(why=_NOT_CLOSED)
    if found.run.published and not contrast.interval.tells:
        return Said(why=_TOO_WIDE, instead=TOO_WIDE)
    cited = cited_contrast(found, quantity, contrast, source)
    return Said(format_factor(contrast.interval.estimate), cited)
