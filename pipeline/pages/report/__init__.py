"""Pages of HTML about runs: the report is one file of them, the explorer serves them.

Needs ``pip install nestmap[report]``.
"""
