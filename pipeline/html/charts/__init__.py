"""The interactive charts of the HTML report: specifications for Vega-Lite, and what draws them.

Needs ``pip install nestmap[report]``.
"""

from nestmap.pipeline.figures.runs import NamedRun
from nestmap.pipeline.html.charts.chart import Chart
from nestmap.pipeline.html.charts.comparison import comparison_charts
from nestmap.pipeline.html.charts.mappings import mappings_chart
from nestmap.pipeline.html.charts.run import run_charts
from nestmap.pipeline.html.charts.script import vega_script

__all__ = [
    "Chart",
    "NamedRun",
    "comparison_charts",
    "mappings_chart",
    "run_charts",
    "vega_script",
]
