"""The results of a run: its findings as charts, panels and sentences of a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gapbook.claims.claim import Claim
from gapbook.method.findings import CanRun
from gapbook.pages.calibration import CalibrationResults
from gapbook.pages.factors import FactorResults
from gapbook.pages.first_screen import FirstScreenResults
from gapbook.pages.flaws import FlawResults
from gapbook.pages.glued import glue_facts
from gapbook.pages.number import number_of, tell_numbers
from gapbook.pages.pictures import PictureResults
from gapbook.pages.sentence import Said
from gapbook.pages.sessions import SessionResults
from gapbook.pages.tables import TableResults
from gapbook.pages.transfer import TransferResults
from gapbook.pages.warmth import WarmthResults
from gapbook.record.run import Run
from gapbook.record.scenario import RecordedContestant

__all__ = ["Results"]


class Results(
    CalibrationResults,
    FirstScreenResults,
    FlawResults,
    FactorResults,
    PictureResults,
    TransferResults,
    SessionResults,
    TableResults,
    WarmthResults,
):
    """What a notebook displays. Every number in it is computed from the run's record."""

    def __init__(
        self,
        run: Run,
        chapter: str,
        given: Mapping[str, Any] | None = None,
        stated: Iterable[RecordedContestant] = (),
        can_run: CanRun | None = None,
    ) -> None:
        super().__init__(run, chapter, given, stated)
        self.can_run = can_run
        self._glued: set[str] = set()

    def glue(self, **more: str | Claim | Said) -> None:
        """Make the facts of the run available to the prose; a number that the run lacks says why."""
        facts = self.glue_values()
        for key, value in more.items():
            if isinstance(value, Claim):
                facts[key] = f"{value.value:,.0f}"
            else:
                facts[key] = value.printed or value.instead if isinstance(value, Said) else value
        tell_numbers(
            number_of(self, key, said.printed, said.cited)
            for key, said in more.items()
            if isinstance(said, Said) and said.cited
        )
        # A key that is glued twice on one page is an error of the renderer.
        glue_facts({key: text for key, text in facts.items() if key not in self._glued})
        self._glued |= facts.keys()
