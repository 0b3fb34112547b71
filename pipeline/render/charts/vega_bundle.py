"""The Vega libraries as one script."""

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from typing import Final

import vl_convert

from nestmap.model.errors import InputError
from nestmap.model.user_caches import user_caches
from nestmap.pipeline.util.atomic_files import write_text

# --- texts that take long to make, kept with the user's caches ---


def cached_text(name: str, make: Callable[[], str]) -> str:
    """The text of the cached file with this name; made, and cached if possible, if there is none.

    The name must tell all that determines the text, such as the versions of the packages it is
    made of. Where the user's caches cannot be read or written, the text is made each time.
    """
    folder = user_caches()
    if folder is None:
        return make()
    file = folder / name
    with suppress(OSError, UnicodeDecodeError):
        return file.read_bytes().decode()
    text = make()
    with suppress(OSError, InputError):
        folder.mkdir(parents=True, exist_ok=True)
        write_text(file, text)
    return text


# --- the Vega libraries as one script ---

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
