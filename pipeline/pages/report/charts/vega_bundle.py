"""The library that draws the charts, as one script."""

from __future__ import annotations

from functools import cache
from typing import Final

import vl_convert

_SNIPPET: Final = "window.vegaEmbed = vegaEmbed;"


@cache
def vega_script() -> str:
    """JavaScript that gives a page ``vegaEmbed``: Vega, Vega-Lite and Vega-Embed.

    It loads nothing, and can stand in a script element of the page.
    """
    bundle = vl_convert.javascript_bundle(_SNIPPET)
    if "</script" in bundle.lower() or "<!--" in bundle:
        raise ValueError("the JavaScript of vl-convert would end its script element")
    return f"(() => {{\n{bundle}\n}})();\n"  # its own names stay its own
