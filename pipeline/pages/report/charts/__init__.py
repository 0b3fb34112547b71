"""Interactive charts: Vega-Lite specifications, and scripts that draw them.

Needs ``pip install nestmap[report]``.
"""

from nestmap.pipeline.analysis.network.run_comparison import NamedRun
from nestmap.pipeline.pages.report.charts.chart import Chart
from nestmap.pipeline.pages.report.charts.comparison import comparison_charts
from nestmap.pipeline.pages.report.charts.mappings import mappings_chart
from nestmap.pipeline.pages.report.charts.run import run_charts
from nestmap.pipeline.pages.report.charts.sweep import sweep_charts
from nestmap.pipeline.pages.report.charts.vega_bundle import vega_script

__all__ = [
    "Chart",
    "NamedRun",
    "comparison_charts",
    "mappings_chart",
    "run_charts",
    "sweep_charts",
    "vega_script",
]
