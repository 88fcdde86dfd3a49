"""The first screen of a page: claim, answer, picture, provenance, citation, and how to repeat the run."""

from __future__ import annotations

from pathlib import Path

from gapbook import charts
from gapbook.markup import Html, SupportsHtml
from gapbook.pages import page
from gapbook.pages.answer import AnswerResults
from gapbook.pages.rerun import RerunResults
from gapbook.paths import build_directory
from gapbook.writing import require_writable

__all__ = ["FirstScreenResults", "pictures_folder"]

_PICTURE = "gap"


class FirstScreenResults(AnswerResults, RerunResults):
    """What a reader sees before scrolling."""

    def first_screen(
        self,
        *,
        claim_line: Html,
        answer: page.Answer,
        picture: charts.Figure,
    ) -> Html:
        """What a reader sees first: claim, answer, the one chart, buttons, provenance, how to cite the numbers
        of the answer, and how to repeat them.

        The chart is also written as files for the buttons.
        """
        self.export_picture(picture)
        answer = answer.noted(self.reach_note(answer.cited))
        parts: list[SupportsHtml] = [
            self.banner() or Html(""),
            claim_line,
            answer,
            picture,
            self.buttons(),
            self.provenance_line(),
            self.cite_panel(answer),
            self.rerun_panel(),
        ]
        return Html("\n").join(parts)

    def banner(self) -> Html | None:
        """Says that a page is the reader's own run; nothing for a published one."""
        if self.run.published:
            return None
        return page.banner(
            "own-run", f"This page shows run {self.run.run_id}, measured here, not the published run."
        )

    def buttons(self) -> Html:
        folder = f"../_static/runs/{self.run.run_id}"
        return page.download_buttons(
            [
                page.Download("Cite this number", "#cite", primary=True),
                page.Download("Re-run this", "#rerun"),
                page.Download("Data", f"{folder}/trials.parquet"),
                page.Download("Latencies", f"{folder}/histograms.parquet"),
                page.Download("Manifest", f"{folder}/manifest.json"),
                page.Download("PNG", f"{folder}/{_PICTURE}.png"),
                page.Download("SVG", f"{folder}/{_PICTURE}.svg"),
            ]
        )

    def export_picture(self, figure: charts.Figure) -> None:
        """Write the page's picture as files, for its download buttons and for use elsewhere.

        Raises SetupError where they cannot be written.
        """
        folder = pictures_folder(self.run.run_id)
        require_writable(folder, "GAPBOOK_BUILD")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{_PICTURE}.svg").write_text(figure.svg(), encoding="utf-8")
        (folder / f"{_PICTURE}.png").write_bytes(figure.png())

    def provenance_line(self) -> Html:
        return page.provenance_line(self.provenance_parts())


def pictures_folder(run_id: str) -> Path:
    """Where the pictures of a run are exported to."""
    return build_directory() / "pictures" / run_id
