"""Styles and scripts of the pages, and what a page may load."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from importlib.resources import files
from typing import Final, final

from markupsafe import Markup

from nestmap.pipeline.pages.report.charts import vega_script


class Static(StrEnum):
    """The files of the pages, by name."""

    STYLE = "style.css"
    THEME = "theme.js"
    REPORT = "report.js"
    CHARTS = "charts.js"
    VEGA = "vega.js"


SCRIPTS: Final = (Static.VEGA, Static.CHARTS, Static.REPORT)
"""What stands at the end of a page, in this order; the theme is set before anything is drawn."""


@final
@dataclass(frozen=True, slots=True)
class Assets:
    """Where a page has its styles and scripts from.

    ``folder`` is the address that serves them (``/static/``); ``None``: they stand in the page.
    ``styles`` and ``scripts`` are more of them in that folder, by name.
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
"""One file with everything in it."""


def static_text(file: Static) -> str:
    """The contents of a file of the pages."""
    if file is Static.VEGA:
        return vega_script()
    return (files("nestmap.pipeline.pages.report") / "static" / file.value).read_text(
        encoding="utf-8"
    )


def inline(file: Static) -> Markup:
    """The contents to stand in an element of a page; no end tag is in our own files."""
    return Markup(static_text(file))


def policy(scripts: Sequence[Markup]) -> str:
    """What a page may load: nothing from elsewhere; it may run these scripts alone.

    Without any: what its own server gives, and ask that.
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
