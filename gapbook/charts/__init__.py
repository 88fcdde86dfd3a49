"""Charts of the book: pure functions from computed values to a ``Figure``.

Nothing is estimated here. Each chart is drawn at two widths, carries its own key, method and run, and takes
the theme of the page it stands in.
"""

from gapbook.charts._comparisons import Comparison, Condition, comparisons
from gapbook.charts._contestants import Cell, Contestant, Trial, contestants
from gapbook.charts._figure import PHONE_WIDTH, WIDE_WIDTH, Figure
from gapbook.charts._frame import Provenance
from gapbook.charts._gates import Gate, gates
from gapbook.charts._interaction import FactorStates, interaction
from gapbook.charts._latency import LatencySeries, LatencyTrial, latency
from gapbook.charts._lines import Line, LinePoint, Panel, line_panels, lines
from gapbook.charts._missing import missing
from gapbook.charts._tokens import TOKENS
from gapbook.charts._waterfall import Closing, Endpoint, Step, close, waterfall

__all__ = [
    "PHONE_WIDTH",
    "TOKENS",
    "WIDE_WIDTH",
    "Cell",
    "Closing",
    "Comparison",
    "Condition",
    "Contestant",
    "Endpoint",
    "FactorStates",
    "Figure",
    "Gate",
    "LatencySeries",
    "LatencyTrial",
    "Line",
    "LinePoint",
    "Panel",
    "Provenance",
    "Step",
    "Trial",
    "close",
    "comparisons",
    "contestants",
    "gates",
    "interaction",
    "latency",
    "line_panels",
    "lines",
    "missing",
    "waterfall",
]
