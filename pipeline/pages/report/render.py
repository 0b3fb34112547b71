"""Templates filled in: everything that a user has named is escaped, and invisible letters show."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from nestmap.pipeline.render.text.plain_table import printable


def render(template: str, view: object) -> Markup:
    """A template of this package, which calls what it prints ``view``."""
    text = templates().get_template(f"{template}.html.jinja").render(view=view)
    return Markup(text)


def json_block(text: str) -> Markup:
    """JSON to stand in a script element, which nothing in it can end."""
    return Markup(text.replace("<", "\\u003c"))


@cache
def templates() -> Environment:
    """How templates are read; others may overlay it with their own."""
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
    """Texts of users with control characters and the like spelled out."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(value)
    return value
