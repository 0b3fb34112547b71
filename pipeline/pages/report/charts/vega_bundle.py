"""The Vega libraries as one script."""

from __future__ import annotations

from functools import cache
from typing import Final

import vl_convert

_SNIPPET: Final = "window.vegaEmbed = vegaEmbed;"


@cache
def vega_script() -> str:
    """JavaScript that provides ``vegaEmbed``: Vega, Vega-Lite and Vega-Embed.

    It loads nothing, and can be inlined in a script element of the page.
    """
    bundle = vl_convert.javascript_bundle(_SNIPPET)
    if "</script" in bundle.lower() or "<!--" in bundle:
        raise ValueError("the JavaScript of vl-convert would end its script element")
    return f"(() => {{\n{bundle}\n}})();\n"  # keeps its names out of the global scope
