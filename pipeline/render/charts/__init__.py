"""Interactive charts: Vega-Lite specifications, and scripts that draw them.

Needs ``pip install nestmap[report]``.
"""

from nestmap.pipeline.analysis.network.run_comparison import NamedRun
from nestmap.pipeline.render.charts.chart import Chart
from nestmap.pipeline.render.charts.comparison import comparison_charts
from nestmap.pipeline.render.charts.mappings import mappings_chart
from nestmap.pipeline.render.charts.run import run_charts
from nestmap.pipeline.render.charts.sweep import sweep_charts
from nestmap.pipeline.render.charts.vega_bundle import vega_script

__all__ = [
    "Chart",
    "NamedRun",
    "comparison_charts",
    "mappings_chart",
    "run_charts",
    "sweep_charts",
    "vega_script",
]
