"""The Vega libraries as one script."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import Final

import vl_convert

from nestmap.pipeline.util.cached_text import cached_text

_SNIPPET: Final = "window.vegaEmbed = vegaEmbed;"


@cache
def vega_script() -> str:
    """JavaScript that provides ``vegaEmbed``: Vega, Vega-Lite and Vega-Embed.

    It loads nothing, and can be inlined in a script element of the page. Making it takes a second,
    so it is cached for each version of vl-convert.
    """
    return cached_text(f"vega-{version('vl-convert-python')}.js", _make_script)


def _make_script() -> str:
    bundle = vl_convert.javascript_bundle(_SNIPPET)
    if "</script" in bundle.lower() or "<!--" in bundle:
        raise ValueError("the JavaScript of vl-convert would end its script element")
    return f"(() => {{\n{bundle}\n}})();\n"  # keeps its names out of the global scope
