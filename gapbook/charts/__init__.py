"""Charts of the book: pure functions from computed values to a ``Figure``.

Nothing is estimated here. Each chart is drawn at two widths, carries its own key, method and run, and takes
the theme of the page it stands in.
"""

from gapbook.charts._card import CARD_HEIGHT, CARD_WIDTH, card
from gapbook.charts._closing import Closing, close
from gapbook.charts._comparisons import ELSEWHERE, Comparison, Condition, comparisons
from gapbook.charts._counts import Counted, counts
from gapbook.charts._curves import LatencySeries, LatencyTrial
from gapbook.charts._figure import PHONE_WIDTH, WIDE_WIDTH, Figure
from gapbook.charts._frame import Provenance
from gapbook.charts._gates import Gate, GateState, gates
from gapbook.charts._interaction import FactorStates, interaction
from gapbook.charts._latency import latency
from gapbook.charts._lines import Line, LinePoint, Panel, line_panels, lines
from gapbook.charts._losses import Allowed, Cut, Level, losses
from gapbook.charts._missing import missing
from gapbook.charts._outcomes import Outcome, Outcomes, outcomes
from gapbook.charts._ruler import Gap, ruler
from gapbook.charts._shown import Shown, shown_in, with_lines_below, without_narrow
from gapbook.charts._steps import Endpoint, Step, Then
from gapbook.charts._tokens import TOKENS
from gapbook.charts._waterfall import waterfall

__all__ = [
    "CARD_HEIGHT",
    "CARD_WIDTH",
    "ELSEWHERE",
    "PHONE_WIDTH",
    "TOKENS",
    "WIDE_WIDTH",
    "Allowed",
    "Closing",
    "Comparison",
    "Condition",
    "Counted",
    "Cut",
    "Endpoint",
    "FactorStates",
    "Figure",
    "Gap",
    "Gate",
    "GateState",
    "LatencySeries",
    "LatencyTrial",
    "Level",
    "Line",
    "LinePoint",
    "Outcome",
    "Outcomes",
    "Panel",
    "Provenance",
    "Shown",
    "Step",
    "Then",
    "card",
    "close",
    "comparisons",
    "counts",
    "gates",
    "interaction",
    "latency",
    "line_panels",
    "lines",
    "losses",
    "missing",
    "outcomes",
    "ruler",
    "shown_in",
    "waterfall",
    "with_lines_below",
    "without_narrow",
]
