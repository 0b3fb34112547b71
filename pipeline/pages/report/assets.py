"""Styles and scripts of the pages, and their content security policy."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from importlib.resources import files
from typing import Final, final

from markupsafe import Markup

from nestmap.pipeline.render.charts import vega_script


class Static(StrEnum):
    """The files of the pages, by name."""

    STYLE = "style.css"
    THEME = "theme.js"
    REPORT = "report.js"
    CHARTS = "charts.js"
    VEGA = "vega.js"


SCRIPTS: Final = (Static.VEGA, Static.CHARTS, Static.REPORT)
"""The scripts at the end of a page, in this order; the theme is set before anything is drawn."""


@final
@dataclass(frozen=True, slots=True)
class Assets:
    """The source of a page's styles and scripts.

    ``folder`` is the address that serves them (``/static/``); ``None``: they are inlined in the
    page. ``styles`` and ``scripts`` are further ones in that folder, by name.
    """

    folder: str | None = None
    styles: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()

    @property
    def all_styles(self) -> tuple[str, ...]:
        """The names of all style sheets to load."""
        return (Static.STYLE.value, *self.styles)

    @property
    def all_scripts(self) -> tuple[str, ...]:
        """The names of all scripts to load at the end of the page."""
        return (*(file.value for file in SCRIPTS), *self.scripts)


INLINE: Final = Assets()
"""A single file with everything inlined."""


def static_text(file: Static) -> str:
    """The contents of a file of the pages."""
    if file is Static.VEGA:
        return vega_script()
    return (files("nestmap.pipeline.pages.report") / "static" / file.value).read_text(
        encoding="utf-8"
    )


def inline(file: Static) -> Markup:
    """The contents for an element of a page; nestmap's own files contain no end tag."""
    return Markup(static_text(file))


def policy(scripts: Sequence[Markup]) -> str:
    """The content security policy: nothing from elsewhere, and only these inline scripts.

    Without inline scripts, a page may load files from its own server and send requests to it.
    """
    if not scripts:
        styles, answers = "style-src 'self' 'unsafe-inline'", "connect-src 'self'"
        own = f"script-src 'self'; {styles}; {answers}; form-action 'self'"
    else:
        sources = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
        own = f"script-src {sources}; style-src 'unsafe-inline'; form-action 'none'"
    return f"default-src 'none'; {own}; img-src data:; base-uri 'none'"


def _digest(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()
