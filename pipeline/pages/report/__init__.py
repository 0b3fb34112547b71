"""The report: one HTML file about runs; the explorer serves the same pages.

Needs ``pip install nestmap[report]``.
"""
