"""Renders templates: user texts are escaped, and invisible characters are made visible."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from nestmap.pipeline.render.text.plain_table import printable


def render(template: str, view: object) -> Markup:
    """Renders a template of this package; its data is ``view``."""
    text = templates().get_template(f"{template}.html.jinja").render(view=view)
    return Markup(text)


def json_block(text: str) -> Markup:
    """JSON for a script element, escaped so that it cannot end the element."""
    return Markup(text.replace("<", "\\u003c"))


@cache
def templates() -> Environment:
    """The template environment; others can add templates of their own."""
    environment = Environment(
        loader=PackageLoader("nestmap.pipeline.pages.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    environment.filters["json_block"] = json_block
    return environment


def _visible(value: object) -> object:
    """User texts with control characters and the like escaped."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(value)
    return value
