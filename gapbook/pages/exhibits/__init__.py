"""What a chapter shows of its run: charts, tables and answers, each a function over the findings ``found``."""

from gapbook.pages.answer import answer
from gapbook.pages.exhibits.calibration import (
    answer_calibration,
    calibration_chart,
    calibration_facts,
    omission_table,
    planted_factors_table,
    ratios_table,
    truth_table,
    windows_table,
)
from gapbook.pages.exhibits.comparisons import comparisons_chart, comparisons_table
from gapbook.pages.exhibits.contention import answer_contention, contention_chart, hot_key_table, redraw_table
from gapbook.pages.exhibits.elsewhere import residual_elsewhere
from gapbook.pages.exhibits.factors import (
    answer_factors,
    effects_table,
    factors_table,
    infeasible_table,
    interaction_chart,
    interactions_table,
    order_range,
    residual_by_cores_table,
)
from gapbook.pages.exhibits.flaws import (
    answer_counts,
    batch_table,
    counts_chart,
    flaws_table,
    unwritten_table,
)
from gapbook.pages.exhibits.gap import colocation_line, waterfall
from gapbook.pages.exhibits.ladder import ladder_table
from gapbook.pages.exhibits.latencies import latency_chart
from gapbook.pages.exhibits.rates import goodput_table
from gapbook.pages.exhibits.sweeps import best_table, depth_chart, lines_chart
from gapbook.pages.exhibits.windows import long_windows_table
from gapbook.pages.first_screen import first_screen
from gapbook.pages.glued import glue
from gapbook.pages.register.lines import claim_line, claim_lines

__all__ = [
    "answer",
    "answer_calibration",
    "answer_contention",
    "answer_counts",
    "answer_factors",
    "batch_table",
    "best_table",
    "calibration_chart",
    "calibration_facts",
    "claim_line",
    "claim_lines",
    "colocation_line",
    "comparisons_chart",
    "comparisons_table",
    "contention_chart",
    "counts_chart",
    "depth_chart",
    "effects_table",
    "factors_table",
    "first_screen",
    "flaws_table",
    "glue",
    "goodput_table",
    "hot_key_table",
    "infeasible_table",
    "interaction_chart",
    "interactions_table",
    "ladder_table",
    "latency_chart",
    "lines_chart",
    "long_windows_table",
    "omission_table",
    "order_range",
    "planted_factors_table",
    "ratios_table",
    "redraw_table",
    "residual_by_cores_table",
    "residual_elsewhere",
    "truth_table",
    "unwritten_table",
    "waterfall",
    "windows_table",
]
